"""The default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foldaway.engine.snapshot import Snapshot
from foldaway.linking.index import Anchor
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change
from foldaway.policies._turns import IN_PLACE, foldable_turns
from foldaway.scoring.need import need

CARRIER = frozenset({Kind.THOUGHT, Kind.REASONING, Kind.ANNOTATION})


@dataclass(frozen=True, slots=True)
class Auto:
    tail_share: float = 0.4
    plans_whole = True

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        room = max(0, snapshot.target_tokens - snapshot.floor_tokens)
        turns = foldable_turns(snapshot)
        held = sum(snapshot.turn_tokens(t) for t in sorted({snapshot.item(i).turn for i in snapshot.protected}))
        tail_room = room * self.tail_share - held
        keep: set[int] = set()
        for items in reversed(turns):
            cost = snapshot.turn_tokens(items[0].turn)
            if cost > tail_room:
                break
            tail_room -= cost
            keep.add(items[0].turn)
        kept_tokens = held + sum(snapshot.turn_tokens(t) for t in keep)
        folding = [t for t in turns if t[0].turn not in keep]
        lines = self._lines(snapshot, keep, room - kept_tokens - 140)
        for items in folding:
            for item in items:
                if item.id not in lines:
                    level = Level.STUB if item.kind in IN_PLACE else Level.HIDDEN
                    yield Change(item=item.id, level=level, reason="beyond the tail")
        for number in sorted(snapshot._shown.lines):
            if number not in lines:
                yield Change(item=number, level=Level.HIDDEN, reason="nothing of it is likely to be needed")
        for number in sorted(lines):
            yield Change(item=number, level=Level.STUB, reason="anchors likely needed", anchors=tuple(lines[number]))

    def _lines(self, snapshot: Snapshot, keep: set[int], room: int) -> dict[int, list[str]]:
        visible = set(snapshot.protected)
        for turn in keep:
            visible.update(i.id for i in snapshot.turn_items(turn))
        ranked: list[tuple[float, str, Anchor, Item]] = []
        for anchor in snapshot.anchors._anchors.values():
            if anchor.said or any(i in visible for i in anchor.items) or anchor.last_seen_step < 0 and not anchor.used:
                continue
            home = self._home(snapshot, anchor)
            if home is None:
                continue
            if not anchor.tokens:
                anchor.tokens = snapshot.count(" " + anchor.literal) + 1
            ranked.append((-need(anchor, snapshot.step) / anchor.tokens, anchor.literal, anchor, home))
        ranked.sort(key=lambda r: r[:2])
        lines: dict[int, list[str]] = {}
        for _, literal, anchor, home in ranked:
            if room <= 8:
                break
            cost = anchor.tokens
            if home.id not in lines:
                head = snapshot.line_tokens(home, ())
                if head + cost > room:
                    continue
                room -= head
                lines[home.id] = []
                if literal in home.title:
                    continue
            if cost <= room:
                lines[home.id].append(literal)
                room -= cost
        return lines

    def _home(self, snapshot: Snapshot, anchor: Anchor) -> Item | None:
        for number in (*reversed(anchor.items), anchor.first_item):
            item = snapshot.item(number)
            if item.kind not in CARRIER and not item.pinned and item.kind not in IN_PLACE:
                return item
        return None
