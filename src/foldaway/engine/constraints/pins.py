"""Pins: what the user or the program locked."""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.constraints.scene import Scene


def protect(scene: Scene) -> Iterator[tuple[int, str]]:
    for item in sorted(scene.pins):
        yield item, "pinned"
