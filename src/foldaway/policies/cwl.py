"""Structured eviction by episodes: acts before explorations, evidence only after what rests on it, graduated.

Source: Semenov and Dorofeev, "Beyond Compaction: Structured Context Eviction", arXiv 2606.11213, section 4.4, with the
repairs its reference code lacks: the act-before-explore order is real, the agent's description of an exploration
survives it, text outside any episode is an exploration with unknown dependencies and goes last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.episodes import Episode, EpisodeType
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change
from foldaway.policies._turns import IN_PLACE, fold, foldable_turns

BULK = frozenset({Kind.LISTING, Kind.SEARCH})
INTERMEDIATE = frozenset({Kind.READ, Kind.COMMAND, Kind.RESULT, Kind.ERROR})
STRONG = 0.5
"""An observed link at least this strong into an unfinished act keeps what it points to."""


@dataclass(frozen=True, slots=True)
class Cwl:
    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        groups = self._groups(snapshot)
        alive = {e.number for e, _ in groups}
        pending = sorted(groups, key=lambda g: (g[0].type is EpisodeType.EXPLORE, g[0].number))
        while pending:
            ready = [g for g in pending if not self._dependents(snapshot, g[0], alive)]
            # Everything left rests on each other or on open work: utility is all that is left, oldest first.
            episode, items = (ready or pending)[0]
            yield from self._graduated(snapshot, episode, items, safe=bool(ready))
            alive.discard(episode.number)
            pending = [g for g in pending if g[0].number != episode.number]
        loose = [t for t in foldable_turns(snapshot) if snapshot.episode(t[0]) is None]
        for turn in loose:
            yield from fold(turn, Level.STUB, "outside any episode: exploration with unknown dependencies")
        current = [t for t in foldable_turns(snapshot) if (e := snapshot.episode(t[0])) is not None and e.open]
        for turn in current:
            yield from fold(turn, Level.STUB, "open episode without annotation, oldest first")

    def _groups(self, snapshot: Snapshot) -> list[tuple[Episode, list[Item]]]:
        found: dict[int, tuple[Episode, list[Item]]] = {}
        for item in snapshot.foldable:
            episode = snapshot.episode(item)
            if episode is not None and not episode.open and snapshot.level(item.id) > Level.STUB:
                found.setdefault(episode.number, (episode, []))[1].append(item)
        return [found[n] for n in sorted(found)]

    def _dependents(self, snapshot: Snapshot, episode: Episode, alive: set[int]) -> bool:
        """Whether an act still in sight, or open work, rests on this episode."""
        for other in snapshot.episodes.all[episode.number + 1 :]:
            if episode.number in other.depends_on and (other.number in alive or other.open):
                return True
        if episode.type is EpisodeType.ACT:
            return False
        for turn in range(episode.first_turn, episode.last_turn + 1):
            for item in snapshot.turn_items(turn):
                for link in snapshot.graph.needed_by(item.id):
                    user = snapshot.episode(snapshot.item(link.source))
                    if link.weight < STRONG or user is None or user.number == episode.number:
                        continue
                    if user.open or (user.type is EpisodeType.ACT and user.number in alive):
                        return True
        return False

    def _graduated(self, snapshot: Snapshot, episode: Episode, items: list[Item], *, safe: bool) -> Iterator[Change]:
        name = episode.name or f"{episode.type.value} {episode.number}"
        why = f"{name}: {'finished, nothing in sight rests on it' if safe else 'nothing is safe, oldest first'}"
        if episode.type is EpisodeType.EXPLORE:
            for item in items:
                if item.kind is Kind.REASONING:
                    yield Change(item=item.id, level=Level.STUB, reason=f"{why}; reasoning")
        for kinds, label in ((BULK, "bulk listing"), (INTERMEDIATE, "intermediate output")):
            for item in items:
                if item.kind in kinds and snapshot.level(item.id) > Level.ABSTRACT:
                    yield Change(item=item.id, level=Level.ABSTRACT, reason=f"{why}; {label}")
        for item in items:
            described = item.kind is Kind.ANNOTATION and episode.description
            level = Level.STUB if item.kind in IN_PLACE or not described else Level.ABSTRACT
            if not described:
                yield Change(item=item.id, level=level, reason=f"{why}; whole episode")
