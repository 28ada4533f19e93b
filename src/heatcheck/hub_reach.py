"""Is there a way to the Hugging Face hub? Its own libraries find out in half a minute of retries that they print."""

from __future__ import annotations

import functools
import socket
import urllib.request
from urllib.parse import urlsplit


def out_of_reach() -> bool:
    """The hub's name cannot be resolved, and no proxy would do it for us; or the user says so (HF_HUB_OFFLINE=1)."""
    from huggingface_hub import constants

    hub = urlsplit(constants.ENDPOINT)
    by_proxy = urllib.request.getproxies().keys() & {hub.scheme, "all"}
    return bool(constants.HF_HUB_OFFLINE) or (not by_proxy and not _is_known(hub.hostname))


@functools.cache
def _is_known(host: str | None) -> bool:
    """Asked once: where the network drops the question, the answer takes its time."""
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True
