"""Tuning by sweeps: one parameter after the other, each at the best value found for those before it (S3.6).

Recorded sessions are replayed for each value; the curve is the table. The best value is the one with most steps whose
needs all stood in the view; where several are as good within `TIE`, the one that sends fewest tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.errors import SettingsError
from foldaway.lab.replay import ReplaySession, make_ruler, replay
from foldaway.lab.results import ReplayResult, Tally, pool
from foldaway.lab.table import aligned
from foldaway.model.recorded import Recorded
from foldaway.session import Session

TIE = 0.002
"""Shares of steps closer than this are the same: a few steps more or less are chance."""
OF_SESSION = frozenset({"low_share", "high_share", "reserve_share"})
"""Parameters that are the session's, not the policy's."""

Value = float | int | str | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One parameter and the values to try, in order."""

    name: str
    values: tuple[Value, ...]


LAYERED_AXES = (
    Axis(name="window", values=(2, 3, 5, 8)),
    Axis(name="interval", values=(3, 4, 5)),
    Axis(name="top_k", values=(1, 2, 4, 8)),
    Axis(name="reserve_share", values=(0.1, 0.15, 0.2)),
)
"""Window size, update interval, top-k and reserve, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One value on one curve."""

    axis: str
    value: Value
    settings: Mapping[str, Value]
    """All parameters that were set."""
    result: ReplayResult
    """Pooled over the sessions."""
    best: bool = False

    @property
    def steps(self) -> Tally:
        return self.result.steps.get("loose", Tally())

    @property
    def share(self) -> float:
        """Of steps with needs, those whose needs all stood in the view."""
        return self.steps.visible_rate or 0.0

    @property
    def per_1000(self) -> float:
        """Needs in view per 1,000 prompt tokens."""
        seen = sum(tally.visible for tally in self.result.needs_by_kind.get("loose", {}).values())
        return 1000 * seen / self.result.total_tokens if self.result.total_tokens else 0.0


def sweep(
    recordings: Sequence[Recorded], policy: str, budget: int, axes: Sequence[Axis],
    *, progress: Callable[[int, int, str], None] | None = None,
) -> list[Point]:  # fmt: skip
    """All points, axis by axis. Raises SettingsError for a parameter that the policy does not have."""
    rulers = [make_ruler(recorded) for recorded in recordings]
    chosen: dict[str, Value] = {}
    points: list[Point] = []
    total, done = sum(len(axis.values) for axis in axes), 0
    for axis in axes:
        curve: list[Point] = []
        for value in axis.values:
            settings = {**chosen, axis.name: value}
            make = _maker(settings)
            make(recordings[0], policy, budget)  # a parameter that does not exist is told of before the long work
            runs = [replay(r, policy, budget, ruler=m, make=make) for r, m in zip(recordings, rulers, strict=True)]
            pooled = pool(runs)
            if not pooled:
                raise SettingsError(f"{axis.name}={value}: no session ran through: {runs[0].error}")
            curve.append(Point(axis=axis.name, value=value, settings=settings, result=pooled[0]))
            done += 1
            if progress is not None:
                progress(done, total, f"{axis.name}={value}")
        best = best_of(curve)
        chosen[axis.name] = best.value
        points += [_marked(point, point is best) for point in curve]
    return points


def best_of(curve: Sequence[Point]) -> Point:
    """Most steps served; among equals within `TIE` the fewest tokens, then the first."""
    top = max(point.share for point in curve)
    near = [point for point in curve if point.share >= top - TIE]
    return min(near, key=lambda point: point.result.mean_tokens)


def sweep_table(points: Sequence[Point]) -> str:
    head = ["parameter", "value", "all%", "per 1000", "mean", "peak%", "bill%", "commits", ""]
    rows = [
        [
            p.axis, str(p.value), f"{100 * p.share:.2f}", f"{p.per_1000:.3f}", f"{p.result.mean_tokens:.0f}",
            f"{100 * p.result.peak_tokens / p.result.budget_tokens:.1f}",
            f"{100 * p.result.bill.share_of(p.result.full_bill):.1f}", str(p.result.commits), "best" if p.best else "",
        ]
        for p in points
    ]  # fmt: skip
    legend = (
        "each parameter at the best values of those above it. all%: steps with needs for which every need stood in\n"
        "the view; per 1000: needs in view for 1,000 prompt tokens; bill%: of the full history's. Equal within "
        f"{100 * TIE:g}\npoints: the fewer tokens win."
    )
    return "\n".join([aligned([head, *rows], left=2), legend])


def sweep_rows(points: Sequence[Point]) -> list[dict[str, Any]]:
    return [
        {
            "parameter": p.axis, "value": p.value, "settings": dict(p.settings), "best": p.best,
            "steps": p.steps.total, "visible_share": round(p.share, 6), "needs_per_1000": round(p.per_1000, 6),
            "mean_tokens": round(p.result.mean_tokens, 1), "peak_tokens": p.result.peak_tokens,
            "bill_share": round(p.result.bill.share_of(p.result.full_bill), 6), "commits": p.result.commits,
        }
        for p in points
    ]  # fmt: skip


def parse_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """`window=2,3,5` -> an axis. Raises SettingsError for what is none."""
    axes = []
    for text in texts:
        name, mark, listed = text.partition("=")
        values = tuple(_value(v.strip()) for v in listed.split(",") if v.strip())
        if not name.strip() or not mark or not values:
            raise SettingsError(f"--parameter {text!r}: expected NAME=VALUE,VALUE, as in window=2,3,5")
        axes.append(Axis(name=name.strip(), values=values))
    return tuple(axes)


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _marked(point: Point, best: bool) -> Point:
    return Point(axis=point.axis, value=point.value, settings=point.settings, result=point.result, best=best)


def _maker(settings: Mapping[str, Value]) -> Callable[[Recorded, str, int], ReplaySession]:
    own: dict[str, Any] = {k: v for k, v in settings.items() if k in OF_SESSION}
    parameters = {k: v for k, v in settings.items() if k not in OF_SESSION}

    def make(recorded: Recorded, policy: str, budget: int) -> ReplaySession:
        return Session(
            format=recorded.format, budget=budget, policy=policy, policy_parameters=parameters, model=recorded.model,
            system=recorded.system, tools=recorded.tools, fixed_over_budget="send", **own,
        )  # fmt: skip

    return make
