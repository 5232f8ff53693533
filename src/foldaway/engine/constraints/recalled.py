"""What was just brought back stays readable, or the model asks for it again and again (I7)."""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.constraints.scene import Scene


def protect(scene: Scene) -> Iterator[tuple[int, str]]:
    for item in sorted(scene.guarded):
        yield item, "recalled lately"
