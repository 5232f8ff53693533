"""The open tool loop under thinking: assistant messages since the last question stay whole (Anthropic).

The provider checks their signatures against what follows; a loop longer than the room gives way from its oldest end,
whole turns at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.constraints.scene import Scene
from foldaway.model.wire import PartType, TurnKind


def protect(scene: Scene) -> Iterator[tuple[int, str]]:
    log = scene.log
    if not log.quirks.thinking:
        return
    for turn in reversed(scene.shown.turns):
        if log.turns[turn].kind is TurnKind.USER:
            return
        if any(p.role == "user" and p.type is PartType.TEXT for p in log.turns[turn].parts):
            return
        for item in log.turn_items[turn]:
            yield item, "thinking of the open tool loop"
