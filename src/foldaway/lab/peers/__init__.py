"""Other libraries on the same recorded sessions, each driven through its own public API.

A peer is named `library:setting`. `peer_session` makes sessions for peers and for Foldaway's own policies alike, so
that both stand in one table. Where a library counts with a counter of its user's, it is given the lab's, and the
budget less what stands beside the messages; everything else is its default, or stated where it is set. Pictures and
encrypted reasoning are not shown to the libraries; they go out with the messages they stand in.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

from foldaway.errors import SettingsError
from foldaway.lab.peers._base import PeerFactory, PeerSession
from foldaway.lab.replay import ReplaySession, foldaway_session
from foldaway.model.recorded import Recorded

__all__ = ["PeerSession", "is_peer", "peer_names", "peer_note", "peer_session", "peer_versions"]


@dataclass(frozen=True, slots=True)
class _Entry:
    module: str
    """In this package."""
    factory: str
    distribution: str
    note: str
    """What was set, in a few words."""


_PEERS = {
    "agent-framework:context-window": _Entry(
        "agent_framework", "context_window", "agent-framework-core", "window = budget, defaults (0.5 and 0.8 of it)"
    ),
    "agent-framework:sliding-window": _Entry(
        "agent_framework", "sliding_window", "agent-framework-core", "last 20 groups; knows no budget"
    ),
    "agent-framework:token-budget": _Entry(
        "agent_framework",
        "token_budget",
        "agent-framework-core",
        "tool results collapsed but the last, then oldest out",
    ),
    "headroom:compress": _Entry(
        "headroom", "compress", "headroom-ai", "defaults without its model; compresses, cannot bound"
    ),
    "langchain:clear-tool-uses": _Entry("langchain", "clear_tool_uses", "langchain", "trigger = budget, keep 3"),
    "langchain:trim": _Entry("langchain", "trim", "langchain-core", "last, system kept, start_on human"),
    "langchain:trim-default": _Entry("langchain", "trim_default", "langchain-core", "last, system kept"),
    "litellm:compress": _Entry("litellm", "compress", "litellm", "trigger = budget, BM25; own counter"),
    "litellm:trim": _Entry("litellm", "trim", "litellm", "max_tokens = budget; own counter"),
    "llama-index:chat-memory-buffer": _Entry(
        "llama_index", "chat_memory_buffer", "llama-index-core", "token_limit = budget"
    ),
    "llama-index:memory": _Entry(
        "llama_index", "memory", "llama-index-core", "token_limit = budget, 0.7 of it for chat"
    ),
    "openhands:summarizing-standin": _Entry(
        "openhands", "summarizing_standin", "openhands-sdk", "max_tokens = budget; first lines stand in for a model"
    ),
    "pydantic-ai:clear-tool-results": _Entry(
        "pydantic_ai", "clear_tool_results", "pydantic-ai-harness", "trigger = budget, keep 3"
    ),
    "pydantic-ai:sliding-window": _Entry(
        "pydantic_ai", "sliding_window", "pydantic-ai-harness", "from budget down to half"
    ),
    "pydantic-ai:tiered": _Entry(
        "pydantic_ai", "tiered", "pydantic-ai-harness", "dedup, clamp, clear, window, to budget"
    ),
    "strands:context-manager": _Entry(
        "strands", "context_manager", "strands-agents", "tool results over 1,500 to 750 tokens, overflow at budget"
    ),
    "strands:sliding-window": _Entry(
        "strands", "sliding_window", "strands-agents", "40 messages, overflow recovery at budget"
    ),
}


def peer_names() -> tuple[str, ...]:
    """All peers, installed or not, sorted."""
    return tuple(_PEERS)


def is_peer(policy: str) -> bool:
    return policy in _PEERS


def peer_note(name: str) -> str:
    """What a peer was set to, in a few words for the table."""
    return _PEERS[name].note


def peer_versions(names: Sequence[str] = tuple(_PEERS)) -> dict[str, str]:
    """Version of each distribution behind these peers, "" where it is not installed; by name of distribution."""
    distributions = sorted({_PEERS[name].distribution for name in names})
    return {distribution: _version(distribution) for distribution in distributions}


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def peer_session(recorded: Recorded, policy: str, budget: int) -> ReplaySession:
    """A session for a peer, or Foldaway's for any other policy. A `SessionMaker`.

    Raises:
        MissingExtra: the peer's library is not installed.
        SettingsError: no peer of that name (names with a colon are peers).
    """
    if ":" not in policy:
        return foldaway_session(recorded, policy, budget)
    if policy not in _PEERS:
        raise SettingsError(f"unknown peer {policy!r}; choose from {', '.join(_PEERS)}")
    return PeerSession(recorded, budget, _factory(_PEERS[policy]))


def _factory(entry: _Entry) -> PeerFactory:
    made: PeerFactory = getattr(importlib.import_module(f"{__name__}.{entry.module}"), entry.factory)
    return made
