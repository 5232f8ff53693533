"""Wrapping a client of OpenAI's or Anthropic's: the same class, the same settings, another transport."""

from __future__ import annotations

from typing import Any, TypeVar

import httpx2

from foldaway.adapters._http import AsyncManagedClient, ManagedClient, Managing
from foldaway.errors import SettingsError
from foldaway.model.wire import Quirks
from foldaway.protocols import Store
from foldaway.session import Session

C = TypeVar("C")


def wrapped(
    client: C, *, budget: int | None, store: str | Store | None, recall: str, key: str | None, quirks: Quirks | None,
    settings: dict[str, Any],
) -> C:  # fmt: skip
    """See `wrap` of the client's own adapter."""
    given: Any = client
    inner = _sends_through(client)
    if isinstance(inner, ManagedClient | AsyncManagedClient):
        raise SettingsError("this client is wrapped already: wrap the plain one")
    if not isinstance(inner, httpx2.Client | httpx2.AsyncClient):
        raise SettingsError(
            f"wrap takes a client of openai 3 or anthropic 2, sync or async; got {type(client).__name__}"
        )
    managing = Managing(key=key, recall=recall, quirks=quirks, settings={**settings, "budget": budget, "store": store})
    managed = ManagedClient if isinstance(inner, httpx2.Client) else AsyncManagedClient
    made: C = given.with_options(http_client=managed(inner, managing))  # type: ignore[arg-type]
    return made


def session_of(client: object, key: str | None) -> Session:
    """Raises SettingsError for a client that is not wrapped, RecallError where the key names no one conversation."""
    through = _sends_through(client)
    if not isinstance(through, ManagedClient | AsyncManagedClient):
        raise SettingsError(f"{type(client).__name__} is not wrapped: take what wrap() gave")
    return through.managing.session(key)


def _sends_through(client: object) -> object:
    # Told in no public way; but there is no other seam that every call goes through.
    return getattr(client, "_client", None)
