"""Is there a way to the Hugging Face hub? Its own libraries find out in half a minute of retries that they print."""

from __future__ import annotations

import socket
import urllib.request
from urllib.parse import urlsplit


def out_of_reach() -> bool:
    """The hub's name cannot be resolved, and no proxy would do it for us; or the user says so (HF_HUB_OFFLINE=1)."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or urllib.request.getproxies():
        return bool(constants.HF_HUB_OFFLINE)
    try:
        socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, None)
    except OSError:
        return True
    return False
