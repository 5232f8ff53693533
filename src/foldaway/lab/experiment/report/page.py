"""Sections as one HTML page that needs nothing from outside: style, pictures and a few lines of script are inside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from foldaway.lab.experiment.report import palette
from foldaway.lab.experiment.report.palette import Look, looks
from foldaway.lab.experiment.report.section import Cell, DotPlot, LineChart, Mark, Part, Section, Table
from foldaway.lab.experiment.report.style import SCRIPT, STYLE
from foldaway.lab.experiment.report.svg import dot, dot_plot, line_chart

LONG = 60
"""Characters from which on a column of texts is broken into lines."""
_CODE = re.compile(r"`([^`]*)`")
_STRONG = re.compile(r"\*\*([^*]*)\*\*")


def page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """The whole document. The same sections give the same bytes."""
    known = looks(name for section in sections for part in section.parts for name in _names(part))
    keys = place_names(sections)
    links = "".join(f'<a href="#{key}">{escape(s.title)}</a>' for key, s in zip(keys, sections, strict=True))
    body = "\n".join(
        _section(section, key, known, first=number == 0)
        for number, (key, section) in enumerate(zip(keys, sections, strict=True))
    )
    head = (
        f'<meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<style>{STYLE}{palette.css()}</style>"
    )
    top = f'<h1>{escape(title)}</h1>\n<p class="note">{prose(subtitle)}</p>\n<nav>{links}</nav>'
    rest = f"<body>\n{top}\n{body}\n<script>{SCRIPT}</script>\n</body>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{rest}</html>\n'


def place_names(sections: Sequence[Section]) -> list[str]:
    """The anchor of each section, all different."""
    keys: list[str] = []
    for section in sections:
        key = section.key or re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
        keys.append(key if key not in keys else f"{key}-{len(keys)}")
    return keys


def prose(text: str) -> str:
    """A text, escaped, with what stands in backticks as code and what stands in double stars in bold."""
    return _STRONG.sub(r"<strong>\1</strong>", _CODE.sub(r"<code>\1</code>", escape(text)))


def _names(part: Part) -> Iterable[str]:
    if isinstance(part, LineChart):
        return [series.name for series in part.series]
    if isinstance(part, DotPlot):
        return [name for row in part.rows for name, _ in row.values]
    return []


def _section(section: Section, key: str, known: Mapping[str, Look], *, first: bool) -> str:
    drawn = list(dict.fromkeys(name for part in section.parts for name in _names(part)))
    # The key stands above the first chart.
    key_at = next((n for n, part in enumerate(section.parts) if isinstance(part, LineChart | DotPlot)), -1)
    parts: list[str] = []
    small: list[str] = []
    for number, part in enumerate(section.parts):
        if number == key_at:
            parts.append(_key(drawn, known))
        if isinstance(part, LineChart) and part.small:
            small.append(_figure(part.title, line_chart(part, known)))
            continue
        parts += _paired(small)
        small = []
        parts.append(_part(part, known, lead=first and number == 0))
    inside = "\n".join([*parts, *_paired(small)])
    return f'<section id="{key}"><h2>{escape(section.title)}</h2>\n{inside}\n</section>'


def _paired(figures: Sequence[str]) -> list[str]:
    return [f'<div class="pair">{"".join(figures)}</div>'] if figures else []


def _part(part: Part, known: Mapping[str, Look], *, lead: bool) -> str:
    if isinstance(part, str):
        return f'<p class="lead">{prose(part)}</p>' if lead else f"<p>{prose(part)}</p>"
    if isinstance(part, Table):
        return _table(part)
    drawn = dot_plot(part, known) if isinstance(part, DotPlot) else line_chart(part, known)
    return _figure(part.title, drawn)


def _figure(title: str, drawn: str) -> str:
    caption = f"<figcaption>{prose(title)}</figcaption>" if title else ""
    return f"<figure>{caption}{drawn}</figure>"


def _key(names: Sequence[str], known: Mapping[str, Look]) -> str:
    """Buttons that hide and show a name in all charts."""
    if len(names) < 2:
        return ""
    buttons = []
    for name in names:
        look, data = known[name], escape(name, quote=True)
        mark = f'<svg viewBox="0 0 14 14" aria-hidden="true">{dot(look, 7, 7, name, 4.2)}</svg>'
        about = f'type="button" class="{look.css}" data-name="{data}" aria-pressed="true"'
        buttons.append(f"<button {about}>{mark}{escape(name)}</button>")
    return f'<div class="key">{"".join(buttons)}</div>\n'


def _table(table: Table) -> str:
    left = [_left(number, table) for number in range(len(table.columns))]
    head = "".join(f"<th{where}>{escape(column)}</th>" for column, where in zip(table.columns, left, strict=True))
    rows, before = [], None
    for cells in table.rows:
        first = _text(cells[0])
        starts = table.groups and first != before
        shown = [*cells] if starts or not table.groups else ["", *cells[1:]]
        inside = "".join(_cell(cell, where) for cell, where in zip(shown, left, strict=True))
        rows.append(f'<tr class="first">{inside}</tr>' if starts else f"<tr>{inside}</tr>")
        before = first
    title = f"<h3>{prose(table.title)}</h3>" if table.title else ""
    note = f'<p class="note">{prose(table.note)}</p>' if table.note else ""
    inside = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{title}<div class="scroll"><table>{inside}</table></div>{note}'


def _left(number: int, table: Table) -> str:
    if number >= table.left:
        return ""
    long = any(len(_text(row[number])) > LONG for row in table.rows if number < len(row))
    return ' class="l long"' if long else ' class="l"'


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, Mark) else cell


def _cell(cell: Cell, left: str) -> str:
    if isinstance(cell, str):
        return f"<td{left}>{escape(cell)}</td>"
    text = f"<strong>{escape(cell.text)}</strong>" if cell.strong else escape(cell.text)
    hint = f' title="{escape(cell.hint, quote=True)}"' if cell.hint else ""
    if cell.shade is None:
        return f"<td{left}{hint}>{text}</td>"
    share = max(0.0, min(1.0, cell.shade))
    return f'<td class="fill" style="--share:{100 * share:.1f}%"{hint}>{text}</td>'
