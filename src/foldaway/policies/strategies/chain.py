"""Strategies put together: a chain shares out the room, and a plan of chains says which one serves whom and when.

All of it can be written as plain data. A chain is a list of `"name:share"` (or `{"strategy": name, "share": 0.4, ...}`
with parameters of the strategy); each takes what it wants shown out of what those before it left, within its share of
the room and what they did not spend; what none of them takes is folded away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from foldaway.engine.planner import Proposal
from foldaway.engine.snapshot import Snapshot
from foldaway.errors import SettingsError
from foldaway.model.items import Level
from foldaway.model.plan import Change
from foldaway.policies.strategies._base import Allotment, Step, Strategy, candidates, in_place, step_tokens
from foldaway.policies.strategies.cleanup import Cleanup
from foldaway.policies.strategies.externalise import Externalise
from foldaway.policies.strategies.extraction import Extraction
from foldaway.policies.strategies.importance import Importance, ranked
from foldaway.policies.strategies.structuring import Structuring
from foldaway.policies.strategies.summaries import Summaries
from foldaway.policies.strategies.window import Window

STRATEGIES: Mapping[str, Callable[..., Strategy]] = MappingProxyType(
    {
        "window": Window,
        "importance": Importance,
        "summaries": Summaries,
        "extraction": Extraction,
        "cleanup": Cleanup,
        "externalise": Externalise,
        "structuring": Structuring,
    }
)
"""The library, by the names that data uses."""
ANY = "*"
"""Key of a plan for every phase, or every agent, that has none of its own."""
NOTE_HEAD = 150
"""Tokens of a fold note before its first line, and of a count that was a little off."""
WASTED = 0.05
"""Share of the room that may stay unused."""
LEAST_SHARE = 0.5
"""Share of the room that the strategies get in any case, out of the budget, when the last turn fills the rest."""


@dataclass(frozen=True, slots=True)
class Link:
    """One strategy and its share."""

    name: str
    strategy: Strategy
    share: float
    """Of the room, 0..1."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Strategies in the order in which they choose."""

    links: tuple[Link, ...]

    @property
    def text(self) -> str:
        """As data has it: `summaries:0.4 window:0.6`."""
        return " ".join(f"{link.name}:{link.share:g}" for link in self.links)

    def propose(self, snapshot: Snapshot) -> Iterator[Proposal]:
        """Every free step at the level that the first strategy to want it gives it; all others folded."""
        steps, room = candidates(snapshot), self._room(snapshot)
        shown: dict[int, Level] = {}
        proposals, spare = self._shared_out(snapshot, steps, room, 0, shown)
        if spare > room * WASTED:
            # The last ones had no use for all of theirs: the first ones choose again with that much more.
            shown = {}
            proposals, left = self._shared_out(snapshot, steps, room, spare, shown)
            spare = max(0, left - spare)
        yield from _latest([*proposals, *_made_whole(snapshot, steps, shown, spare)])
        for step in steps:
            for item in step.items:
                if step.visible and item.id not in shown:
                    yield Change(item=item.id, level=in_place(item), reason="no strategy has room for it")
        for number in snapshot.lines:
            if number not in shown:
                yield Change(item=number, level=Level.HIDDEN, reason="no strategy has room for its line")

    def _shared_out(
        self, snapshot: Snapshot, steps: Sequence[Step], room: int, spare: int, shown: dict[int, Level]
    ) -> tuple[list[Proposal], int]:
        """What the strategies want, and the tokens that none of them used. Fills `shown`."""
        left = list(steps)
        proposals: list[Proposal] = []
        for link in self.links:
            tokens = int(room * link.share) + spare
            share = Allotment(snapshot=snapshot, tokens=tokens, steps=left, shown=shown, left=tokens)
            proposals.extend(link.strategy.propose(snapshot, share))
            spare = max(0, share.left)
        return proposals, spare

    def _room(self, snapshot: Snapshot) -> int:
        """Tokens to share out: from the floor to the low watermark, less what is protected and what is handed in."""
        bound = {snapshot.item(i).turn for i in snapshot.protected if snapshot.level(i) is Level.RAW}
        held = sum(snapshot.turn_tokens(turn) for turn in bound) + snapshot.sections_tokens + NOTE_HEAD
        whole = max(0, snapshot.target_tokens - snapshot.floor_tokens)
        ceiling = snapshot.budget_tokens - snapshot.floor_tokens - held - NOTE_HEAD
        return max(0, min(ceiling, max(whole - held, int(whole * LEAST_SHARE))))


