"""The official Anthropic client: one wrapping call, and every request of its (Messages) is managed.

    client = wrap(Anthropic(), budget=100_000)

Create, parse, stream and raw responses go through the same seam. What the model recalls is answered inside the call, so
the program sees no recall tool. What cannot fit comes back as the client's own BadRequestError.
"""

from __future__ import annotations

from typing import Any, TypeVar

from foldaway.adapters._base import ContextWarning, missing
from foldaway.model.wire import Quirks
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from anthropic import Anthropic, AsyncAnthropic

    from foldaway.adapters._clients import session_of, wrapped
    from foldaway.adapters._http import SESSION_HEADER
except ImportError as error:
    raise missing("anthropic", error) from error

__all__ = ["SESSION_HEADER", "ContextWarning", "session", "wrap"]

C = TypeVar("C", bound="Anthropic | AsyncAnthropic")


def wrap(
    client: C, *, budget: int | None = None, store: str | Store | None = None, recall: str = "tool",
    key: str | None = None, quirks: Quirks | None = None, **settings: Any,
) -> C:  # fmt: skip
    """A client of the same class whose requests are managed; the one given stays as it is.

    Without a budget it is the model's window. A conversation is told by its history; with `key`, or `extra_headers=
    {SESSION_HEADER: ...}` at a call, it is the session of that name, kept in `store`. Takes the settings of
    `foldaway.Session`. Closing the wrapped client closes the one given. Conversations that the provider keeps
    pass as they are, with a `ContextWarning`.

    Raises SettingsError for settings that no session takes and for clients of another kind.
    """
    return wrapped(client, budget=budget, store=store, recall=recall, key=key, quirks=quirks, settings=settings)


def session(client: Anthropic | AsyncAnthropic, key: str | None = None) -> Session:
    """The session of a conversation of a wrapped client, to pin, explain or recall; None: the only one there is.

    Raises RecallError where no conversation, or more than one, answers to the key.
    """
    return session_of(client, key)
