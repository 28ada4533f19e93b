"""No network is touched here: what would ask for it is replaced."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator

import pytest
from huggingface_hub import constants

from heatcheck import hub_reach
from heatcheck.hub_reach import out_of_reach


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Which names were to be resolved; none can be."""
    names: list[str] = []

    def unknown(host: str, *_: object) -> None:
        names.append(host)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "https://hub.example:8443/mirror")
    monkeypatch.setattr(urllib.request, "getproxies", dict)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    hub_reach._is_known.cache_clear()
    yield names
    hub_reach._is_known.cache_clear()


def test_a_name_that_cannot_be_resolved_is_out_of_reach(asked: list[str]) -> None:
    assert out_of_reach()
    assert out_of_reach()
    assert asked == ["hub.example"]  # once


def test_addresses_that_need_no_proxy_are_none(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "getproxies", lambda: {"no": "localhost"})
    assert out_of_reach()


def test_a_proxy_may_know_the_name(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "getproxies", lambda: {"https": "http://127.0.0.1:3128"})
    assert not out_of_reach()
    assert asked == []


def test_a_name_that_can_be_resolved_is_in_reach(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [object()])
    assert not out_of_reach()


def test_the_users_word_counts(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert out_of_reach()
    assert asked == []
