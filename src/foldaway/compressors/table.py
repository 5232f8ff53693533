"""Tables: CSV, TSV, Markdown, psql, MySQL, SQLite, pandas. Columns, number of rows, ranges, telling rows as they are.

The header and the rows that are kept stay word for word; a closing line counts the rows and says what the columns
hold: from where to where numbers go, which values a column with few of them has.
"""

from __future__ import annotations

from collections.abc import Sequence

from foldaway.compressors._grid import NUMBER, RULE, Columns, Grid, extremes, form_of, lines_in, parse, read_columns
from foldaway.compressors._picking import Unit, ends, joined, named, pick, weigh
from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.facts import MAX_FACTS, facts

NOTES_SHARE = 0.4
"""Of the room, for what is said about the columns."""
NAMED_SHARE = 0.3
LONGEST_VALUE = 40
HEAD_LINES, TAIL_LINES = 6_000, 500
"""Of a longer table only these lines are candidates for being shown."""
_HEADER_SHARE = 0.75
_HEADER_WORTH = 1e6
_FEW = 8


class TableText:
    """A result that is a table in text, or mostly one."""

    name = "table"
    surest = 0.85

    def matches(self, text: str, hint: Hint) -> float:
        lines = [line for line in text[:EDGE_CHARS].split("\n")[:60] if line.strip()]
        if len(text) > EDGE_CHARS and len(lines) > 1:
            lines.pop()
        if len(lines) < 3:
            return 0.0
        named_so = hint.path.lower().endswith((".csv", ".tsv"))
        form, share = form_of(lines)
        return max(0.7 * named_so, 0.85 * share if form and share > 0.7 else 0.0)

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        room = max(0, room_chars)
        grid = parse(text)
        content = grid.form if grid else "text"
        columns = read_columns(grid) if grid else None
        found = table_facts(grid, columns, hint.line) if grid and columns else facts(text, first=hint.line)
        if len(text) <= room:
            return Digest(text=text, content=content, facts=found)
        lines = grid.lines if grid else lines_in(text)
        header = len(lines[grid.header]) + 1 if grid and grid.header >= 0 else 0
        for_notes = min(int(room * NOTES_SHARE), max(60, room - header))
        notes = describe(grid, columns, for_notes) if grid and columns else ""
        shown, kept = _rows(lines, grid, hint, room - len(notes) - 1)
        whole = "\n".join(piece for piece in (shown, notes) if piece)
        lost = f"{max(0, len(lines) - kept):,} of {len(lines):,} lines"
        return Digest(text=whole if len(whole) <= room else ends(whole, room), content=content, facts=found, lost=lost)


def _rows(lines: Sequence[str], grid: Grid | None, hint: Hint, room: int) -> tuple[str, int]:
    """Header, telling rows and the names of the others within `room` characters; how many lines are shown."""
    gap = range(HEAD_LINES, len(lines) - TAIL_LINES)
    places = [n for n, line in enumerate(lines) if n not in gap and line.strip() and not RULE.match(line)]
    units = [Unit(lines[n]) for n in places]
    weights = {name: worth for name, worth in weigh(units).items() if not NUMBER.fullmatch(name)}
    names_room = min(int(room * NAMED_SHARE), sum(len(name) + 2 for name in weights) + 14)
    head = ""
    if grid:
        _prefer(units, places, grid)
        if grid.header >= 0 and len(lines[grid.header]) > room * _HEADER_SHARE:
            head = _header(grid, int(room * _HEADER_SHARE))
    kept = pick(units, weights, room - len(head) - names_room - 8, hint.wanted)
    shown = joined(((index, units[index].text) for index in kept), len(units)) if kept else ""
    shown = "\n".join(piece for piece in (head, shown) if piece)
    names = named(weights, shown, room - len(shown) - 2)
    return "\n".join(piece for piece in (shown, names) if piece), len(kept)


def _prefer(units: list[Unit], places: Sequence[int], grid: Grid) -> None:
    """The header, the first two rows and the last have a worth of their own."""
    bonus = {
        grid.rows[place]: worth
        for place, worth in ((1, 2.0), (0, 6.0), (-1, 6.0))
        if -len(grid.rows) <= place < len(grid.rows)
    }
    bonus[grid.header] = _HEADER_WORTH
    for unit, place in zip(units, places, strict=True):
        unit.bonus = bonus.get(place, 0.0)


def _header(grid: Grid, room: int) -> str:
    """The column names that fit, when the header as it stands does not."""
    line, used = [], 0
    for name in grid.names:
        if used + len(name) + 1 > room - 24:
            break
        line.append(name.strip())
        used += len(name) + 1
    more = f",… {len(grid.names) - len(line):,} more columns" if len(line) < len(grid.names) else ""
    return ",".join(line) + more if line else ""


def describe(grid: Grid, columns: Columns, room: int) -> str:
    """`[csv: 1,204 rows, 5 columns; age 18 to 90; class: a, b]` as far as there is room."""
    head = f"[{grid.form}: {len(grid.rows):,} rows" + (f", {len(grid.names):,} columns" if grid.names else "")
    if columns.rows < len(grid.rows) and grid.names:
        head += f"; in the first {columns.rows:,} rows"
    notes, used = [head], len(head) + 1
    for name, values in zip(columns.names, columns.values, strict=True):
        note = _told(name, values)
        if note and used + len(note) + 2 <= room:
            notes.append(note)
            used += len(note) + 2
    return "; ".join(notes) + "]"


def _told(name: str, values: Sequence[str]) -> str:
    """What a column holds, in a few words; "" when there is nothing short to say."""
    name = name.strip().strip('"')
    distinct = list(dict.fromkeys(values))
    if not name or not distinct:
        return ""
    if len(distinct) == 1:
        return f"{name}: {distinct[0]}" if 0 < len(distinct[0]) <= LONGEST_VALUE else ""
    few = len(distinct) <= _FEW and sum(map(len, distinct)) <= 2 * LONGEST_VALUE and len(distinct) * 2 < len(values)
    if few:
        return f"{name}: {', '.join(value for value in distinct if value)}"
    places = extremes(distinct)
    return f"{name} {distinct[places[0]]} to {distinct[places[1]]}" if places else ""


def table_facts(grid: Grid, columns: Columns, first: int = 1) -> tuple[Fact, ...]:
    """The column names, and the extremes of columns of numbers with the lines that hold them."""
    names = [name.strip() for name in grid.names[: MAX_FACTS // 2] if name.strip()]
    listed = [Fact("column", name, grid.header + first) for name in names]
    for name, values in zip(columns.names, columns.values, strict=True):
        if len(listed) + 2 > MAX_FACTS:
            break
        for key, place in zip(("smallest", "largest"), extremes(values) or (), strict=False):
            listed.append(Fact(f"{key} {name.strip()}", values[place], columns.lines[place] + first))
    return tuple(listed)
