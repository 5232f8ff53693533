"""What the three formats share: mending texts, JSON guards, and the way edits reach a message.

A format module describes a message as *places*: where each part lives, and what it says. Parsing turns places into
parts; rendering walks the same places again and asks the format to rewrite a message with some of them changed. So
both directions read one description and cannot disagree about which part is which.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from foldaway.errors import WireError
from foldaway.model.wire import Edit, Message, Parsed, Part, PartType, Repair, Turn, TurnKind

NO_RESULT = "(no result: the call was interrupted)"
"""Stands in for a result that never came."""
LOOSE_RESULT = "(a tool result whose call is not in this conversation)"
"""First line of a result that became plain text."""
OPENING = "(the conversation starts here)"
GO_ON = "(continue)"
NO_ANSWER = "(no answer)"
UNPARSED = "_unparsed"
"""Key under which arguments that are not a JSON object go on as text."""

MAX_DEPTH = 128
"""Deepest nesting of a message. Far above any real one, far below where copying or dumping it would overflow."""


_ENCODER = json.JSONEncoder(ensure_ascii=False)


class Place(NamedTuple):
    """One part of a message: where it is and what it says."""

    where: str
    """Field of the message, or a word of the format's own for what covers several fields."""
    at: int
    """Position in that field's list; -1 when the field is the part."""
    type: PartType
    role: str
    text: str
    call_id: str = ""
    name: str = ""
    arguments: Any = None
    is_error: bool = False


Change = tuple[Place, Edit | None]
"""A place and its edit; None leaves it alone."""


def check_message(message: object, position: int) -> None:
    """Raise WireError unless `message` is an object of plain JSON of sane depth. Linear, without recursion."""
    if not isinstance(message, dict):
        raise WireError(f"message {position} is a {type(message).__name__}; expected an object")
    level: list[Any] = [message]
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for holder in level:
            for value in holder.values() if isinstance(holder, dict) else holder:
                kind = type(value)
                if kind is str or value is None or kind is bool or kind is int or kind is float:
                    continue
                if kind is dict or kind is list:
                    if value:
                        deeper.append(value)
                elif isinstance(value, (dict, list, tuple)):
                    deeper.append(value)
                elif not isinstance(value, (str, int, float)):
                    raise WireError(f"message {position} holds a {kind.__name__}; expected plain JSON values")
        if not deeper:
            return
        level = deeper
    raise WireError(f"message {position} is nested more than {MAX_DEPTH} levels deep; expected a flatter message")


def content_of(message: Message, position: int, key: str = "content") -> str | list[dict[str, Any]] | None:
    """The content, when it is of a shape that a format knows.

    Raises:
        WireError: neither text nor a list of objects nor nothing; an object whose type is no name.
    """
    content = message.get(key)
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        for index, block in enumerate(content):
            if not isinstance(block, dict):
                raise WireError(
                    f"message {position}: {key}[{index}] is a {type(block).__name__}; expected an object with a type"
                )
            if not isinstance(block.get("type", ""), str):
                raise WireError(
                    f"message {position}: {key}[{index}] has a type that is a {type(block['type']).__name__}; "
                    "expected its name"
                )
        return content
    raise WireError(f"message {position}: {key} is a {type(content).__name__}; expected text or a list of blocks")


def dump(value: Any) -> str:
    """`value` as JSON text, readable rather than escaped."""
    return _ENCODER.encode(value)


