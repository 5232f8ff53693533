"""Measures views: tokens, needed literals, the prefix shared with the view before.

Each distinct message is measured once a session, whatever policies and budgets are replayed on it; a view that grew
at its tail costs only its tail.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.lab.finder import Finder, message_text, strings_of
from foldaway.lab.needs import Labels, Need
from foldaway.lab.timeline import Said, timeline
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.protocols import MessageCounter


@dataclass(frozen=True, slots=True)
class Measured:
    """One message."""

    tokens: int
    plain_tokens: int
    """Characters / 4."""
    literals: frozenset[int]


@dataclass(frozen=True, slots=True)
class Reading:
    """One view."""

    tokens: int
    plain_tokens: int
    prefix_tokens: int
    """Tokens of the longest run of messages at the front that the view before had as well, system and tools with it."""
    broken: bool
    """The view does not extend the one before."""
    literals: frozenset[int] | set[int]
    """Needed literals that occur in it. Read only, and good until the next view is read."""
    messages: frozenset[int] | set[int]
    """Identities of its measured messages. Read only, and good until the next view is read."""

    def holds(self, message: Measured) -> bool:
        """Whether a message of the same content stands in it."""
        return id(message) in self.messages


@dataclass(slots=True)
class Ruler:
    """Measures the messages of one session. Not for several threads."""

    recorded: Recorded
    labels: Labels
    counter: MessageCounter
    _finder: Finder = field(init=False)
    _known: dict[bytes, Measured] = field(default_factory=dict, init=False)
    _said: list[Said] = field(default_factory=list, init=False)
    _part_tokens: dict[int, int] = field(default_factory=dict, init=False)
    _recorded: list[Measured] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._finder = Finder(self.labels.literals)

    def message(self, message: Message) -> Measured:
        data = json.dumps(message, ensure_ascii=True, default=str).encode("ascii")
        key = hashlib.blake2b(data, digest_size=16).digest()
        known = self._known.get(key)
        if known is None:
            text = message_text(message)
            literals = self._finder.find(text)
            known = Measured(self.counter.message(message), math.ceil(len(text) / 4), literals)
            self._known[key] = known
        return known

    def recorded_messages(self) -> Sequence[Measured]:
        """The session's own messages."""
        if not self._recorded:
            self._recorded = [self.message(message) for message in self.recorded.messages]
        return self._recorded

    def beside(self, system: Any, tools: Sequence[Mapping[str, Any]] | None) -> tuple[int, int]:
        """Tokens, and characters / 4, of what stands beside the messages."""
        tokens = (self.counter.system(system) if system else 0) + self.counter.tools(tools)
        chars = sum(map(len, strings_of(system))) + (len(json.dumps(tools, default=str)) if tools else 0)
        return tokens, math.ceil(chars / 4)

    def supplier_tokens(self, need: Need) -> int:
        """Tokens of the part that supplied the need last."""
        if not self._said:
            self._said = timeline(self.recorded)
        known = self._part_tokens.get(need.supplier)
        if known is None:
            known = self.counter.counter.count(self._said[need.supplier].text)
            self._part_tokens[need.supplier] = known
        return known


class Meter:
    """Reads the views of one run, in order."""

    def __init__(self, ruler: Ruler) -> None:
        self._ruler = ruler
        self._messages: list[Message] = []
        self._measured: list[Measured] = []
        # Running sums: the first k messages, with what stands beside them.
        self._sums: list[int] = [0]
        self._plain = 0
        self._literals: set[int] = set()
        self._present: set[int] = set()
        self._beside: tuple[Any, Any] | None = None
        self._beside_tokens = (0, 0)

    def read(self, messages: Sequence[Message], system: Any, tools: Sequence[Mapping[str, Any]] | None) -> Reading:
        """Measure the next view. Keeps hold of the messages: they must not be changed afterwards."""
        first = self._beside is None
        beside_same = not first and self._beside == (system, tools)
        common = self._common(messages)
        prefix = self._sums[common] + self._beside_tokens[0] if beside_same else 0
        broken = not first and (not beside_same or common < len(self._messages))
        if not beside_same:
            self._beside = (system, tools)
            self._beside_tokens = self._ruler.beside(system, tools)
        self._replace(messages, common)
        return Reading(
            tokens=self._sums[-1] + self._beside_tokens[0],
            plain_tokens=self._plain + self._beside_tokens[1],
            prefix_tokens=prefix,
            broken=broken,
            literals=self._literals,
            messages=self._present,
        )

    def _common(self, messages: Sequence[Message]) -> int:
        common = 0
        for old, new in zip(self._messages, messages, strict=False):
            if old is not new and old != new:
                break
            common += 1
        return common

    def _replace(self, messages: Sequence[Message], common: int) -> None:
        old = dict(zip(map(id, self._messages[common:]), self._measured[common:], strict=True))
        shrunk = common < len(self._messages)
        # The old messages stay alive until `old` is no longer used, so no id can have been given away.
        tail = [old.get(id(m)) or self._ruler.message(m) for m in messages[common:]]
        self._messages[common:] = messages[common:]
        self._measured[common:] = tail
        del self._sums[common + 1 :]
        for measured in tail:
            self._sums.append(self._sums[-1] + measured.tokens)
        if shrunk:
            self._plain = sum(m.plain_tokens for m in self._measured)
            self._literals = set[int]().union(*(m.literals for m in self._measured))
            self._present = set(map(id, self._measured))
        else:
            self._plain += sum(m.plain_tokens for m in tail)
            self._literals.update(*(m.literals for m in tail))
            self._present.update(map(id, tail))
