"""Annotation noise: how each policy degrades when what was declared is wrong.

Three ways of knowing what rests on what, under the same policy and budget: *declared* (annotations only, value reuse
switched off), *inferred* (value reuse only, kinds by the engine: nothing to be wrong, so one run) and *combined*. For
the two that annotations reach, one kind of mistake at a time, and all at once, at each rate.

Only the links of the graph are switched: anchors, and so the names in a fold note, stay with every policy in all
three. Annotations are made of the labels that judge the views; a perfect annotator therefore stands for the most that
declaring can give, not for what a real one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from foldaway.lab.annotations import Links, Noise, NoisyKinds, declared_links
from foldaway.lab.needs import label
from foldaway.lab.replay import ReplaySession, ReplayView, SessionMaker, foldaway_session, make_ruler, replay
from foldaway.lab.results import ReplayResult, Tally, pool
from foldaway.lab.ruler import Ruler
from foldaway.lab.table import aligned
from foldaway.linking.graph import Graph, Link, Provenance
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.session import Session

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
POLICIES = ("auto", "cwl", "lru", "window")
"""Those that follow links or kinds, and one that follows neither."""
RULE = "loose"


class Mode(StrEnum):
    DECLARED = "declared"
    INFERRED = "inferred"
    COMBINED = "combined"


class Mistake(StrEnum):
    KINDS = "kinds"
    MISSING = "missing"
    FALSE = "false"
    ALL = "all"

    def at(self, rate: float) -> Noise:
        """The noise that makes this mistake at a rate, and no other."""
        kinds, missing, false = (rate if self in (name, Mistake.ALL) else 0.0 for name in ("kinds", "missing", "false"))
        return Noise(kinds=kinds, missing=missing, false=false)


class OneSided(Graph):
    """A dependency graph that does not listen to links inferred from value reuse."""

    def add(self, link: Link) -> None:
        if link.provenance is Provenance.DECLARED:
            super().add(link)


@dataclass(slots=True)
class Annotated:
    """A session that declares, with each answer that comes in, what it rested on."""

    session: Session
    links: Links
    _seen: int = 0

    def append(self, messages: Sequence[Message], origins: Sequence[str] = ()) -> None:
        self.session.append(messages, origins)
        first, self._seen = self._seen, self._seen + len(messages)
        for position in range(first, self._seen):
            targets = [i for at in self.links.needs.get(position, ()) for i in self.session.items_of(at)]
            for item in self.session.items_of(position) if targets else ():
                self.session.link(item, targets)

    def view(self) -> ReplayView:
        return self.session.view()

    def items_of(self, position: int) -> Sequence[int]:
        return self.session.items_of(position)


def annotating(links: Links, noise: Noise, mode: Mode, make: SessionMaker = foldaway_session) -> SessionMaker:
    """A maker of sessions that are annotated in this mode.

    `make` must make a `foldaway.Session`: its classification and graph are replaced before anything is appended.
    """

    def made(recorded: Recorded, policy: str, budget: int) -> ReplaySession:
        session = make(recorded, policy, budget)
        if mode is Mode.INFERRED:
            return session
        if not isinstance(session, Session):
            raise TypeError(f"{type(session).__name__} takes no annotations; expected a foldaway.Session")
        log = session.engine.log
        log.kinds = NoisyKinds(noise)
        if mode is Mode.DECLARED:
            log.graph = OneSided()
        return Annotated(session, links)

    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRow:
    """All sessions under one policy, mode, mistake and rate."""

    policy: str
    mode: str
    mistake: str
    """Empty where nothing can be wrong."""
    rate: float
    steps: Tally
    """Steps with needs (rule `RULE`)."""
    strict: Tally
    bill_share: float
    """Of the full history's bill."""
    mean_tokens: float
    true_links: int
    false_links: int
    failed: int
    """Sessions that broke off and are not in the row."""


Progress = Callable[[int, int, str], None]


