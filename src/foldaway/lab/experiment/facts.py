"""What an experiment was run with: enough to read its report, and to make it anew."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import foldaway
from foldaway.lab.experiment.keep import code_hash
from foldaway.lab.experiment.plan import Settings
from foldaway.lab.experiment.stats import RESAMPLES, SEED
from foldaway.lab.needs import RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    foldaway: str
    code: str
    """Hash of the source that ran."""
    python: str
    label_rules: int
    policies: tuple[str, ...]
    budgets: tuple[int, ...]
    """Tokens."""
    settings: Mapping[str, str]
    seed: int = SEED
    resamples: int = RESAMPLES
    notes: Mapping[str, str] = field(default_factory=dict)
    """What else a reader should know, such as how sessions were joined."""


def facts_of(
    policies: Sequence[str],
    budgets: Sequence[int],
    settings: Settings,
    *,
    seed: int = SEED,
    notes: Mapping[str, str] | None = None,
) -> Facts:
    """The facts of an experiment made now, by this process."""
    prices = settings.prices
    told = {
        "tokens counted for": settings.model or "the model that was recorded",
        "watermarks": f"low {_share(settings.low_share)}, high {_share(settings.high_share)}",
        "prices the engine weighs": f"read {prices.read:g}, write {prices.write:g} of the base price",
        **{what: version or "not installed" for what, version in settings.versions},
    }
    return Facts(
        foldaway=foldaway.__version__,
        code=code_hash(),
        python=".".join(platform.python_version_tuple()[:2]),
        label_rules=RULES,
        policies=tuple(policies),
        budgets=tuple(sorted(set(budgets))),
        settings=told,
        seed=seed,
        notes=dict(notes or {}),
    )


def _share(share: float | None) -> str:
    return "as the preset has it" if share is None else f"{share:g}"
