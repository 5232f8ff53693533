"""The open episode that the agent itself declared, and what it strongly rests on (S1.3, S1.9)."""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.constraints.scene import Scene
from foldaway.linking.graph import Provenance

STRONG = 0.8


def protect(scene: Scene) -> Iterator[tuple[int, str]]:
    log = scene.log
    current = log.episodes.current()
    if current is None or not current.declared:
        return
    for turn in scene.shown.turns:
        if turn < current.first_turn:
            continue
        for item in log.turn_items[turn]:
            yield item, f"open episode {current.name}"
            for link in log.graph.needs(item):
                if link.provenance is Provenance.DECLARED and link.weight >= STRONG:
                    yield link.target, f"needed by open episode {current.name}"
