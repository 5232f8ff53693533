"""Presets: the four systems and the default, each as data that names a policy and settings (S1 to S4 of the design).

A preset is no second engine. What it sets is what a caller would set; what a caller says himself comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from foldaway.engine.triggers import Triggers


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """What `Session(policy=NAME)` stands for."""

    summary: str
    """One line for a list of presets."""
    policy: str
    """Name of the policy that decides."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Its parameters, where they differ from its own defaults."""
    low_share: float = 0.5
    high_share: float = 1.0
    reserve_share: float = 0.0
    """Of the budget kept free, so that the peak stays below the rest."""
    triggers: Triggers = field(default_factory=Triggers)
    """What asks for a commit before the high watermark does."""


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "auto": Preset(summary="the default: the best of the four", policy="auto"),
        "layered": Preset(
            summary="layers of memory with quotas: recent steps, a state, a running digest, what was retrieved",
            policy="layered",
            low_share=0.6,
            reserve_share=0.15,
        ),
        "self-gc": Preset(
            summary="each item by its value to the work going on; finished sub-goals are archived and wake again",
            policy="self-gc",
            triggers=Triggers(window_share=0.8, subgoal_finished=True, phase_change=True, new_plan=True),
        ),
        "ace": Preset(summary="elastic context: each step raw, as its digest or hidden, decided anew", policy="ace"),
        "cwl": Preset(summary="structured eviction by episodes and what rests on them", policy="cwl"),
    }
)


def preset(policy: object) -> Preset:
    """The preset of this name; for other policies their plain settings."""
    known = PRESETS.get(policy) if isinstance(policy, str) else None
    return known or Preset(summary="", policy=policy if isinstance(policy, str) else "")
