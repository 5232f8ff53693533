"""Which runs an experiment needs, and which it can do without.

A session that fits a budget is not touched: the engine asks a policy for nothing before the budget is passed, so one
run that made no commit stands for every policy that waits for that, and for every larger budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from foldaway.engine.triggers import Triggers
from foldaway.errors import SettingsError
from foldaway.lab.experiment.keep import Kept, reduced
from foldaway.lab.needs import LabelCache, content_hash
from foldaway.lab.replay import FULL, ReplaySession, make_ruler, replay
from foldaway.lab.results import ReplayResult
from foldaway.lab.ruler import Ruler
from foldaway.model.plan import Prices
from foldaway.model.recorded import Recorded
from foldaway.session import Session
from foldaway.settings.parts import make_policy
from foldaway.settings.presets import preset


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all runs of an experiment have in common. A value, so that it can be sent to another machine."""

    model: str = ""
    """Counts the tokens; empty: for each session the model it was recorded with."""
    low_share: float | None = None
    high_share: float | None = None
    """None: those of the preset, 0.5 and 1.0 for most."""
    prices: Prices = field(default_factory=Prices)
    """What the engine weighs a commit with; results are priced afterwards."""
    makers: tuple[tuple[str, str], ...] = ()
    """(policy name, or its beginning with the colon, "module:function"): who makes the sessions of policies that are
    none of the engine's. The function is a `SessionMaker`."""
    versions: tuple[tuple[str, str], ...] = ()
    """(what, version) of other parts that decide a result: runs under other versions are made anew."""

    def check(self) -> None:
        """Raises SettingsError where these settings cannot go together."""
        Session(budget=1, model=self.model, low_share=self.low_share, high_share=self.high_share)

    def maker_of(self, policy: str) -> str:
        """Who makes the sessions of a policy; empty: the engine."""
        return next((target for name, target in self.makers if policy == name or _heads(name, policy)), "")

    def __call__(self, recorded: Recorded, policy: str, budget: int) -> ReplaySession:
        target = self.maker_of(policy)
        if target:
            module, _, name = target.partition(":")
            # Makers count for the model of the recording; what is judged is counted for ours.
            counted = replace(recorded, model=self.model) if self.model else recorded
            made: ReplaySession = getattr(import_module(module), name)(counted, policy, budget)
            return made
        return Session(
            format=recorded.format,
            budget=budget,
            policy=policy,
            model=self.model or recorded.model,
            fixed_over_budget="send",
            system=recorded.system,
            tools=recorded.tools,
            low_share=self.low_share,
            high_share=self.high_share,
            prices=self.prices,
        )


def _heads(name: str, policy: str) -> bool:
    return name.endswith(":") and policy.startswith(name)


def waits(policy: str, settings: Settings) -> bool:
    """Whether a policy is only asked when the budget is passed: it is the engine's, and never calls for a commit."""
    if policy == FULL or settings.maker_of(policy):
        return False
    part: Any = make_policy(policy)[1]
    chosen = preset(policy)
    early = (settings.high_share is None and chosen.high_share < 1.0) or chosen.reserve_share > 0.0
    return not early and chosen.triggers == Triggers() and not hasattr(part, "due")


def fits(result: ReplayResult) -> bool:
    """Whether nothing had to go: no commit, and no view over the budget."""
    untouched = not (result.commits or result.over_flagged or result.over_silent or result.refused_calls)
    return untouched and not result.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Some runs of one session under one policy, smallest budget first."""

    recorded: Recorded
    policy: str
    budgets: tuple[int, ...]
    settings: Settings
    until_it_fits: bool = False
    """Stop at the first budget under which nothing had to go."""
    label_folder: Path | None = None

    @property
    def weight(self) -> int:
        """Rough cost, to begin with the largest."""
        return len(self.recorded.messages) * len(self.budgets)


_rulers: dict[tuple[str, str], Ruler] = {}
"""The ruler used last in this process: the next task is most often on the same session."""


def work(task: Task) -> list[Kept]:
    """Do the runs of a task, in order of its budgets."""
    ruler = shared_ruler(task.recorded, task.settings.model, task.label_folder)
    found: list[Kept] = []
    for budget in task.budgets:
        result = replay(task.recorded, task.policy, budget, ruler=ruler, make=task.settings)
        found.append(reduced(result))
        if task.until_it_fits and fits(result):
            break
    return found


def shared_ruler(recorded: Recorded, model: str, label_folder: Path | None) -> Ruler:
    """The ruler of a session, counting for `model` or the recorded one; made once while tasks stay with a session."""
    key = content_hash(recorded), model or recorded.model
    ruler = _rulers.get(key)
    if ruler is None:
        _rulers.clear()
        labels = LabelCache(label_folder).get(recorded)
        ruler = _rulers[key] = make_ruler(recorded, labels, model=model)
    return ruler


def check_plan(policies: Sequence[str], budgets: Sequence[int], settings: Settings) -> None:
    """Refuse before hours of work what could not be run. Raises SettingsError."""
    if not policies or not budgets:
        raise SettingsError("an experiment needs at least one policy and one budget")
    settings.check()
    for policy in policies:
        target = settings.maker_of(policy)
        if policy != FULL and not target:
            make_policy(policy)
