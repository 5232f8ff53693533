"""What digests keep: of a tool result shown in a part of its tokens, the needs that the raw text would have served.

A need belongs to a result when a later action used a literal that this result was the newest to show (see `needs`);
each literal counts once for a result. All arms get the same tokens for the same result, counted by one counter: where
a text takes more or much less than its share, it is made anew. A count of what stands in a digest says nothing
about what a model makes of it.
"""

from __future__ import annotations

import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from foldaway.compressors.base import Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.registry import Registry, digest
from foldaway.lab.digest_arms import ARMS, FOLDAWAY, HEAD_AND_TAIL, Arm, peer_text
from foldaway.lab.experiment.sources import Input
from foldaway.lab.finder import Finder
from foldaway.lab.needs import LabelCache
from foldaway.lab.replay import VERBATIM
from foldaway.lab.timeline import Said, Voice, timeline
from foldaway.model.wire import PartType
from foldaway.tokens import get_counter

MIN_CHARS = 2_000
"""Results that are longer are measured."""
SHARES = (0.125, 0.25, 0.5)
RULES = ("all", "values", "lines")
"""all needs; values: without passages (whole lines of edits, quoted strings); lines: whole lines alone."""
ALL = "all classes"
MIN_NEEDS = 20
"""A class with fewer needs is not named as the worst."""
ZLIB_LEVEL = 6
_TRIES = 4
_ENOUGH = 0.97
"""Of the tokens there are; a text that takes less is made anew with more room."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One long result of a recorded session."""

    session: str
    source: str
    half: str
    """Whether constants were fitted on recordings from its source, in the words of `experiment.sources`."""
    content: str
    """Name of the compressor that takes it."""
    text: str
    hint: Hint
    needs: Mapping[str, str] = field(default_factory=dict)
    """Literal -> its kind."""


@dataclass(frozen=True, slots=True)
class Key:
    """Which results, shown how."""

    shown: str
    """Share of the tokens ("0.25"), or the peer whose tokens were given to all arms."""
    arm: str
    half: str
    content: str


@dataclass(slots=True)
class Cell:
    """Results that were shown the same way, added up."""

    results: int = 0
    raw_tokens: int = 0
    tokens: int = 0
    needs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))
    kept: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))

    def add(self, sample: Sample, raw_tokens: int, tokens: int, found: frozenset[int]) -> None:
        self.results += 1
        self.raw_tokens += raw_tokens
        self.tokens += tokens
        for index, kind in enumerate(sample.needs.values()):
            for rule in _rules(kind):
                self.needs[rule] += 1
                self.kept[rule] += index in found

    def rate(self, rule: str) -> float | None:
        return self.kept[rule] / self.needs[rule] if self.needs[rule] else None


@dataclass(frozen=True, slots=True)
class Checks:
    """What must hold for every digest, at a quarter of the characters."""

    digests: int
    made_up: tuple[tuple[str, tuple[str, ...]], ...]
    """(session, literals that the source does not hold) of each digest with any."""
    too_long: int
    """Digests longer than their room."""


@dataclass(frozen=True, slots=True)
class Speed:
    """One run over all results of a class, in this process; the three take turns text by text, so that whatever else
    the machine does meanwhile slows them alike."""

    content: str
    megabytes: float
    """UTF-8, millions of bytes."""
    seconds: float
    """Processor time of the digests."""
    plain_seconds: float
    """The same for head and tail."""
    zlib_seconds: float
    """The same for zlib at level `ZLIB_LEVEL`: what a rate is worth on this machine."""


@dataclass(frozen=True, slots=True)
class DigestReport:
    shares: tuple[float, ...]
    cells: Mapping[Key, Cell]
    checks: Checks
    speeds: tuple[Speed, ...]
    peers: tuple[str, ...]
    """Peers that were measured."""
    share: float
    """The one that classes are compared at."""


def samples(inputs: Iterable[Input], labels: LabelCache | None = None, *, labelled: bool = True) -> list[Sample]:
    """The results of more than `MIN_CHARS` characters; where `labelled`, with what later actions took from them."""
    cache = labels or LabelCache()
    registry = Registry()
    found: list[Sample] = []
    for one in inputs:
        said = timeline(one.recorded)
        needs = _needs_of(cache, one) if labelled else {}
        for part, hint in _results(said):
            text = said[part].text
            found.append(
                Sample(
                    session=one.recorded.name,
                    source=one.source,
                    half=one.half,
                    text=text,
                    hint=hint,
                    content=registry.content(text, hint),
                    needs=needs.get(part, {}),
                )
            )
    return found


def _needs_of(cache: LabelCache, one: Input) -> dict[int, dict[str, str]]:
    """Number of a part -> what later actions took from it, with its kind."""
    known = cache.get(one.recorded)
    needs: dict[int, dict[str, str]] = {}
    for step in known.needs:
        for need in step:
            needs.setdefault(need.supplier, {})[known.literals[need.literal]] = str(need.kind)
    return needs


