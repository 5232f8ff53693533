"""Paths: which of them hold a history, and how much of one may stand in a log."""

from __future__ import annotations

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
VERSION = "/v1"
_WORDS = frozenset(
    "v1 v1beta beta chat completions responses messages count_tokens models embeddings moderations files uploads "
    "batches images audio speech transcriptions translations fine_tuning jobs complete completion generations edits "
    "vector_stores threads runs assistants conversations items input_tokens input_items cancel content results "
    "organizations organization usage realtime sessions health live ready metrics api openai anthropic deployments "
    "rerank tokenize props".split()
)
"""Segments of paths that providers document."""


def route_of(path: str) -> str:
    """The managed route that a path stands for, by its usual name; "" for every other path.

    Clients leave the version out, or put the path of a gateway or of a deployment in front.
    """
    for route in (CHAT, RESPONSES, MESSAGES):
        if path.endswith(route) or path == route[len(VERSION) :]:
            return route
    return CHAT if path.endswith("/chat/completions") else ""


def without_prefix(path: str, prefix: str) -> str:
    """A path without what the settings say stands in front of all of them."""
    rest = path[len(prefix) :]
    return rest if prefix and path.startswith(prefix) and rest.startswith("/") else path


def shown(path: str) -> str:
    """A path for logs: what is no word of a provider's documented paths may be a key, and is left out."""
    parts = [part if part in _WORDS or not part else "*" for part in path.split("/")]
    return "/".join(parts[:12])
