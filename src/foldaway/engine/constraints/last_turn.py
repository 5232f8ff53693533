"""The last turn: the model has not read it yet, so it is never altered.

It starts with the newest assistant turn (whose calls the newest results answer) and holds all that follows.
"""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.engine.constraints.scene import Scene
from foldaway.engine.log import Log
from foldaway.model.wire import TurnKind

_AGENT = (TurnKind.ASSISTANT, TurnKind.EXCHANGE)


def newest_agent_turn(log: Log) -> int:
    """The turn of the newest assistant message: nothing from there on was in a prompt before."""
    turns = log.turns
    for index in range(len(turns) - 1, -1, -1):
        # A recall that we put in behind it is no answer of the model's.
        if turns[index].kind in _AGENT and not log.own(index):
            return index
    return max(0, len(turns) - 1)


def protect(scene: Scene) -> Iterator[tuple[int, str]]:
    for turn in range(newest_agent_turn(scene.log), len(scene.log.turns)):
        for item in scene.log.turn_items[turn]:
            yield item, "last turn"