def _results(said: Sequence[Said]) -> Iterator[tuple[int, Hint]]:
    calls = {part.call_id: part for part in said if part.type is PartType.CALL}
    for number, part in enumerate(said):
        if part.voice is Voice.OBSERVED and len(part.text) > MIN_CHARS:
            call = calls.get(part.call_id) if part.call_id else None
            arguments = call.arguments if call is not None and isinstance(call.arguments, Mapping) else None
            yield number, Hint(tool=call.name if call is not None else "", arguments=arguments)


def measure(
    found: Sequence[Sample],
    *,
    shares: Sequence[float] = SHARES,
    share: float = 0.25,
    arms: Sequence[Arm] = ARMS,
    peers: Sequence[str] = (),
    count: Count | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> DigestReport:
    """Make every sample short in every way and count. Tokens by `count`, by default the estimate for Claude.

    Deterministic but for the seconds in `speeds`.
    """
    count = count or get_counter("", "anthropic_messages").count
    wanted = tuple(sorted({*shares, share}))
    cells: defaultdict[Key, Cell] = defaultdict(Cell)
    needed = [sample for sample in found if sample.needs]
    for done, sample in enumerate(needed, 1):
        _measure_one(sample, wanted, arms, peers, count, cells)
        if progress is not None and (done % 100 == 0 or done == len(needed)):
            progress(done, len(needed), sample.session)
    return DigestReport(wanted, dict(cells), _checked(found), speeds_of(found), tuple(peers), share)


def _measure_one(
    sample: Sample,
    shares: Sequence[float],
    arms: Sequence[Arm],
    peers: Sequence[str],
    count: Count,
    cells: defaultdict[Key, Cell],
) -> None:
    finder = Finder(sample.needs)
    raw = count(sample.text)

    def note(shown: str, arm: str, tokens: int, text: str) -> None:
        held = finder.find(text)
        for half in (sample.half, ""):
            for content in (sample.content, ALL):
                cells[Key(shown, arm, half, content)].add(sample, raw, tokens, held)

    for share in shares:
        for arm in arms:
            text, tokens = shortened(arm, sample, int(raw * share), raw, count)
            note(f"{share:g}", arm.name, tokens, arm.read(text))
    for peer in peers:
        told = peer_text(peer, sample.text, sample.hint, "")
        if told is None:
            continue
        limit = count(told)
        note(peer, peer, limit, told)
        for arm in (FOLDAWAY, HEAD_AND_TAIL):
            text, tokens = shortened(arm, sample, limit, raw, count)
            note(peer, arm.name, tokens, arm.read(text))


def shortened(arm: Arm, sample: Sample, limit: int, raw: int, count: Count) -> tuple[str, int]:
    """The text an arm makes of a sample within `limit` of its `raw` tokens, and what it takes."""
    room = int(len(sample.text) * limit / max(1, raw))
    best: tuple[str, int] | None = None
    text, tokens = "", 0
    for _ in range(_TRIES):
        text = arm.cut(sample.text, sample.hint, room)
        tokens = count(text)
        if tokens <= limit and (best is None or tokens > best[1]):
            best = text, tokens
        if _ENOUGH * limit <= tokens <= limit:
            break
        room = int(room * min(2.0, 0.99 * limit / max(1, tokens)))
    return best or (text, tokens)


def _rules(kind: str) -> tuple[str, ...]:
    if kind not in VERBATIM:
        return ("all", "values")
    return ("all", "lines") if kind == "line" else ("all",)


def _checked(found: Sequence[Sample]) -> Checks:
    made_up: list[tuple[str, tuple[str, ...]]] = []
    too_long = 0
    for sample in found:
        room = len(sample.text) // 4
        text = digest(sample.text, sample.hint, room).text
        too_long += len(text) > room
        if literals := unsupported(text, sample.text):
            made_up.append((sample.session, literals))
    return Checks(len(found), tuple(made_up), too_long)


def speeds_of(found: Sequence[Sample]) -> tuple[Speed, ...]:
    """Class by class, then all together; digests at a quarter of the characters. () where there is nothing."""
    by_class: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in found:
        by_class[sample.content].append(sample)
    speeds = [_speed(content, group) for content, group in sorted(by_class.items())]
    if speeds:
        totals = (sum(getattr(speed, name) for speed in speeds) for name in _SUMMED)
        speeds.append(Speed(ALL, *totals))
    return tuple(speeds)


_SUMMED = ("megabytes", "seconds", "plain_seconds", "zlib_seconds")


def _speed(content: str, group: Sequence[Sample]) -> Speed:
    size, seconds = 0, [0.0, 0.0, 0.0]
    for sample in group:
        raw = sample.text.encode("utf-8", "surrogatepass")
        size += len(raw)
        room = len(sample.text) // 4
        times = [time.process_time()]
        for arm in (FOLDAWAY, HEAD_AND_TAIL):
            arm.cut(sample.text, sample.hint, room)
            times.append(time.process_time())
        zlib.compress(raw, ZLIB_LEVEL)
        times.append(time.process_time())
        seconds = [known + after - before for known, (before, after) in zip(seconds, pairwise(times), strict=True)]
    return Speed(content, size / 1e6, *seconds)
