"""Wrapping a client of OpenAI's or Anthropic's: the same class, the same settings, another transport."""

from __future__ import annotations

import weakref
from typing import Any, TypeVar

import httpx2

from foldaway.adapters._http import AsyncTransport, Managing, Transport
from foldaway.errors import SettingsError
from foldaway.model.wire import Quirks
from foldaway.protocols import Store
from foldaway.session import Session

C = TypeVar("C")
_MANAGING: weakref.WeakKeyDictionary[Any, Managing] = weakref.WeakKeyDictionary()
"""Of each HTTP client made here."""


def wrapped(
    client: C, *, budget: int | None, store: str | Store | None, recall: str, key: str | None, quirks: Quirks | None,
    settings: dict[str, Any],
) -> C:  # fmt: skip
    given: Any = client
    # The clients tell what they send through in no public way; there is no other seam that catches every call.
    inner = getattr(given, "_client", None)
    if inner in _MANAGING:
        raise SettingsError("this client is wrapped already: wrap the plain one")
    managing = Managing(key=key, recall=recall, quirks=quirks, settings={**settings, "budget": budget, "store": store})
    outer: Any
    if isinstance(inner, httpx2.AsyncClient):
        outer = httpx2.AsyncClient(
            transport=AsyncTransport(inner, managing), timeout=inner.timeout, base_url=inner.base_url
        )
    elif isinstance(inner, httpx2.Client):
        outer = httpx2.Client(transport=Transport(inner, managing), timeout=inner.timeout, base_url=inner.base_url)
    else:
        raise SettingsError(
            f"wrap takes a client of openai 3 or anthropic 2, sync or async; got {type(client).__name__}"
        )
    _MANAGING[outer] = managing
    made: C = given.with_options(http_client=outer)
    return made


def session_of(client: Any, key: str | None) -> Session:
    managing = _MANAGING.get(getattr(client, "_client", None))
    if managing is None:
        raise SettingsError(f"{type(client).__name__} is not wrapped: take what wrap() gave")
    return managing.session(key)
