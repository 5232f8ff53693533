"""Whether a framework's messages are still what they were at the last call: the same objects, not changed in place.

Frameworks hand the whole history over at each call. What is known is told by identity and by a comparison of the fields
of its objects, both at the speed of C, so that only what is new has to be translated. Objects that no model sees any
more, as they are folded away, are compared in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from operator import is_
from typing import Any

DEPTH = 3
"""Objects within objects: parts, their calls, their arguments. What lies deeper is told by identity."""
MOST_OBJECTS = 64
"""Of one message, so that an artifact that holds half a program is not walked through."""
MOST_PARTS = 1_000
"""Of a list or dictionary; longer ones are data, told by identity."""
NEWEST = 64
"""Messages at the end that are compared at each call, seen or not."""
MOST_MISSES = 2
"""After so many such calls the framework makes its messages anew each time: then nothing of them is kept to compare."""
TURNS = 16
"""Calls within which every other message is compared once."""
_LEAVES = (str, int, float, bytes, Enum, type)


@dataclass(slots=True)
class Untouched:
    """Objects as they were. Grows at its end only; a shorter history is another one."""

    originals: list[Any] = field(default_factory=list)
    _objects: list[Any] = field(default_factory=list)
    """The originals and what is in them, one after the other."""
    _states: list[Any] = field(default_factory=list)
    """The fields of each, containers copied."""
    _upto: list[int] = field(default_factory=list)
    """For each original the end of its objects."""
    _turn: int = 0
    _misses: int = 0
    """Calls in a row that brought most of the messages as other objects."""

    def same(self, messages: Sequence[Any]) -> int:
        """How many messages at the front are the very objects of the last call (changed in place or not)."""
        known = len(self.originals)
        if known <= len(messages) and all(map(is_, self.originals, messages)):
            return known
        pairs = enumerate(zip(self.originals, messages, strict=False))
        return next((n for n, (a, b) in pairs if a is not b), min(len(messages), known))

    def unchanged(self, messages: Sequence[Any], visible: Sequence[int] | None = None) -> int:
        """How many messages at the front are the same objects with the same content, as far as it is looked at.

        `visible`: positions to look at in any case, in ascending order; None: all. Linear in those, some 0.3 µs each.
        """
        upto = min(self.same(messages), len(self._upto))
        for start, end in [(0, upto)] if visible is None else self._stretches(visible, upto):
            if not self._agrees(start, end):
                return next(at for at in range(start, end) if not self._agrees(at, at + 1))
        return upto

    def _agrees(self, start: int, end: int) -> bool:
        first, last = self._upto[start - 1] if start else 0, self._upto[end - 1] if end else 0
        return _agree(self._objects[first:last], self._states[first:last])

    def _stretches(self, visible: Sequence[int], upto: int) -> list[tuple[int, int]]:
        """Where to look at this call, from the front."""
        turn, older = self._turn % TURNS, max(0, upto - NEWEST)
        self._turn += 1
        found: list[tuple[int, int]] = [(older, upto), (older * turn // TURNS, older * (turn + 1) // TURNS)]
        for at in visible:
            if at >= older:
                break
            if found[-1][1] == at and len(found) > 2:
                found[-1] = found[-1][0], at + 1
            else:
                found.append((at, at + 1))
        return sorted(found)

    def grown(self, messages: Sequence[Any], kept: int) -> Untouched:
        """The same for a longer or another history, of which the first `kept` messages are known to be unchanged."""
        misses = self._misses + 1 if 2 * kept < len(self.originals) else 0
        end = self._upto[kept - 1] if kept else 0
        made = Untouched(
            list(messages), self._objects[:end], self._states[:end], self._upto[:kept], self._turn, misses
        )  # fmt: skip
        for message in made.originals[kept:] if misses < MOST_MISSES else ():
            found: list[Any] = []
            _walk(message, 0, found)
            made._objects += found
            made._states += [_state(one) for one in found]
            made._upto.append(len(made._objects))
        return made


def _agree(objects: Sequence[Any], states: Sequence[Any]) -> bool:
    try:
        if not objects or (type(objects[0]) is dict and objects == states):
            return True
        return [getattr(one, "__dict__", one) for one in objects] == states
    except Exception:  # other people's comparisons: of arrays, of what is not there any more
        return False


def _state(one: Any) -> Any:
    """What `_agree` compares an object with: its fields, or itself where it cannot change."""
    params = getattr(one, "__dataclass_params__", None)
    if params is not None and not params.frozen and not hasattr(one, "__dict__"):
        return object()
    try:
        return _copied(getattr(one, "__dict__", one))
    except RecursionError:
        # It holds itself: equal to nothing, so it is translated at each call.
        return object()


def _walk(value: Any, depth: int, found: list[Any]) -> None:
    """The objects whose fields tell what is in a message; dictionaries at the top are one."""
    if value is None or isinstance(value, _LEAVES) or len(found) >= MOST_OBJECTS:
        return
    if isinstance(value, dict):
        if not depth:
            found.append(value)
        for part in value.values():
            _walk(part, max(1, depth), found)
    elif isinstance(value, list | tuple):
        for part in value:
            _walk(part, depth, found)
    elif hasattr(value, "__dict__"):
        found.append(value)
        if depth < DEPTH:
            for part in vars(value).values():
                _walk(part, depth + 1, found)
    elif is_dataclass(value):
        found.append(value)
        if depth < DEPTH:
            for part in fields(value):
                _walk(getattr(value, part.name, None), depth + 1, found)


def _copied(value: Any) -> Any:
    """Containers anew, what is in them as it is."""
    if not isinstance(value, dict | list | tuple) or len(value) > MOST_PARTS:
        return value
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    made = [_copied(part) for part in value]
    return made if isinstance(value, list) else tuple(made)
