"""Charts as inline SVG: no script needed, sharp on paper, colours from the page's style."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from foldaway.lab.experiment.report.axis import Axis, make_axis, written
from foldaway.lab.experiment.report.palette import Look
from foldaway.lab.experiment.report.section import DotPlot, LineChart, Series, Unit

CHAR = 6.6
"""Width of a character of the labels, in pixels."""
LINE = 15
"""Least distance between two labels below each other."""
NAME_CHARS = 40
MOST_DOTS = 60
"""A line of more points is drawn without dots."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The drawing area inside a picture."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


def line_chart(chart: LineChart, looks: Mapping[str, Look]) -> str:
    """A chart with its lines named at their ends."""
    names = max((len(series.name) for series in chart.series), default=0)
    right = int(min(names, NAME_CHARS) * CHAR) + 28
    frame = Frame(470, 300, 62, right, 10, 44) if chart.small else Frame(900, 440, 60, right, 12, 48)
    points = [point for series in chart.series for point in series.points]
    x = make_axis([p[0] for p in points], frame.left, frame.width - frame.right, chart.x_unit)
    y = make_axis(
        [p[1] for p in points], frame.height - frame.bottom, frame.top, chart.y_unit, from_zero=chart.y_from_zero
    )
    inside = [*_axes(frame, x, y, chart)]
    # The strong lines are drawn last: in front.
    for series in sorted(chart.series, key=lambda s: s.strong):
        inside.append(_series(series, looks[series.name], x, y))
    inside += _names(chart.series, looks, x, y)
    return _picture(frame, chart.title, inside)


def _axes(frame: Frame, x: Axis, y: Axis, chart: LineChart) -> Iterator[str]:
    bottom, right = frame.height - frame.bottom, frame.width - frame.right
    for tick in y.ticks():
        at = y.place(tick)
        yield f'<line class="grid" x1="{frame.left}" x2="{right}" y1="{at}" y2="{at}"/>'
        told = written(tick, y.unit)
        yield f'<text class="tick" text-anchor="end" x="{frame.left - 7}" y="{at + 4:.1f}">{told}</text>'
    names = {float(n): escape(name) for n, name in enumerate(chart.x_names)}
    names = names or {tick: written(tick, x.unit) for tick in x.ticks(7)}
    for tick, told in names.items():
        at = x.place(tick)
        yield f'<line class="grid" x1="{at}" x2="{at}" y1="{frame.top}" y2="{bottom}"/>'
        yield f'<text class="tick" text-anchor="middle" x="{at}" y="{bottom + 17}">{told}</text>'
    yield f'<path class="axis" d="M{frame.left} {frame.top}V{bottom}H{right}"/>'
    middle = f'x="{(frame.left + right) / 2:.1f}" y="{frame.height - 8}"'
    yield f'<text class="label" text-anchor="middle" {middle}>{escape(chart.x_label)}</text>'
    turned = f'transform="translate(14 {(frame.top + bottom) / 2:.1f}) rotate(-90)"'
    yield f'<text class="label" text-anchor="middle" {turned}>{escape(chart.y_label)}</text>'


def _series(series: Series, look: Look, x: Axis, y: Axis) -> str:
    places = [(x.place(px), y.place(py)) for px, py in series.points]
    path = "M" + "L".join(f"{px:g} {py:g}" for px, py in places) if places else ""
    kind = "bound" if series.bound else "strong" if series.strong else "plain"
    dots = []
    if not series.bound and len(places) <= MOST_DOTS:
        hints = [*series.hints, *[""] * len(places)]
        for (px, py), (vx, vy), hint in zip(places, series.points, hints, strict=False):
            told = hint or f"{series.name}: {written(vx, x.unit)}, {written(vy, y.unit)}"
            dots.append(dot(look, px, py, told, 5.0 if series.strong else 3.6))
    name = escape(series.name, quote=True)
    return f'<g class="series {look.css} {kind}" data-name="{name}"><path class="line" d="{path}"/>{"".join(dots)}</g>'


def dot(look: Look, x: float, y: float, hint: str, size: float) -> str:
    """One dot in the shape of its name."""
    s, d = size, size * 1.3
    shapes = {
        "circle": f"M{x - s:.1f} {y:.1f}a{s} {s} 0 1 0 {2 * s} 0a{s} {s} 0 1 0 {-2 * s} 0z",
        "square": f"M{x - s:.1f} {y - s:.1f}h{2 * s}v{2 * s}h{-2 * s}z",
        "diamond": f"M{x:.1f} {y - d:.1f}L{x + d:.1f} {y:.1f}L{x:.1f} {y + d:.1f}L{x - d:.1f} {y:.1f}z",
        "triangle": f"M{x:.1f} {y - d:.1f}L{x + d:.1f} {y + s:.1f}L{x - d:.1f} {y + s:.1f}z",
        "cross": f"M{x - s:.1f} {y - s:.1f}L{x + s:.1f} {y + s:.1f}M{x + s:.1f} {y - s:.1f}L{x - s:.1f} {y + s:.1f}",
        "plus": f"M{x - d:.1f} {y:.1f}H{x + d:.1f}M{x:.1f} {y - d:.1f}V{y + d:.1f}",
    }
    return f'<path class="dot {look.shape}" d="{shapes[look.shape]}"><title>{escape(hint)}</title></path>'