def noise_run(
    recordings: Sequence[Recorded],
    policies: Sequence[str] = POLICIES,
    budget: int = 16_000,
    *,
    rates: Sequence[float] = RATES,
    mistakes: Sequence[Mistake] = tuple(Mistake),
    progress: Progress | None = None,
) -> list[NoiseRow]:
    """Replay every recording under every policy, mode, mistake and rate. Deterministic.

    Rate 0 is run once a mode and stands in the rows of each mistake. Each session is labelled and measured once.
    """
    rulers = [make_ruler(recorded, label(recorded)) for recorded in recordings]
    cells = [(p, mode, mistake, rate) for p in policies for mode, mistake, rate in _grid(mistakes, rates)]
    done: dict[tuple[str, Mode, Noise], NoiseRow] = {}
    rows = []
    for number, (policy, mode, mistake, rate) in enumerate(cells, 1):
        noise = mistake.at(rate) if mistake else Noise()
        key = (policy, mode, noise)
        if key not in done:
            done[key] = _row(rulers, policy, budget, mode, noise)
        rows.append(_named(done[key], mistake, rate))
        if progress:
            progress(number, len(cells), f"{policy} {mode} {mistake or ''} {rate}")
    return rows


def _grid(mistakes: Sequence[Mistake], rates: Sequence[float]) -> Iterator[tuple[Mode, Mistake | None, float]]:
    yield Mode.INFERRED, None, 0.0
    for mode in (Mode.DECLARED, Mode.COMBINED):
        for mistake in mistakes:
            for rate in rates:
                yield mode, mistake, rate


def _row(rulers: Sequence[Ruler], policy: str, budget: int, mode: Mode, noise: Noise) -> NoiseRow:
    results: list[ReplayResult] = []
    true = false = 0
    for ruler in rulers:
        links = declared_links(ruler.recorded, ruler.labels, noise)
        true, false = true + links.true, false + links.false
        make = annotating(links, noise, mode)
        results.append(replay(ruler.recorded, policy, budget, ruler=ruler, make=make))
    total = next(iter(pool(results)), ReplayResult(session="", policy=policy, budget_tokens=budget))
    declares = mode is not Mode.INFERRED
    return NoiseRow(
        policy=policy,
        mode=mode.value,
        mistake="",
        rate=0.0,
        steps=total.steps.get(RULE, Tally()),
        strict=total.steps.get("strict", Tally()),
        bill_share=total.bill.share_of(total.full_bill),
        mean_tokens=total.mean_tokens,
        true_links=true if declares else 0,
        false_links=false if declares else 0,
        failed=sum(bool(r.error) for r in results),
    )


def _named(row: NoiseRow, mistake: Mistake | None, rate: float) -> NoiseRow:
    return replace(row, mistake=mistake.value if mistake else "", rate=rate)


LEGEND = (
    "Each cell: % of steps with needs for which all stood in the view / bill in % of the full history's.\n"
    "declared: links from annotations only; inferred: from value reuse only, nothing annotated; combined: both.\n"
    "Annotations come from the labels that judge the views, of past steps only: 0 is the most declaring can give."
)


def noise_table(rows: Sequence[NoiseRow]) -> str:
    """A line for each policy, mode and mistake; a column for each rate."""
    rates = sorted({row.rate for row in rows})
    lines = [["policy", "mode", "wrong", *(f"{100 * rate:.0f} %" for rate in rates)]]
    cells = {(row.policy, row.mode, row.mistake, row.rate): _cell(row) for row in rows}
    for key in dict.fromkeys((row.policy, row.mode, row.mistake) for row in rows):
        lines.append([key[0], key[1], key[2] or "-", *(cells.get((*key, rate), "") for rate in rates)])
    return f"{aligned(lines, left=3)}\n\n{LEGEND}"


def _cell(row: NoiseRow) -> str:
    failed = f" ({row.failed} failed)" if row.failed else ""
    return f"{100 * (row.steps.visible_rate or 0.0):.1f} / {100 * row.bill_share:.1f}{failed}"


def noise_rows(rows: Sequence[NoiseRow]) -> list[dict[str, Any]]:
    """The rows as JSON data; shares are 0 to 1."""
    return [{**asdict(row), "visible_rate": row.steps.visible_rate} for row in rows]


def noise_series(rows: Sequence[NoiseRow]) -> dict[str, list[tuple[float, float]]]:
    """For a plot: "policy mode mistake" -> (rate, visible rate)."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        name = " ".join(filter(None, (row.policy, row.mode, row.mistake)))
        series.setdefault(name, []).append((row.rate, row.steps.visible_rate or 0.0))
    return series