def parse_arguments(text: Any) -> Any:
    """The arguments as JSON, or None when they do not parse. Never raises."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def arguments_object(original: Any) -> dict[str, Any]:
    """Arguments as the object a strict server wants: read generously, else kept as text under `_unparsed`."""
    value: Any = original
    # Twice: some models encode the object as JSON text inside JSON text.
    for _ in range(2):
        if isinstance(value, str):
            try:
                value = json.loads(value, strict=False, parse_constant=_refuse_constant) if value.strip() else {}
            except (ValueError, RecursionError):
                break
    if isinstance(value, dict) and _depth_is_sane(value):
        return value
    if value is None:
        return {}
    return {UNPARSED: original if isinstance(original, str) else dump(original)}


def is_object_text(arguments: Any) -> bool:
    """Whether `arguments` is JSON text of an object, as strict servers read it."""
    if not isinstance(arguments, str):
        return isinstance(arguments, dict)
    try:
        value = json.loads(arguments, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _depth_is_sane(value: dict[str, Any]) -> bool:
    try:
        check_message(value, 0)
    except WireError:
        return False
    return True


def is_blank(text: object) -> bool:
    return not isinstance(text, str) or not text.strip()


def shorten(name: str) -> str:
    """An id or name as a repair may quote it."""
    return repr(name if len(name) <= 60 else name[:57] + "...")


def as_str(value: object) -> str:
    return value if isinstance(value, str) else ""


@dataclass(slots=True)
class Grouping:
    """The turns made so far, with at most one exchange that still waits for results.

    Turns that come while an exchange waits are held back: they stand behind it, wherever its results turn up.
    """

    start: int
    turns: list[Turn] = field(default_factory=list)
    held: list[Turn] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)

    def repair(self, position: int, what: str) -> None:
        self.repairs.append(Repair(position=position, what=what))

    def flush(self, exchange: Turn) -> None:
        self.turns.append(exchange)
        self.turns.extend(self.held)
        self.held.clear()

    def parsed(self) -> Parsed:
        self.repairs.sort(key=lambda repair: repair.position)
        return Parsed(turns=tuple(self.turns), repairs=tuple(self.repairs))


PlacesOf = Callable[[Message], list[Place]]


def build_turn(
    kind: TurnKind,
    messages: Sequence[Message],
    sources: Sequence[int],
    places_of: PlacesOf,
    *,
    roles: Mapping[tuple[int, int], str] | None = None,
    stand_ins: Set[tuple[int, int]] = frozenset(),
    open_: bool = False,
    repaired: bool = False,
) -> Turn:
    """A turn of these messages. `roles` says who speaks where the message does not: (message, block) -> role.

    `stand_ins`: (message, block) of the results that repair made up.
    """
    parts: list[Part] = []
    names: dict[str, list[str]] = {}
    for number, message in enumerate(messages):
        for place in places_of(message):
            where, index, type_, role, text, call_id, name, arguments, is_error = place
            block = index if where == "content" else -1
            stand_in = False
            if type_ is PartType.CALL:
                names.setdefault(call_id, []).append(name)
            elif type_ is PartType.RESULT:
                waiting = names.get(call_id)
                name = waiting.pop(0) if waiting else name
                stand_in = (number, block) in stand_ins
            elif roles:
                role = roles.get((number, block), role)
            parts.append(
                Part(
                    type=type_,
                    role=role,
                    text=text,
                    message=number,
                    block=block,
                    call_id=call_id,
                    name=name,
                    arguments=arguments,
                    is_error=is_error,
                    stand_in=stand_in,
                )
            )
    return Turn(
        kind=kind,
        messages=tuple(messages),
        parts=tuple(parts),
        sources=tuple(sources),
        open=open_,
        repaired=repaired,
    )


def dropped_parts(
    turn: Turn, edits: Mapping[int, Edit], pair_key: Callable[[Part], object] = lambda part: part.call_id
) -> set[int]:
    """Indices of the parts that go. A call takes its result along and the other way round.

    `pair_key`: what a call and its result share; among equals, first call and first result belong together.
    """
    _check_edits(turn, edits)
    dropped = {index for index, edit in edits.items() if edit.drop}
    if not dropped:
        return dropped
    waiting: dict[object, list[int]] = {}
    for index, part in enumerate(turn.parts):
        # Blocks of the provider's own tools (type OTHER) come in pairs, too, tied by call_id.
        if part.type is PartType.CALL or (part.type is PartType.OTHER and part.call_id):
            partners = waiting.setdefault(pair_key(part), [])
            if part.type is PartType.OTHER and partners:
                _drop_both(dropped, partners.pop(0), index)
            else:
                partners.append(index)
        elif part.type is PartType.RESULT:
            partners = waiting.get(pair_key(part), [])
            if partners:
                _drop_both(dropped, partners.pop(0), index)
    return dropped


def _drop_both(dropped: set[int], one: int, other: int) -> None:
    if one in dropped or other in dropped:
        dropped.update((one, other))


def _check_edits(turn: Turn, edits: Mapping[int, Edit]) -> None:
    for index, edit in edits.items():
        if not 0 <= index < len(turn.parts):
            raise ValueError(f"edit of part {index}: the turn has {len(turn.parts)} parts")
        is_call = turn.parts[index].type is PartType.CALL
        if edit.arguments is not None and not is_call:
            raise ValueError(f"edit of part {index}: only calls have arguments")
        if edit.text is not None and is_call:
            raise ValueError(f"edit of part {index}: a call's arguments are replaced as a whole, not by text")


def render_turn(
    turn: Turn,
    edits: Mapping[int, Edit],
    dropped: set[int],
    places_of: PlacesOf,
    rewrite: Callable[[Message, Sequence[Change]], Message | None],
) -> list[Message]:
    """The turn's messages with edits applied; `rewrite` gives None for a message that has nothing left."""
    by_message: dict[int, list[int]] = {}
    for index, part in enumerate(turn.parts):
        by_message.setdefault(part.message, []).append(index)
    gone = Edit(drop=True)
    out: list[Message] = []
    for number, message in enumerate(turn.messages):
        indices = by_message.get(number, [])
        changes = [gone if i in dropped else None if _keeps(edits.get(i)) else edits[i] for i in indices]
        if not any(changes):
            out.append(message)
        elif not all(change is gone for change in changes):
            rewritten = rewrite(message, list(zip(places_of(message), changes, strict=True)))
            if rewritten is not None:
                out.append(rewritten)
    return out


def _keeps(edit: Edit | None) -> bool:
    # A drop that dropped_parts (or the format) took back leaves the part as it is.
    return edit is None or edit.drop


def replace_field(message: Message, key: str, value: Any) -> Message:
    """A copy with one field changed in its place, so that the order of keys stays."""
    return {**message, key: value}


def without(message: Message, keys: Iterable[str]) -> Message:
    gone = set(keys)
    return {key: value for key, value in message.items() if key not in gone}


def joined_content(first: Any, second: Any, text_type: str) -> Any:
    """Two contents as one: texts with a blank line between, else one list of blocks."""
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}" if first and second else first or second
    return [*_as_blocks(first, text_type), *_as_blocks(second, text_type)]


def _as_blocks(content: Any, text_type: str) -> list[Any]:
    if isinstance(content, str):
        return [{"type": text_type, "text": content}] if content else []
    return list(content)


def without_blank_texts(blocks: list[dict[str, Any]], text_types: frozenset[str]) -> list[dict[str, Any]]:
    """The same list when no text block is blank."""
    kept = [block for block in blocks if str(block.get("type")) not in text_types or not is_blank(block.get("text"))]
    return blocks if len(kept) == len(blocks) else kept
