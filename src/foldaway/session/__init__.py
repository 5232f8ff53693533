"""The front door: one agent's session, from the messages a client has to the messages a model gets.

`Session` joins engine and parts and does the I/O: it keeps log and ledger in a store, recognises what a client sends
again, starts a branch when a client edits its history, and answers recalls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.model.view import View
from foldaway.model.wire import Message
from foldaway.session.looking import Looking
from foldaway.session.recalling import Recalling
from foldaway.session.steering import Steering

__all__ = ["Session", "fit"]


class Session(Recalling, Steering, Looking):
    """One agent's session. Not safe for use from several threads at once; several processes may share a store.

    `budget` is the ceiling in tokens for all that is sent, system prompt and tools included; without one it is the
    model's window less `max_output_tokens`. Messages handed in are copied and never changed.
    """


def fit(
    messages: Sequence[Message],
    *,
    budget: int | None = None,
    format: str = "openai_chat",
    origins: Sequence[str] = (),
    **settings: Any,
) -> View:
    """One history in, the managed one out: what to send now, inside the budget. Takes the settings of `Session`."""
    with Session(format=format, budget=budget, **settings) as session:
        session.append(messages, origins)
        return session.view()
