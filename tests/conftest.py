"""One thread a process: tests run side by side, and numbers must not depend on the machine's cores. No network."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"

import torch

torch.set_num_threads(1)
