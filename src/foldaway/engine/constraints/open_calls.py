"""Calls without a result yet: folding one would orphan the result that is still to come."""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.constraints.scene import Scene


def protect(scene: Scene) -> Iterator[tuple[int, str]]:
    log = scene.log
    for turn in range(log.settled, len(log.turns)):
        for item in log.turn_items[turn]:
            yield item, "call still open"
