"""Many like objects as one table in JSON: what all share once, the column names once, then one short list a row.

{"table":"24 rows","same in all rows":{...},"columns":["id","price"],"rows":[["A1",5],...],"left out":"columns x, y"}

Nested objects become columns by their path (prices.economy). Where not all fits, columns that tell rows apart and are
short stay with all rows; long texts are cut at words; rows go last, and then the extremes of numbers are told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.compressors._json_read import Spelled
from foldaway.compressors._json_text import dumps, first_words
from foldaway.compressors.base import Hint
from foldaway.compressors.prose import extract, shortened, units_of

FEWEST_ROWS = 3
LONG = 48
"""A column whose values are longer than this on average holds texts: they may be cut."""
SHORTEST_CUT = 28
SENTENCES_FROM = 160
"""A text that gets less than this keeps its first words; with more its best sentences."""
_SHARED_KEYS = 0.6
_SAMPLE = 200
_WANTED = 100.0
_FLAT_LIST = 4
"""A list of up to this many objects inside a row becomes columns of its own (first.x, second.x)."""
_FRAME = '{"table":"1,000 rows","same in all rows":,"columns":[],"rows":[]}'
_EMPTY = frozenset(("null", '""', "[]", "{}"))
_ORDINALS = ("first", "second", "third", "fourth")
_TELLING = frozenset(
    "id login name title path file url link uri href key status state error message code number line date type email "
    "version price total count size sha commit branch author level result value".split()
)
Row = Mapping[str, Any]


def rows_of(value: Any) -> list[Row] | None:
    """The rows of a list of like objects (or lists of them), or of an object that maps keys to like objects."""
    if isinstance(value, dict):
        if len(value) < FEWEST_ROWS or not _alike(list(value.values())):
            return None
        named_within = all(isinstance(row, dict) and key in row.values() for key, row in value.items())
        return [_flat(row) if named_within else {"": key, **_flat(row)} for key, row in value.items()]
    if isinstance(value, list) and len(value) >= FEWEST_ROWS and _alike(value):
        return [_flat(item) for item in value]
    return None


def _alike(values: Sequence[Any]) -> bool:
    sample = values[:_SAMPLE]
    if all(isinstance(v, list) and 0 < len(v) <= _FLAT_LIST and all(isinstance(x, dict) for x in v) for v in values):
        return _alike([v[0] for v in sample])
    if not all(isinstance(v, dict) and v for v in values):
        return False
    counts: dict[str, int] = {}
    for row in sample:
        for key in row:
            counts[key] = counts.get(key, 0) + 1
    shared = sum(1 for n in counts.values() if n >= len(sample) * 0.5)
    return shared >= len(counts) * _SHARED_KEYS or sum(counts.values()) >= len(sample) * len(counts) * _SHARED_KEYS


def _flat(value: Any) -> dict[str, Any]:
    """One row: leaves by path, three levels deep."""
    row: dict[str, Any] = {}
    stack: list[tuple[str, Any, int]] = [("", value, 0)]
    while stack:
        path, node, depth = stack.pop()
        if isinstance(node, dict) and node and depth < 3 and len(node) <= 40:
            stack.extend((f"{path}.{k}" if path else str(k), v, depth + 1) for k, v in reversed(list(node.items())))
        elif isinstance(node, list) and 0 < len(node) <= _FLAT_LIST and depth < 3 and _objects(node):
            stack.extend(
                (f"{path}.{n}" if path else n, v, depth + 1)
                for n, v in reversed(list(zip(_ORDINALS, node, strict=False)))
            )
        else:
            row[path] = node
    return row


def _objects(values: Sequence[Any]) -> bool:
    return all(isinstance(v, dict) for v in values)


@dataclass(slots=True)
class Column:
    name: str
    cells: list[str]
    """As JSON."""
    texts: list[str]
    """Values of strings, "" for the rest."""
    worth: float = 0.0

    @property
    def cost(self) -> int:
        return len(self.name) + 3 + sum(map(len, self.cells)) + len(self.cells)

    @property
    def wordy(self) -> bool:
        """Holds texts of some length: they may be cut at words."""
        return sum(map(len, self.cells)) > LONG * len(self.cells) and sum(" " in t for t in self.texts) * 2 > len(
            self.texts
        )

    @property
    def referring(self) -> bool:
        return sum(map(refers, self.cells)) * 2 > len(self.cells)

    @property
    def distinct(self) -> list[str]:
        return list(dict.fromkeys(self.cells))

    def cut(self, cap: int) -> Column:
        cells = [_cut(cell, text, cap) for cell, text in zip(self.cells, self.texts, strict=True)]
        return Column(self.name, cells, self.texts, self.worth)


class Table:
    """A table that can be fitted into a number of characters."""

    def __init__(self, rows: Sequence[Row], hint: Hint) -> None:
        self._rows = len(rows)
        names = list(dict.fromkeys(name for row in rows for name in row))
        self._columns: list[Column] = []
        self._same: dict[str, str] = {}
        for name in names:
            values = [row.get(name) for row in rows]
            cells = [dumps(value) for value in values]
            if len(set(cells)) == 1:
                self._same[name] = cells[0]
                continue
            texts = [v if isinstance(v, str) and not isinstance(v, Spelled) else "" for v in values]
            self._columns.append(Column(name, cells, texts, _worth(name, cells)))
        for wanted in filter(None, hint.wanted):
            for column in self._columns:
                if any(wanted in text for text in column.texts):
                    column.worth += _WANTED * self._rows

    def fit(self, room: int) -> str:
        """The table as JSON in at most `room` characters; "" when not even its head fits."""
        same = self._shared(room)
        body = room - len(same) - len(_FRAME) - 3 * self._rows
        chosen = self._choose(body)
        if not chosen:
            return ""
        first, last = self._rows, 0
        text = self._render(same, chosen, first, last, room)
        while len(text) > room and (len(chosen) > 1 or first + last > 1):
            if len(chosen) > 1:
                chosen.remove(min(chosen, key=lambda c: (c.referring, c.worth / c.cost)))
            else:
                first, last = self._fewer(chosen[0], first + last, len(text) - room)
            text = self._render(same, chosen, first, last, room)
        return text if len(text) <= room else ""

    def _shared(self, room: int) -> str:
        pieces, used = [], 0
        for name, cell in sorted(self._same.items(), key=lambda pair: not refers(pair[1])):
            piece = f"{dumps(name)}:{cell}"
            if cell not in _EMPTY and used + len(piece) < room * 0.25:
                pieces.append(piece)
                used += len(piece) + 1
        return "{" + ",".join(pieces) + "}" if pieces else ""

    def _choose(self, room: int) -> list[Column]:
        """The columns that fit with all rows: those that name the rows first, then the best for their cost; long
        texts cut to what is left."""
        plain = sorted((c for c in self._columns if not c.wordy), key=lambda c: (not c.referring, -c.worth / c.cost))
        chosen: list[Column] = []
        left = room
        for column in plain:
            if column.cost <= left or (not chosen and column.referring):
                chosen.append(column)
                left -= column.cost
        texts = sorted((c for c in self._columns if c.wordy), key=lambda c: -c.worth)
        for column in texts:
            if column.cost <= left:
                chosen.append(column)
            elif (cap := (left - len(column.name)) // self._rows - 2) >= SHORTEST_CUT:
                chosen.append(column.cut(cap))
            else:
                continue
            left -= chosen[-1].cost
        if not chosen and self._columns:
            chosen.append(max(self._columns, key=lambda c: c.worth / c.cost).cut(40))
        order = {column.name: place for place, column in enumerate(self._columns)}
        return sorted(chosen, key=lambda c: order[c.name])

    def _fewer(self, column: Column, shown: int, over: int) -> tuple[int, int]:
        """Fewer rows of the one column that is left: (first, last)."""
        size = sum(map(len, column.cells)) // self._rows + 3
        fitting = max(1, shown - over // size - 1)
        return fitting - fitting // 4, fitting // 4

    def _render(self, same: str, chosen: Sequence[Column], first: int, last: int, room: int) -> str:
        shown = [*range(first), *range(self._rows - last, self._rows)]
        if len(chosen) == 1:
            lines = [chosen[0].cells[n] for n in shown]
        else:
            lines = ["[" + ",".join(column.cells[n] for column in chosen) + "]" for n in shown]
        if len(lines) < self._rows:
            lines.insert(first, f'"… {self._rows - len(lines):,} rows"')
        pieces = [f'"table":"{self._rows:,} rows"']
        if same:
            pieces.append(f'"same in all rows":{same}')
        pieces.append('"columns":[' + ",".join(dumps(c.name) for c in chosen) + "]")
        pieces.append('"rows":[' + ",".join(lines) + "]")
        text = "{" + ",".join(pieces) + "}"
        notes = self._left_out(chosen, len(shown), room - len(text) - 16)
        return text[:-1] + f',"left out":{dumps(notes)}' + "}" if notes else text

    def _left_out(self, chosen: Sequence[Column], shown: int, room: int) -> str:
        """What is known of missing columns and rows, as far as there is room to say it."""
        names = {column.name for column in chosen}
        notes: list[str] = []
        if shown < self._rows:
            notes += [f"{c.name} from {bounds[0]} to {bounds[1]}" for c in chosen if (bounds := extremes(c.cells))]
        for column in self._columns:
            if column.name in names:
                continue
            distinct = column.distinct
            if bounds := extremes(column.cells):
                told = f"column {column.name} from {bounds[0]} to {bounds[1]}"
            elif sum(map(len, distinct)) < 0.15 * room:
                told = f"column {column.name}: " + " ".join(distinct).replace('"', "")
            else:
                told = f"column {column.name}"
            notes.append(told if sum(map(len, notes)) + len(told) < 0.7 * room else f"column {column.name}")
        while notes and sum(len(note) + 2 for note in notes) > room:
            notes.pop()
        return "; ".join(notes)


def extremes(cells: Sequence[str]) -> tuple[str, str] | None:
    """The smallest and largest of a column of numbers, as spelled; None when it holds other values too."""
    numbers: list[tuple[float, str]] = []
    for cell in cells:
        if cell == "null":
            continue
        try:
            numbers.append((float(cell), cell))
        except ValueError:
            return None
    return (min(numbers)[1], max(numbers)[1]) if numbers else None


def _worth(name: str, cells: Sequence[str]) -> float:
    """What a column tells: distinct values, more when they look like something to refer to."""
    distinct = set(cells)
    return (2.0 if telling(name) else 1.0) * (1.0 + sum(3.0 if refers(cell) else 0.5 for cell in distinct))


def telling(name: str) -> bool:
    """Whether things are called or found by the values under this name."""
    last = name.rsplit(".", 1)[-1].lower()
    return last in _TELLING or last.endswith(("_id", "_name", "id", "_at", "_url", "_path"))


def refers(cell: str) -> bool:
    """Whether a value is one that later steps may use to get at the thing: an id, a path, an address, a long number."""
    if len(cell) < 5 or " " in cell:
        return False
    if cell[0] != '"':
        return cell.isdigit() and len(cell) >= 5
    return any(c.isdigit() for c in cell) or "/" in cell or "_" in cell or "@" in cell


def _cut(cell: str, text: str, cap: int) -> str:
    if len(cell) <= cap:
        return cell
    if not text:
        return '"…"'
    if cap < SENTENCES_FROM:
        return dumps(first_words(text, cap - 3))
    return dumps(extract(units_of(shortened(text)), Hint(), int(cap * 0.94) - 3)[0])
