"""No network is touched here: what would ask for it is replaced."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from heatcheck import hub_reach
from heatcheck.hub_reach import out_of_reach
from tests.tiny import tiny_folder

COMMITS = {"main": "0123456789abcdef0123456789abcdef01234567", "v2": "76543210fedcba9876543210fedcba9876543210"}
LOADING = """
from heatcheck.models.loading import load_subject
from heatcheck.models.pretrained import TransformerSpec
print(load_subject(TransformerSpec("someone/tiny", revision={revision!r})).labels)
"""


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


@pytest.mark.parametrize(("revision", "labels"), [(None, ("calm", "angry")), ("v2", ("quiet", "loud"))])
def test_what_was_fetched_before_is_loaded_without_a_way_to_the_hub(
    tmp_path: Path, revision: str | None, labels: tuple[str, str]
) -> None:
    """In a process of its own: the hub's library reads its folders and address when it is imported."""
    cached = tmp_path / "hub" / "models--someone--tiny"
    (cached / "refs").mkdir(parents=True)
    for name, classes in (("main", ("calm", "angry")), ("v2", ("quiet", "loud"))):
        tiny_folder(cached / "snapshots" / COMMITS[name], labels=classes)
        (cached / "refs" / name).write_text(COMMITS[name])
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and k != "HF_HUB_OFFLINE"}
    environment |= {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "https://hub.invalid"}
    done = subprocess.run(
        [sys.executable, "-c", LOADING.format(revision=revision)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == str(labels), done.stderr
    assert "Retrying" not in done.stderr
