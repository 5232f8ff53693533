"""What stands in for evicted content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foldaway.testing.cases.checks._base import Look, check
from foldaway.testing.cases.checks.pairs import SHORTENED
from foldaway.testing.cases.outcome import Fit
from foldaway.testing.cases.reading import canonical, leaves, texts_by_role

Args = Mapping[str, Any]

_WAY_BACK = re.compile(r"recall|retriev|fetch|bring (?:it )?back|get (?:it )?back|ask for|restore|read again", re.I)
_SPAN = re.compile(r"(\d+)\s*(?:-|–|\.\.|to)\s*#?(\d+)")


@check("placeholders_ok", on="fit")
def placeholders_ok(look: Look, args: Args) -> str | None:
    fit = look.fit
    came = {canonical(message) for message in fit.history}
    own = [m for m in fit.sent.messages if canonical(m) not in came]
    for position, text in fit.stand_ins.items():
        # A message that came in may quote a stand-in: that is plain text.
        if any(role == "assistant" and text in said for message in own for role, said in texts_by_role(message)):
            return f"what stands in for message {position} is in an assistant's text"
        around = next((said for said in leaves([m.get("content", m) for m in own]) if text in said), text)
        told = f"{around}\n{_teaching(fit)}"
        if not SHORTENED.search(told):
            return f"what stands in for message {position} does not say that something was left out: {text[:160]!r}"
        if not _WAY_BACK.search(told):
            return f"what stands in for message {position} does not say how to get it: {text[:160]!r}"
        if not _named(fit.handles.get(position, ()), around):
            return f"what stands in for message {position} does not name it: {text[:160]!r}"
    return _same_everywhere(look)


def _teaching(fit: Fit) -> str:
    """Where a system of its own tool behind the caller's teaches how to get things back, that counts, too."""
    own = (fit.sent.tools or [])[len(fit.tools or []) :]
    return "\n".join(leaves(own))


def _named(handles: tuple[str, ...], text: str) -> bool:
    if not handles or any(re.search(rf"(?<!\w){re.escape(handle)}(?!\w)", text) for handle in handles):
        return True
    spans = [(int(first), int(last)) for first, last in _SPAN.findall(text)]
    return any(handle.isdigit() and first <= int(handle) <= last for handle in handles for first, last in spans)


def _same_everywhere(look: Look) -> str | None:
    for outcome in look.run.fits():
        if outcome.fit is None or outcome.fit is look.fit:
            continue
        for position, text in look.fit.stand_ins.items():
            before = outcome.fit.stand_ins.get(position)
            same_message = position < min(len(outcome.fit.history), len(look.fit.history)) and canonical(
                outcome.fit.history[position]
            ) == canonical(look.fit.history[position])
            grown = (
                _combined(outcome.fit, before) and _combined(look.fit, text) and _evicted_more(outcome.fit, look.fit)
            )
            if before is not None and same_message and before != text and not grown:
                return f"message {position} has another stand-in in fit {outcome.name}: {before[:80]!r}, {text[:80]!r}"
    return None


def _combined(fit: Fit, text: str | None) -> bool:
    """Whether one text stands in for several messages, as a summary or a note does."""
    return sum(1 for other in fit.stand_ins.values() if other == text) > 1


def _evicted_more(one: Fit, other: Fit) -> bool:
    """Whether the two fits evicted different messages: only then may a combined text differ."""
    return one.stand_ins.keys() != other.stand_ins.keys()


@check("no_nested_placeholders", on="fit")
def no_nested_placeholders(look: Look, args: Args) -> str | None:
    # Short ones could be in any text by chance.
    known = {
        text
        for outcome in look.run.fits()
        if outcome.fit is not None
        for text in outcome.fit.stand_ins.values()
        if len(text) >= 20
    }
    for position, text in look.fit.stand_ins.items():
        for other in known:
            if other != text and text.count(other) and not _lines_of(text, other):
                return f"what stands in for message {position} holds another stand-in: {text[:200]!r}"
        if look.fit.stand_ins[position] and text.count(text[:40]) > 1 and len(text) > 80:
            return f"what stands in for message {position} holds itself: {text[:200]!r}"
    return None


def _lines_of(text: str, other: str) -> bool:
    """Whether the other is one or more whole lines of this: a note with a line for each evicted message."""
    return f"\n{other}\n" in f"\n{text}\n"
