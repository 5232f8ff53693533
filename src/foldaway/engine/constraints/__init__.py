"""What no policy may touch, each rule in a file of its own. Every policy gets them for free; none can break them.

A rule yields (item, why). *Hard* rules hold always: the wire or the user demands them. *Soft* rules hold as long as
what they protect leaves a policy room to work; when the ceiling demands it they give way, oldest first.
"""

from __future__ import annotations

from foldaway.engine.constraints import last_turn, open_calls, open_episode, pins, recalled, thinking
from foldaway.engine.constraints.scene import Rule, Scene

HARD: tuple[Rule, ...] = (pins.protect, open_calls.protect, last_turn.protect)
SOFT: tuple[Rule, ...] = (thinking.protect, recalled.protect, open_episode.protect)


def protected(scene: Scene, rules: tuple[Rule, ...]) -> dict[int, str]:
    """Item -> why it must stay as it is; the first rule that names an item gives the reason."""
    found: dict[int, str] = {}
    for rule in rules:
        for item, why in rule(scene):
            found.setdefault(item, why)
    return found


__all__ = ["HARD", "SOFT", "Rule", "Scene", "protected"]