def _names(series: Sequence[Series], looks: Mapping[str, Look], x: Axis, y: Axis) -> Iterator[str]:
    """The name of each line beside its right end, moved apart where they would cover each other."""
    ends = [(max(one.points), one) for one in series if one.points]
    ordered = sorted(((y.place(end[1]), x.place(end[0]), one) for end, one in ends), key=lambda e: (e[0], e[2].name))
    places = spread([place for place, _, _ in ordered], LINE, y.end + 4, y.start)
    for (at, from_x, one), place in zip(ordered, places, strict=True):
        look, name = looks[one.name], escape(one.name, quote=True)
        right = x.end + 14
        lead = f'<path class="leader" d="M{from_x + 5:.1f} {at:.1f}L{x.end + 2:.1f} {place:.1f}H{right - 3:.1f}"/>'
        weight = " strong" if one.strong else ""
        text = f'<text class="name{weight}" x="{right:.1f}" y="{place + 4:.1f}">{escape(one.name[:NAME_CHARS])}</text>'
        yield f'<g class="series {look.css}" data-name="{name}">{lead}{text}</g>'


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending places, moved so that they are `gap` apart, and between low and high where that has the room."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, low, moved[-1] + gap if moved else low))
    limit = high
    for number in range(len(moved) - 1, -1, -1):
        moved[number] = min(moved[number], limit)
        limit = moved[number] - gap
    return moved


def dot_plot(plot: DotPlot, looks: Mapping[str, Look]) -> str:
    """One line a row, a dot for each name."""
    labels = max((len(row.label) for row in plot.rows), default=0)
    left = int(min(labels, NAME_CHARS) * CHAR) + 16
    frame = Frame(900, 26 + 19 * len(plot.rows) + 40, left, 24, 8, 44)
    values = [value for row in plot.rows for _, value in row.values]
    also = [] if plot.reference is None else [plot.reference]
    x = make_axis([*values, *also], frame.left, frame.width - frame.right, Unit.NUMBER, from_zero=True)
    x = Axis(x.low, x.high, x.start, x.end, plot.x_unit)
    inside = [*_plot_frame(plot, frame, x)]
    for number, row in enumerate(plot.rows):
        y = frame.top + 14 + 19 * number
        inside.append(f'<line class="grid" x1="{frame.left}" x2="{frame.width - frame.right}" y1="{y}" y2="{y}"/>')
        label = row.label if len(row.label) <= NAME_CHARS else row.label[: NAME_CHARS - 1] + "…"
        inside.append(f'<text class="tick" text-anchor="end" x="{frame.left - 8}" y="{y + 4}">{escape(label)}</text>')
        for name, value in sorted(row.values, key=lambda v: v[0] in plot.strong):
            hint = f"{row.label}, {name}: {written(value, plot.x_unit)}"
            weight = "strong" if name in plot.strong else "plain"
            drawn = dot(looks[name], x.place(value), y, hint, 5.0 if weight == "strong" else 3.4)
            data = escape(name, quote=True)
            inside.append(f'<g class="series {looks[name].css} {weight}" data-name="{data}">{drawn}</g>')
    return _picture(frame, plot.title, inside)


def _plot_frame(plot: DotPlot, frame: Frame, x: Axis) -> Iterator[str]:
    bottom = frame.height - frame.bottom
    for tick in x.ticks(8):
        at = x.place(tick)
        yield f'<line class="grid" x1="{at}" x2="{at}" y1="{frame.top}" y2="{bottom}"/>'
        yield f'<text class="tick" text-anchor="middle" x="{at}" y="{bottom + 17}">{written(tick, x.unit)}</text>'
    if plot.reference is not None:
        at = x.place(plot.reference)
        yield f'<line class="axis" x1="{at}" x2="{at}" y1="{frame.top}" y2="{bottom}"/>'
    middle = (frame.left + frame.width - frame.right) / 2
    label = escape(plot.x_label)
    yield f'<text class="label" text-anchor="middle" x="{middle:.1f}" y="{frame.height - 8}">{label}</text>'


def _picture(frame: Frame, title: str, inside: Sequence[str]) -> str:
    told = escape(title, quote=True)
    size = f'viewBox="0 0 {frame.width} {frame.height}" style="max-width:{frame.width}px"'
    return f'<svg {size} role="img" aria-label="{told}">{"".join(inside)}</svg>'
