"""Whether the proxy can do its work: its store answers, and it knows where to send requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foldaway.protocols import Store
from foldaway.proxy.settings import ProxySettings

FILE = "sqlite:///"
PROBE = "foldaway proxy"
"""A user without sessions."""


def ready(settings: ProxySettings, store: Store) -> dict[str, Any]:
    """The state as a value: "status" is "ok" or "degraded". Reads from the store, once; asks no upstream, which would
    cost a call. Degraded is no reason to send no requests: they go out all the same, but are not managed."""
    upstream = bool(settings.openai_upstream or settings.anthropic_upstream)
    try:
        store.sessions(PROBE)
        kept = "gone" if _gone(settings.store) else "ok"
    except Exception:
        kept = "down"
    good = upstream and kept == "ok"
    return {"status": "ok" if good else "degraded", "store": kept, "upstream": "set" if upstream else "missing"}


def _gone(url: str) -> bool:
    """Whether the store's file was deleted: the open one still answers, and what it takes in is lost with it."""
    return url.startswith(FILE) and not Path(url[len(FILE) :]).exists()
