"""Structured eviction by episodes: acts before explorations, evidence only after what rests on it, graduated.

Source: Semenov and Dorofeev, "Beyond Compaction: Structured Context Eviction", arXiv 2606.11213, section 4.4, with the
repairs its reference code lacks: the act-before-explore order is real, the agent's description of an exploration
survives it, what rests on what is asked through explorations too, and where nothing is safe any more, which is where
the paper stops, what is left goes by utility per token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.episodes import Episode, EpisodeType
from foldaway.linking.kinds import one_line
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change, Section
from foldaway.policies._turns import foldable_turns
from foldaway.policies._working_set import Wanted, working_set
from foldaway.scoring.utility import utility
from foldaway.scoring.value import Weights

BULK = frozenset({Kind.LISTING, Kind.SEARCH})
INTERMEDIATE = frozenset({Kind.READ, Kind.COMMAND, Kind.RESULT, Kind.ERROR})
TITLE = "explored"
MOST_DESCRIBED = 200
"""Episodes looked at for descriptions: what a decision costs must not grow with the session."""
DESCRIPTION_CHARS = 400
MUST_HAVE = 0.8
"""A link at least this strong from the newest step brings back what it points to."""
STRONG = 0.5
"""A link at least this strong into unfinished work keeps what it points to."""


@dataclass(frozen=True, slots=True)
class Cwl:
    weights: Weights = field(default_factory=Weights)
    """Of the values by which items go when nothing is safe."""
    recall_share: float = 0.0
    """Share of the room above the floor that one proactive recall may take. With 0.1, at 24k, of three recordings two
    had 0.5 and 3.5 points more steps with all needs in sight, one 2.8 fewer, for bills 13 to 19 % higher: so it is off
    until asked for."""

    described_share: float = 0.2
    """Share of the room up to the low watermark for descriptions of explorations that no longer stand in place."""

    def propose(self, snapshot: Snapshot) -> Iterator[Change | Section]:
        told = _Told(snapshot, int((snapshot.target_tokens - snapshot.floor_tokens) * self.described_share))
        yield told.section()
        closed = _closed(snapshot)
        work = _Work(snapshot, closed)
        pending = sorted(closed, key=lambda n: (closed[n][0].type is EpisodeType.EXPLORE, n))
        while (ready := next((n for n in pending if not work.rests_on(n)), None)) is not None:
            episode, items = closed[ready]
            name = episode.name or f"{episode.type.value} {episode.number}"
            yield from _graduated(snapshot, episode, items, f"{name}: finished, nothing in sight rests on it")
            work.gone(ready)
            pending.remove(ready)
        yield from told.move()
        yield from self._by_utility(snapshot, frozenset(closed) - frozenset(pending))

    def bring_back(self, snapshot: Snapshot) -> list[Wanted]:
        """What the step is about to need: the read of a file under edit, then what the newest actions must have.

        By the graph, as far as it is out of sight.
        """
        if not self.recall_share:
            return []
        room = int((snapshot.budget_tokens - snapshot.floor_tokens) * self.recall_share)
        found = working_set(snapshot, room, steps=1, missing=True)
        room -= sum(wanted.tokens for wanted in found)
        known = {wanted.item.id for wanted in found}
        for item in _needed(snapshot):
            if item.id not in known and item.tokens <= room:
                known.add(item.id)
                room -= item.tokens
                found.append(Wanted(item=item, lines=None, tokens=item.tokens))
        return found

    def _by_utility(self, snapshot: Snapshot, done: frozenset[int]) -> Iterator[Change]:
        """Turns that are still in sight, the one that is worth least per token first.

        What open work rests on, the episode under way, and text outside any episode, which is an exploration with
        unknown dependencies; not of the episodes that are `done`. Worked out only when the planner asks so far.
        """
        episodes = snapshot.episodes
        left = [t for t in foldable_turns(snapshot) if episodes.of_turn.get(t[0].turn) not in done]
        for turn in sorted(left, key=lambda t: (self._per_token(snapshot, t), t[0].id)):
            why = f"nothing is safe: {_where(snapshot, turn[0])}, utility {self._utility(snapshot, turn):.2f}"
            for item in turn:
                if not _describes(snapshot, item):
                    yield Change(item=item.id, level=Level.STUB, reason=why)

    def _per_token(self, snapshot: Snapshot, items: Iterable[Item]) -> float:
        tokens = sum(item.tokens for item in items)
        return round(self._utility(snapshot, items) / max(1, tokens), 12)

    def _utility(self, snapshot: Snapshot, items: Iterable[Item]) -> float:
        """Of all of a turn: the most useful of its items counts."""
        return max((self._of(snapshot, item) for item in items), default=0.0)

    def _of(self, snapshot: Snapshot, item: Item) -> float:
        anchors = snapshot.anchors.known(snapshot.anchors.of_item(item.id))
        return utility(snapshot.value(item, self.weights), anchors, item.kind, snapshot.anchors, snapshot.step)


@dataclass(slots=True)
class _Work:
    """Which closed episodes some work rests on, as they go one by one."""

    snapshot: Snapshot
    closed: dict[int, tuple[Episode, list[Item]]]
    _users: dict[int, set[int]] = field(default_factory=dict)
    """Episode -> later episodes that depend on it by declaration or by a strong link."""
    _linked: set[int] = field(default_factory=set)
    """Explorations whose links were looked at."""
    _gone: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        first = min(self.closed, default=0)
        for later in self.snapshot.episodes.all[first:]:
            for number in later.depends_on:
                self._users.setdefault(number, set()).add(later.number)

    def gone(self, number: int) -> None:
        self._gone.add(number)

    def rests_on(self, number: int) -> bool:
        """Whether open work, or an act still in sight, rests on an episode, directly or through explorations."""
        episodes = self.snapshot.episodes.all
        passed, queue = {number}, [number]
        for current in queue:
            for user in sorted(self._users_of(current) - passed):
                passed.add(user)
                episode = episodes[user]
                if episode.open or (episode.type is EpisodeType.ACT and user in self.closed and user not in self._gone):
                    return True
                queue.append(user)
        return False

    def _users_of(self, number: int) -> set[int]:
        """By declaration and by links; nothing rests on an act, for what it did stands in the environment.

        Looked for once an episode, O(its links).
        """
        users = self._users.setdefault(number, set())
        episode = self.snapshot.episodes.all[number]
        if episode.type is EpisodeType.ACT or number in self._linked:
            return users
        self._linked.add(number)
        for turn in range(episode.first_turn, episode.last_turn + 1):
            for item in self.snapshot.turn_items(turn):
                for link in self.snapshot.graph.needed_by(item.id):
                    user = self.snapshot.episode(self.snapshot.item(link.source))
                    if link.weight >= STRONG and user is not None and user.number > number:
                        users.add(user.number)
        return users


def _needed(snapshot: Snapshot) -> Iterator[Item]:
    """Observations out of sight that the newest step must have, the strongest link first."""
    newest = [i for turn in range(snapshot.newest_turn, snapshot.last_turn + 1) for i in snapshot.turn_items(turn)]
    links = [link for item in newest for link in snapshot.graph.needs(item.id) if link.weight >= MUST_HAVE]
    for link in sorted(links, key=lambda k: (-k.weight, -k.target)):
        item = snapshot.item(link.target)
        seen = snapshot.in_sight(item.id) or snapshot.superseded(item)
        if not seen and snapshot.is_observation(item) and item.id > 0:
            yield item


def _closed(snapshot: Snapshot) -> dict[int, tuple[Episode, list[Item]]]:
    """Closed episodes of which something is in sight, by number, with what may go of them."""
    found: dict[int, tuple[Episode, list[Item]]] = {}
    for item in snapshot.foldable:
        episode = snapshot.episode(item)
        if episode is not None and not episode.open and snapshot.level(item.id) > Level.STUB:
            found.setdefault(episode.number, (episode, []))[1].append(item)
    return dict(sorted(found.items()))


def _graduated(snapshot: Snapshot, episode: Episode, items: list[Item], why: str) -> Iterator[Change]:
    """An episode step by step: its reasoning, its bulk listings, its intermediate output, all of it."""
    if episode.type is EpisodeType.EXPLORE:
        for item in items:
            if item.kind is Kind.REASONING:
                yield Change(item=item.id, level=Level.STUB, reason=f"{why}; reasoning")
    for kinds, label in ((BULK, "bulk listing"), (INTERMEDIATE, "intermediate output")):
        for item in items:
            if item.kind in kinds and snapshot.level(item.id) > Level.ABSTRACT:
                yield Change(item=item.id, level=Level.ABSTRACT, reason=f"{why}; {label}")
    for item in items:
        if not _describes(snapshot, item):
            yield Change(item=item.id, level=Level.STUB, reason=f"{why}; whole episode")


@dataclass(slots=True)
class _Told:
    """What the agent wrote of its explorations, as it moves from its place into the note, within some tokens."""

    snapshot: Snapshot
    room: int
    _lines: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Closing call of an exploration -> its line and what that costs, ascending."""
    _in_place: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for episode in self.snapshot.episodes.all[-MOST_DESCRIBED:]:
            for item in self.snapshot.turn_items(episode.last_turn):
                if not _describes(self.snapshot, item):
                    continue
                line = one_line(f"{episode.name} (#{item.id}): {episode.description}", DESCRIPTION_CHARS)
                self._lines[item.id] = line, self.snapshot.count(line) + 1
                if self.snapshot.level(item.id) > Level.STUB:
                    self._in_place.append(item.id)

    def section(self) -> Section:
        """What stands in place no more, the newest that fit, oldest first."""
        chosen: list[int] = []
        left = self.room
        for number in reversed([i for i in self._lines if i not in self._in_place]):
            left -= self._lines[number][1]
            if left < 0:
                break
            chosen.append(number)
        chosen.reverse()
        return Section(title=TITLE, text="\n".join(self._lines[i][0] for i in chosen), sources=tuple(chosen))

    def move(self) -> Iterator[Change | Section]:
        """One description after the other into the note, where it takes less room, oldest first."""
        free = {item.id for item in self.snapshot.foldable}
        for number in [i for i in self._in_place if i in free]:
            self._in_place.remove(number)
            yield Change(item=number, level=Level.HIDDEN, reason="its description stands in the note")
            yield self.section()


def _describes(snapshot: Snapshot, item: Item) -> bool:
    """Whether an item is the agent's own description of what an exploration found: all that is left of that."""
    if item.kind is not Kind.ANNOTATION:
        return False
    episode = snapshot.episode(item)
    ends = episode is not None and not episode.open and item.turn == episode.last_turn
    return ends and episode is not None and episode.type is EpisodeType.EXPLORE and bool(episode.description)


def _where(snapshot: Snapshot, item: Item) -> str:
    episode = snapshot.episode(item)
    if episode is None:
        return "outside any episode"
    name = episode.name or f"{episode.type.value} {episode.number}"
    return f"{name} is open" if episode.open else f"open work rests on {name}"
