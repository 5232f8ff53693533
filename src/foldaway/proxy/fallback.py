"""When the engine cannot decide: the safest request that can be proved valid (I9).

The budget is a ceiling one chose, the window one that the model sets. What fits the budget goes out as it came. What
does not is cut to a plain recent window by a session of its own without a store, which shares nothing with what
failed; of a history many times as long only the beginning and the end are looked at, so that it takes its time by the
budget. Can that not be made either, the request goes out as it came, if it fits the window or nobody knows the window.
One that is known to be too large for the model is never sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldaway.errors import FoldawayError, OverBudget
from foldaway.model.wire import Message
from foldaway.proxy.dialects import Dialect
from foldaway.proxy.gate import Refused
from foldaway.proxy.jsons import dumps
from foldaway.proxy.places import BOUNDLESS, Incoming, Places
from foldaway.proxy.turn import Prepared
from foldaway.proxy.weight import size_of
from foldaway.session import Session
from foldaway.wire import get_wire

POLICY = "window"
BYTES_A_TOKEN = 8
"""More than text has, so that what is cut off beforehand would not have been in the window."""


class Fallback:
    """Makes the safest view without store and without the sessions at hand. Synchronous, for a worker thread."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def safest(self, raw: bytes, body: Mapping[str, Any], dialect: Dialect, incoming: Incoming, why: str) -> Prepared:
        """What to send instead. Raises OverBudget where it is known that nothing fits."""
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
        session.append(shortened(asked.format, asked.messages, budget * BYTES_A_TOKEN))
        view = session.view()
        if not session.folds and view.messages == asked.messages:
            return Prepared(body=raw, changed=False, view=view, why=why)
        return Prepared(body=dumps(dialect.write(body, view, None)), changed=True, view=view, why=why)


def shortened(format: str, messages: list[Message], most_bytes: int) -> list[Message]:
    """The beginning of a long history, up to the first user message, then as much of its end as has the size; with a
    message between the two that says how many are missing. A short one as it is."""
    start, size = len(messages), 0
    while start > 0 and size <= most_bytes:
        start -= 1
        size += size_of(messages[start])
    head = next((n for n, m in enumerate(messages) if not _opens(m)), len(messages))
    begins = [n for n in range(start, len(messages)) if _begins(messages[n])]
    asked = [n for n in begins if messages[n].get("role") == "user"]
    # A user message is the best beginning, unless it is far down.
    good = asked if asked and asked[0] - start <= (len(messages) - start) // 2 else begins
    if size <= most_bytes or not good or good[0] <= head:
        return messages
    note = f"[{good[0] - head} earlier messages are not shown]"
    return [*messages[:head], get_wire(format).user_message(note), *messages[good[0] :]]


def _opens(message: Message) -> bool:
    """Whether it belongs to what stands in front of a conversation: instructions and the first words of the user."""
    return message.get("role") in ("system", "developer", "user")


def _begins(message: Message) -> bool:
    """Whether a conversation may go on from here with nothing in front: no result whose call is cut off, no call whose
    reasoning is."""
    content = message.get("content")
    results = isinstance(content, list) and any(isinstance(b, dict) and b.get("type") == "tool_result" for b in content)
    spoken = message.get("role") in ("user", "assistant") and message.get("type", "message") == "message"
    return (spoken and not results) or message.get("type") == "reasoning"


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
