"""Rounds of calls, each target in its turn, and what they add up to."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from foldaway.lab.proxy_bench.histories import Agent, Size
from foldaway.lab.proxy_bench.load import Timing, Work, drive
from foldaway.lab.proxy_bench.targets import DIRECT, Target
from foldaway.lab.results import percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One row of the table's frame."""

    size: Size
    connections: int
    rounds: int
    calls: int
    """Of each connection in a round."""
    stream: bool = False


@dataclass(slots=True, kw_only=True)
class Result:
    """One target in one cell. Times in seconds."""

    cell: Cell
    target: str
    rounds: list[list[Timing]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Of each round."""
    cpu_seconds: float = 0.0
    opening: list[Timing] = field(default_factory=list)
    """First calls of sessions, whose whole history is new. They are in none of the other figures."""
    rss_mb: float = 0.0

    @property
    def timings(self) -> list[Timing]:
        return [t for some in self.rounds for t in some]

    @property
    def failed(self) -> int:
        return sum(t.status != 200 for t in [*self.timings, *self.opening])

    @property
    def failures(self) -> dict[str, int]:
        """Statuses that are none of success, with how often they came."""
        return dict(sorted(Counter(str(t.status) for t in [*self.timings, *self.opening] if t.status != 200).items()))

    def percentile_ms(self, share: float, *, first_byte: bool = False) -> float:
        return 1000 * percentile([t.first_byte if first_byte else t.whole for t in self.timings], share)

    def opening_ms(self) -> float:
        return 1000 * percentile([t.whole for t in self.opening], 0.5)

    def calls_per_second(self) -> float:
        """The median over the rounds."""
        calls = self.cell.connections * self.cell.calls
        return median(calls / s for s in self.seconds) if self.seconds else 0.0

    def cpu_ms(self) -> float:
        """Processor time of the process for each call of the rounds."""
        calls = self.cell.connections * self.cell.calls * len(self.seconds)
        return 1000 * self.cpu_seconds / calls if calls else 0.0


def added_ms(result: Result, direct: Result, share: float, *, first_byte: bool = False) -> float:
    """By how much calls take longer than without anything between: the median over the rounds of the difference of
    their percentiles, since a round's two measurements stand close together."""

    def at(timings: Sequence[Timing]) -> float:
        return percentile([t.first_byte if first_byte else t.whole for t in timings], share)

    pairs = [(a, b) for a, b in zip(result.rounds, direct.rounds, strict=True) if a and b]
    return 1000 * median(at(a) - at(b) for a, b in pairs) if pairs else 0.0


def measure(cell: Cell, targets: Sequence[Target], progress: Callable[[str], None]) -> list[Result]:
    """All targets in one cell. Sessions are opened in front of a round, where those at hand are too long for it."""
    name = f"{cell.size.name}/{cell.connections}{'/stream' if cell.stream else ''}"
    agents = [Agent(cell.size, f"{name}/{n}", cell.stream) for n in range(cell.connections)]
    found = [Result(cell=cell, target=t.name) for t in targets]
    for number in range(cell.rounds):
        # In another order each time: nobody always comes behind the same.
        turn = number % len(targets)
        pairs = list(zip(found, targets, strict=True))
        pairs = [*pairs[turn:], *pairs[:turn]]
        if agents[0].room() < cell.calls:
            work = [[agent.opens()] for agent in agents]
            for result, target in pairs:
                progress(f"{name}, opening, {target.name}")
                result.opening += _timed(target, work, cell.size)[0]
        work = [[agent.goes_on() for _ in range(cell.calls)] for agent in agents]
        for result, target in pairs:
            progress(f"{name}, round {number + 1} of {cell.rounds}, {target.name}")
            before = target.child.cpu_seconds()
            timings, seconds = _timed(target, work, cell.size)
            result.cpu_seconds += target.child.cpu_seconds() - before
            result.rounds.append(timings)
            result.seconds.append(seconds)
    for result, target in zip(found, targets, strict=True):
        result.rss_mb = target.child.rss_mb()
    return found


def _timed(target: Target, work: Sequence[Work], size: Size) -> tuple[list[Timing], float]:
    with _no_garbage():
        return asyncio.run(drive(target.child.port, work, target.headers(size)))


class _no_garbage:
    """No collection of garbage in the measuring process meanwhile: it would stand in somebody's time."""

    def __enter__(self) -> None:
        gc.collect()
        gc.disable()

    def __exit__(self, *_: Any) -> None:
        gc.enable()


@dataclass(slots=True, kw_only=True)
class Weighing:
    """Memory of one target over many calls."""

    target: str
    calls: list[int] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    seconds: float = 0.0


def weigh(
    size: Size, target: Target, calls: int, progress: Callable[[str], None], *, connections: int = 8, every: int = 1_000
) -> Weighing:
    """Memory after every so many calls; sessions begin, grow and are left behind all the while."""
    found = Weighing(target=target.name, calls=[0], rss_mb=[target.child.rss_mb()])
    agents = [Agent(size, f"memory/{n}") for n in range(connections)]
    for done in range(every, calls + 1, every):
        work = [[_next(agent) for _ in range(every // connections)] for agent in agents]
        _, seconds = asyncio.run(drive(target.child.port, work, target.headers(size)))
        found.calls.append(done)
        found.rss_mb.append(target.child.rss_mb())
        found.seconds += seconds
        progress(f"memory, {target.name}: {done} calls, {found.rss_mb[-1]:.0f} MB")
    return found


def _next(agent: Agent) -> bytes:
    return agent.goes_on() if agent.room() else agent.opens()


def direct_of(results: Sequence[Result]) -> Result:
    return next(r for r in results if r.target == DIRECT)
