"""The last turn: the model has not read it yet, so it is never altered.

It starts with the newest assistant turn (whose calls the newest results answer) and holds all that follows.
"""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.constraints.scene import Scene
from foldaway.model.wire import TurnKind

_AGENT = (TurnKind.ASSISTANT, TurnKind.EXCHANGE)


def first_turn(scene: Scene) -> int:
    turns = scene.log.turns
    for index in range(len(turns) - 1, -1, -1):
        if turns[index].kind in _AGENT:
            return index
    return max(0, len(turns) - 1)


def protect(scene: Scene) -> Iterator[tuple[int, str]]:
    for turn in range(first_turn(scene), len(scene.log.turns)):
        for item in scene.log.turn_items[turn]:
            yield item, "last turn"
