"""The peers by name: nothing here needs any of the libraries."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.errors import MissingExtra, SettingsError
from foldaway.lab.peers import _PEERS, is_peer, peer_names, peer_note, peer_session, peer_versions
from foldaway.model.recorded import Recorded
from foldaway.session import Session
from foldaway.testing.histories import Writer, prose


def small() -> Recorded:
    writer = Writer("openai_chat")
    writer.user(prose(20))
    return Recorded(name="small", source_format="test", format="openai_chat", messages=writer.messages)


def test_names_are_sorted_and_say_which_library() -> None:
    names = peer_names()
    assert list(names) == sorted(names)
    assert {name.partition(":")[0] for name in names} == {
        "agent-framework", "headroom", "langchain", "litellm", "llama-index", "openhands", "pydantic-ai", "strands"
    }  # fmt: skip
    assert all(peer_note(name) for name in names)
    assert is_peer("langchain:trim")
    assert not is_peer("window")


def test_an_unknown_peer_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(SettingsError, match=r"unknown peer 'langchain:nothing'; choose from .*langchain:trim"):
        peer_session(small(), "langchain:nothing", 1000)


def test_a_policy_of_our_own_gets_a_session_of_our_own() -> None:
    assert isinstance(peer_session(small(), "window", 1000), Session)


def test_a_missing_library_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(module: str) -> Any:
        raise ImportError(f"No module named {module!r}")

    monkeypatch.setattr("foldaway.lab.peers._base.importlib.import_module", refuse)
    from foldaway.lab.peers._base import load

    with pytest.raises(MissingExtra, match=r"langchain-core cannot be imported .* `make peers`"):
        load("langchain_core.messages", "langchain-core")


def test_versions_are_empty_for_what_is_not_installed() -> None:
    versions = peer_versions()
    assert list(versions) == sorted({entry.distribution for entry in _PEERS.values()})
    assert peer_versions(["langchain:trim"]).keys() == {"langchain-core"}
