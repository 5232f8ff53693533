"""When the engine cannot decide: the safest request that can be proved valid (I9).

The budget is a ceiling one chose, the window one that the model sets. What fits the budget goes out as it came. What
does not is cut to a plain recent window by a session of its own without a store, which shares nothing with what
failed. Can that not be made either, the request goes out as it came, if it fits the window or nobody knows the window.
One that is known to be too large for the model is never sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldaway.errors import FoldawayError, OverBudget
from foldaway.proxy.dialects import Dialect
from foldaway.proxy.gate import Refused
from foldaway.proxy.places import BOUNDLESS, Incoming, Places
from foldaway.proxy.turn import Prepared, dump
from foldaway.session import Session

POLICY = "window"


class Fallback:
    """Makes the safest view without store and without the sessions at hand. Synchronous, for a worker thread."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def safest(self, raw: bytes, body: Mapping[str, Any], dialect: Dialect, incoming: Incoming, why: str) -> Prepared:
        """What to send instead. Raises OverBudget where it is known that nothing fits. O(size of the history)."""
        original = Prepared(body=raw, changed=False, why=why)
        budget = self._places.budget(incoming)
        # A token has at least one byte; and what continues by an id is kept by the provider and not measurable here.
        if incoming.asked.previous or budget >= BOUNDLESS or len(raw) <= budget:
            return original
        try:
            return self._recent(raw, body, dialect, incoming, why, budget)
        except OverBudget:
            raise
        except Exception:
            return original

    def as_it_came(self, raw: bytes, incoming: Incoming, why: str) -> Prepared:
        """The last resort, when there is no time for more. Raises Refused where it is known to be too large.

        Judged by its size alone, and in favour of sending it: JSON of text has hardly ever more than eight bytes a
        token, media many more.
        """
        window = self._places.window(incoming)
        media = any(mark in raw for mark in (b"base64", b'"image', b'"input_audio', b'"file'))
        if window is not None and not media and not incoming.asked.previous and len(raw) > 8 * window:
            raise Refused(
                400, f"{why}; and the request is too large for the model's window of {window} tokens",
                "context_length_exceeded",
            )  # fmt: skip
        return Prepared(body=raw, changed=False, why=why)

    def _recent(
        self, raw: bytes, body: Mapping[str, Any], dialect: Dialect, incoming: Incoming, why: str, budget: int
    ) -> Prepared:
        asked = incoming.asked
        session = Session(
            format=asked.format, budget=budget, window=self._places.window(incoming), model=asked.model,
            max_output_tokens=asked.max_output_tokens, policy=POLICY, system=asked.system, tools=asked.tools,
            quirks=asked.quirks, recall="none", fixed_over_budget="send",
        )  # fmt: skip
        session.append(asked.messages)
        view = session.view()
        if not session.folds and view.messages == asked.messages:
            return Prepared(body=raw, changed=False, view=view, why=why)
        return Prepared(body=dump(dialect.write(body, view, None)), changed=True, view=view, why=why)


def reason(error: BaseException) -> str:
    """Why the engine failed, for logs: what kind of error, and never its text, which may quote a conversation."""
    if isinstance(error, TimeoutError):
        return "deciding took too long"
    kind = type(error).__name__
    if isinstance(error, FoldawayError):
        return kind
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}" if trace is not None else ""
    return f"{kind}{where}"
