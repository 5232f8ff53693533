"""From a turn's parts to items: the units of eviction.

A call and its result are one item (a tool span); the assistant's text beside the calls, its reasoning, each user
text and each attachment are items of their own. A plain assistant message is one item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from foldaway.linking.kinds import Kinds, is_error, one_line, targets_of, title_of
from foldaway.model.items import Kind
from foldaway.model.wire import Part, PartType, Turn, TurnKind

DELIMITER = "delimiter"
RECALL = "recall"
"""Names of Foldaway's own tools, by which their calls are known again."""

_FENCE = re.compile(r"```[\w-]*\n(.*?)(?:```|\Z)|<command>\n?(.*?)</command>", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An item before it has an id."""

    parts: tuple[int, ...]
    kind: Kind
    title: str
    name: str = ""
    pinned: bool = False
    persisted: bool = False
    targets: tuple[str, ...] = ()


def itemise(turn: Turn, previous: Turn | None, kinds: Kinds) -> list[Draft]:
    """The items of a turn, in the order of their first parts."""
    match turn.kind:
        case TurnKind.INSTRUCTION:
            return [_whole(turn, Kind.INSTRUCTION, pinned=True)]
        case TurnKind.ASSISTANT:
            return [_whole(turn, Kind.THOUGHT)]
        case TurnKind.OBSERVATION:
            return [_observation(turn, previous, kinds)]
        case TurnKind.OTHER:
            return [_whole(turn, Kind.OTHER, pinned=True)]
        case TurnKind.USER:
            return [_said(number, part) for number, part in enumerate(turn.parts)]
        case TurnKind.EXCHANGE:
            return _exchange(turn, kinds)


def _whole(turn: Turn, kind: Kind, *, pinned: bool = False) -> Draft:
    text = next((p.text for p in turn.parts if p.text.strip() and p.type is not PartType.REASONING), "")
    parts = tuple(range(len(turn.parts)))
    return Draft(parts=parts, kind=kind, title=one_line(text, 72) or kind.value, pinned=pinned)


def _said(number: int, part: Part) -> Draft:
    if part.type in (PartType.IMAGE, PartType.DOCUMENT):
        return Draft(parts=(number,), kind=Kind.ATTACHMENT, title=f"{part.type.value} from the user")
    return Draft(parts=(number,), kind=Kind.USER, title=one_line(part.text, 72) or "user message", pinned=True)


def _observation(turn: Turn, previous: Turn | None, kinds: Kinds) -> Draft:
    action = ""
    if previous is not None and previous.kind is TurnKind.ASSISTANT:
        action = action_text("\n".join(p.text for p in previous.parts if p.type is PartType.TEXT))
    text = turn.parts[0].text if turn.parts else ""
    name = turn.messages[0].get("name") if turn.messages else None
    kind = Kind.ERROR if is_error(text, False) else kinds.of_command(action) if action else Kind.RESULT
    title = one_line(f"ran {action}" if action else f"{name or 'environment'}: {text}", 72)
    parts = tuple(range(len(turn.parts)))
    return Draft(
        parts=parts, kind=kind, title=title, persisted=kind is Kind.EDIT, targets=targets_of(kind, None, action)
    )


def action_text(text: str) -> str:
    """The command or code an agent without a tool protocol wrote into its text, or ""."""
    blocks = [a or b for a, b in _FENCE.findall(text)]
    return blocks[-1].strip() if blocks else ""


def _exchange(turn: Turn, kinds: Kinds) -> list[Draft]:
    results = _results_by_call(turn)
    drafts: list[Draft] = []
    said = tuple(n for n, p in enumerate(turn.parts) if p.role == "assistant" and p.type is PartType.TEXT)
    reasoned = tuple(n for n, p in enumerate(turn.parts) if p.type is PartType.REASONING)
    if reasoned:
        drafts.append(Draft(parts=reasoned, kind=Kind.REASONING, title="reasoning"))
    if said:
        title = one_line(" ".join(turn.parts[n].text for n in said), 72) or "assistant text"
        drafts.append(Draft(parts=said, kind=Kind.THOUGHT, title=title))
    claimed = {*reasoned, *said}
    for number, part in enumerate(turn.parts):
        if part.type is PartType.CALL:
            parts = (number, *results.get(number, ()))
            claimed.update(parts)
            drafts.append(_span(turn, part, parts, kinds))
    for number, part in enumerate(turn.parts):
        if number not in claimed:
            drafts.append(_said(number, part))
    return drafts


def _results_by_call(turn: Turn) -> dict[int, tuple[int, ...]]:
    """Call part -> its result parts; calls of one id are answered in order."""
    waiting: dict[str, list[int]] = {}
    for number, part in enumerate(turn.parts):
        if part.type is PartType.CALL:
            waiting.setdefault(part.call_id, []).append(number)
    found: dict[int, tuple[int, ...]] = {}
    last: dict[str, int] = {}
    for number, part in enumerate(turn.parts):
        if part.type is PartType.RESULT:
            calls = waiting.get(part.call_id)
            call = calls.pop(0) if calls else last.get(part.call_id)
            if call is not None:
                last[part.call_id] = call
                found[call] = (*found.get(call, ()), number)
        elif part.role == "tool" and last:
            call = next(reversed(last.values()))
            found[call] = (*found.get(call, ()), number)
    return found


def _span(turn: Turn, call: Part, parts: tuple[int, ...], kinds: Kinds) -> Draft:
    result = "\n".join(turn.parts[n].text for n in parts[1:])
    if call.name == DELIMITER:
        kind = Kind.ANNOTATION
    elif call.name == RECALL:
        kind = Kind.RECALLED
    elif is_error(result, any(turn.parts[n].is_error for n in parts[1:])):
        kind = Kind.ERROR
    else:
        kind = kinds.of_call(call.name, call.arguments, call.text)
    title = title_of(call.name, call.arguments, call.text)
    return Draft(
        parts=parts, kind=kind, title=title, name=call.name, persisted=kind is Kind.EDIT,
        targets=targets_of(kind, call.arguments, call.text),
    )  # fmt: skip