def _made_whole(snapshot: Snapshot, steps: Sequence[Step], shown: dict[int, Level], spare: int) -> Iterator[Change]:
    """Steps shown by digests or cleaned whose originals fit into what is left after all, the best worth first."""
    short = [s for s in steps if any(Level.STUB < shown.get(i.id, Level.RAW) < Level.RAW for i in s.items)]
    for step in ranked(snapshot, short):
        level = max(shown[i.id] for i in step.items if shown.get(i.id, Level.RAW) < Level.RAW)
        more = step.raw_tokens - step_tokens(snapshot, step, level)
        if more <= spare:
            spare -= more
            for item in step.items:
                shown[item.id] = Level.RAW
                yield Change(item=item.id, level=Level.RAW, reason="room enough for the original")


def _latest(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    """Of several changes of one item the last: a line that got its literals later."""
    last = {p.item: at for at, p in enumerate(proposals) if isinstance(p, Change)}
    return (p for at, p in enumerate(proposals) if not isinstance(p, Change) or last[p.item] == at)


@dataclass(frozen=True, slots=True)
class PerPhase:
    """A chain for each phase of the work."""

    chains: Mapping[str, Chain]

    def chain(self, phase: str) -> Chain | None:
        """That of the phase, else that of `*`; None where neither is there."""
        return self.chains.get(phase) or self.chains.get(ANY)


@dataclass(frozen=True, slots=True)
class PerAgent:
    """Chains by phase for each agent, by its name or role."""

    agents: Mapping[str, PerPhase]

    def of(self, agent: str) -> PerPhase | None:
        return self.agents.get(agent) or self.agents.get(ANY)


PHASES = frozenset({"plan", "explore", "act", "verify", "converse", ANY})


def chain_from(data: object, where: str) -> Chain:
    """A chain from plain data. Raises SettingsError that names `where` it stands and what is wrong with it."""
    if isinstance(data, Chain):
        return data
    if isinstance(data, str) or not isinstance(data, Sequence) or not data:
        raise SettingsError(f"{where}: expected a list of strategies such as ['summaries:0.4', 'window:0.6']")
    links = tuple(_link(entry, f"{where}, entry {number}") for number, entry in enumerate(data, 1))
    total = sum(link.share for link in links)
    if total > 1.0 + 1e-9:
        raise SettingsError(f"{where}: the shares sum up to {total:g}; they may not pass 1")
    return Chain(links)


def phases_from(data: object, where: str) -> PerPhase:
    """Chains by phase from plain data: `{"explore": [...], "*": [...]}`."""
    if not isinstance(data, Mapping):
        raise SettingsError(f"{where}: expected an object of phase: chain; phases are {', '.join(sorted(PHASES))}")
    for phase in data:
        if phase not in PHASES:
            raise SettingsError(f"{where}: no phase {phase!r}; there are {', '.join(sorted(PHASES))}")
    return PerPhase({phase: chain_from(chain, f"{where}, phase {phase!r}") for phase, chain in data.items()})


def agents_from(data: object, where: str) -> PerAgent:
    """Chains by agent and phase from plain data: `{"coder": {"act": [...]}, "*": {"*": [...]}}`."""
    if not isinstance(data, Mapping):
        raise SettingsError(f"{where}: expected an object of agent: {{phase: chain}}")
    return PerAgent({str(agent): phases_from(chains, f"{where}, agent {agent!r}") for agent, chains in data.items()})


def _link(entry: object, where: str) -> Link:
    if isinstance(entry, Link):
        return entry
    if isinstance(entry, Mapping):
        rest = {str(key): value for key, value in entry.items() if key not in ("strategy", "share")}
        return _made(entry.get("strategy"), entry.get("share"), rest, where)
    if isinstance(entry, str):
        name, _, share = entry.partition(":")
        try:
            return _made(name.strip(), float(share), {}, where)
        except ValueError:
            raise SettingsError(f"{where}: {entry!r} has no share; write it as {name}:0.4") from None
    raise SettingsError(f"{where}: {entry!r} is neither 'name:share' nor an object with strategy and share")


def _made(name: object, share: object, parameters: Mapping[str, Any], where: str) -> Link:
    make = STRATEGIES.get(name) if isinstance(name, str) else None
    if make is None or not isinstance(name, str):
        raise SettingsError(f"{where}: no strategy {name!r}; there are {', '.join(sorted(STRATEGIES))}")
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise SettingsError(f"{where}: share {share!r} of {name}; expected a number above 0, at most 1")
    known = {field.name: field.type for field in fields(make)}  # type: ignore[arg-type]
    for key, value in parameters.items():
        if key not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise SettingsError(f"{where}: {name} has no parameter {key!r}; it has {listed}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise SettingsError(f"{where}: {key} {value!r} of {name}; expected a number, 0 or above")
    return Link(name, make(**parameters), float(share))
