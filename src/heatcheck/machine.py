"""What this machine has to compute with."""

from __future__ import annotations

import os

import torch

from heatcheck.errors import InputError

OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_device(name: str) -> str:
    """`auto` takes a GPU if there is one; a device that is not there is an error, not a fallback."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return next(device for device in ("cuda", "mps", "cpu") if there[device])
    if name not in there:
        raise InputError(f"device {name!r} is not one of auto, {', '.join(there)}.")
    if not there[name]:
        raise InputError(f"This machine has no {name} device. Use --device auto or cpu.")
    return name


def is_out_of_memory(error: Exception) -> bool:
    """PyTorch says so in different words for CPU, CUDA and MPS.

    >>> is_out_of_memory(RuntimeError("CUDA out of memory.")), is_out_of_memory(ValueError("my memory bank is empty"))
    (True, False)
    """
    if isinstance(error, RuntimeError):
        return any(sign in str(error).lower() for sign in OUT_OF_MEMORY)
    return isinstance(error, MemoryError)
