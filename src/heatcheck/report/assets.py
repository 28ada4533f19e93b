"""Files of the report's folder that go into its pages, and what a Content-Security-Policy says of them."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources


@cache
def asset(name: str) -> str:
    return resources.files("heatcheck.report").joinpath(name).read_text(encoding="utf-8")


def policy_hash(content: str) -> str:
    """What the policy allows: this very text, nothing else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
