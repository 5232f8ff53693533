"""Declared links: what a tool's author says it reads and produces.

A call depends on the earlier calls that produced, by declaration, the values it reads. The newest producer of a value
is what the call must have; an older one, or a call that only read the same value, may help (weights of the spec,
S1.3). Values are compared as text, so the id 42 of a JSON result is the "42" of an argument.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.linking.graph import Graph, Link, Provenance
from foldaway.model.items import Item
from foldaway.model.wire import PartType, Turn

MUST_HAVE = 1.0
MAY_HELP = 0.3
RESULT = "result"
"""As a name in `produces`: the whole result."""
MOST_VALUES = 500
"""Values taken of one result: a listing longer than that says little about which entry is used."""
MOST_TARGETS = 4
"""Calls remembered for a value as producers, and as readers: the newest."""
DEEPEST = 4
"""Lists within lists up to which values are looked for."""
_ATTRIBUTE = "__foldaway_tool__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What one tool reads and produces."""

    tool: str
    """The name under which the model calls it."""
    reads: tuple[str, ...] = ()
    """Names of arguments."""
    produces: tuple[str, ...] = ()
    """Names of arguments, keys of a JSON result, or "result"."""


def attach(function: Callable[..., Any], declaration: Declaration) -> None:
    """Keep a declaration on its function. Raises TypeError for callables that take no attributes."""
    try:
        setattr(function, _ATTRIBUTE, declaration)
    except AttributeError:
        raise TypeError(f"{function!r} takes no attributes; wrap it in a function of your own") from None


def declaration_of(function: Callable[..., Any]) -> Declaration:
    """Raises TypeError when the function was not declared by `@foldaway.tool`."""
    found = getattr(function, _ATTRIBUTE, None)
    if not isinstance(found, Declaration):
        raise TypeError(f"{function!r} declares nothing; put @foldaway.tool(reads=[...], produces=[...]) above it")
    return found


@dataclass(slots=True)
class Declared:
    """The declarations of one session, and who produced and read which value so far."""

    tools: dict[str, Declaration] = field(default_factory=dict)
    upto: int = 0
    """Turns before this index were looked at."""
    _producers: dict[str, list[int]] = field(default_factory=dict)
    _readers: dict[str, list[int]] = field(default_factory=dict)

    def declare(self, declaration: Declaration) -> bool:
        """Take a declaration in; False when it is known already. A new one looks at all turns again."""
        if self.tools.get(declaration.tool) == declaration:
            return False
        self.tools[declaration.tool] = declaration
        self.restart()
        return True

    def restart(self) -> None:
        """Forget the turns, not the declarations: the log is another one now."""
        self.upto = 0
        self._producers.clear()
        self._readers.clear()

    def observe(self, graph: Graph, turn: Turn, items: Sequence[Item]) -> None:
        """The next settled turn: link its calls, then remember what they read and produced. O(values declared)."""
        self.upto += 1
        calls = [(item, *_call(turn, item)) for item in items if item.name in self.tools]
        # Parallel calls were all made before any of their results was there: none depends on another.
        for item, arguments, _ in calls:
            self._link(graph, item, arguments)
        for item, arguments, result in calls:
            declaration = self.tools[item.name]
            for value in _named(arguments, declaration.reads):
                _remember(self._readers, value, item.id)
            for value in _produced(declaration, arguments, result):
                _remember(self._producers, value, item.id)

    def _link(self, graph: Graph, item: Item, arguments: Any) -> None:
        for value in _named(arguments, self.tools[item.name].reads):
            *older, newest = self._producers.get(value) or [0]
            shown = value if len(value) <= 40 else value[:39] + "…"
            # What was observed to be needed is not made weaker by a hint; as it was observed at first, since tools may
            # be told before or after that is corrected.
            strong = {newest, *(k.target for k in graph.as_observed(item.id) if k.weight > MAY_HELP)}
            for target in dict.fromkeys((*older, *self._readers.get(value, ()))):
                if target not in strong:
                    graph.add(_link(item.id, target, MAY_HELP, f"{item.name} reads {shown} as well"))
            if newest:
                graph.add(_link(item.id, newest, MUST_HAVE, f"{item.name} reads {shown}, produced there"))


def _link(source: int, target: int, weight: float, why: str) -> Link:
    return Link(source=source, target=target, weight=weight, provenance=Provenance.DECLARED, why=why)


def _remember(table: dict[str, list[int]], value: str, item: int) -> None:
    held = table.setdefault(value, [])
    if not held or held[-1] != item:
        held.append(item)
        del held[:-MOST_TARGETS]


def _call(turn: Turn, item: Item) -> tuple[Any, str]:
    parts = [turn.parts[p] for p in item.parts]
    arguments = next((p.arguments for p in parts if p.type is PartType.CALL), None)
    return arguments, "\n".join(p.text for p in parts if p.type is PartType.RESULT)


def _produced(declaration: Declaration, arguments: Any, result: str) -> list[str]:
    values = _named(arguments, declaration.produces)
    others = [n for n in declaration.produces if not isinstance(arguments, Mapping) or n not in arguments]
    if not others:
        return values
    try:
        parsed = json.loads(result)
    except (ValueError, RecursionError):
        parsed = result
    for name in others:
        values.extend(_values(parsed if name == RESULT else _under(parsed, name)))
    return list(dict.fromkeys(values))[:MOST_VALUES]


def _named(arguments: Any, names: Sequence[str]) -> list[str]:
    if not isinstance(arguments, Mapping):
        return []
    return list(dict.fromkeys(v for n in names if n in arguments for v in _values(arguments[n])))[:MOST_VALUES]


def _under(result: Any, key: str) -> list[Any]:
    """What stands under a key in an object, or in each object of a list."""
    objects = result if isinstance(result, list) else [result]
    return [o[key] for o in objects if isinstance(o, Mapping) and key in o]


def _values(value: Any, depth: int = 0) -> Iterator[str]:
    """Scalars as text; of lists each element. Nothing for empty texts, null and truth values: they identify nothing."""
    if isinstance(value, str):
        if text := value.strip():
            yield text
    elif isinstance(value, list) and depth < DEEPEST:
        for one in value:
            yield from _values(one, depth + 1)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
