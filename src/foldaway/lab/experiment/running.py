"""An experiment from plan to rows: what is kept is taken, what is missing is run, what is implied is filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from foldaway.lab.experiment.keep import Kept, Row, Runs, run_key, session_key
from foldaway.lab.experiment.plan import Settings, Task, check_plan, fits, waits, work
from foldaway.lab.experiment.sources import Input
from foldaway.lab.experiment.workers import check_workers, on_other_machines, run_all
from foldaway.lab.replay import FULL
from foldaway.model.recorded import Recorded

Progress = Callable[[int, int, str], None]
"""(runs done, runs in all, what was done last)"""


@dataclass(slots=True)
class Experiment:
    """Sessions x policies x budgets. `folder` keeps finished runs, so that a broken-off experiment goes on."""

    inputs: Sequence[Input]
    policies: Sequence[str]
    budgets: Sequence[int]
    folder: Path
    settings: Settings = field(default_factory=Settings)
    workers: str = "1"
    progress: Progress | None = None
    _runs: Runs = field(init=False)
    _known: dict[tuple[int, str, int], Kept] = field(default_factory=dict, init=False)
    """(number of the input, policy, budget) -> run."""
    _settled: set[tuple[int, str, int]] = field(default_factory=set, init=False)
    _sessions: list[str] = field(init=False)

    def __post_init__(self) -> None:
        check_plan(self.policies, self.budgets, self.settings)
        self.workers = check_workers(self.workers)
        self.budgets = sorted(set(self.budgets))
        self._runs = Runs(self.folder / "runs")
        self._sessions = [session_key(one.recorded) for one in self.inputs]

    def rows(self) -> list[Row]:
        """One row a run: session by session, policy by policy, budget by budget; full history has budget 0.

        First the policy that stands for all that wait for the budget, up to the budget where nothing has to go;
        then the others, where something has.
        """
        waiting = [policy for policy in self.policies if waits(policy, self.settings)]
        numbers, stand_in = range(len(self.inputs)), waiting[:1]
        self._run([self._stand_in_task(number, policy) for number in numbers for policy in stand_in])
        calm = {number: self._calm_from(number, stand_in) for number in numbers}
        self._share(waiting, calm)
        others = [policy for policy in self.policies if policy not in stand_in]
        self._run([self._missing_task(number, policy) for number in numbers for policy in others])
        return [row for number in numbers for row in self._rows_of(number, calm[number])]

    def _stand_in_task(self, number: int, policy: str) -> tuple[int, Task] | None:
        for position, budget in enumerate(self.budgets):
            kept = self._look_up(number, policy, budget)
            if kept is None:
                return number, self._task(number, policy, self.budgets[position:], until_it_fits=True)
            if fits(kept.result):
                break
        return None

    def _missing_task(self, number: int, policy: str) -> tuple[int, Task] | None:
        budgets = [b for b in self._budgets_of(policy) if self._look_up(number, policy, b) is None]
        return (number, self._task(number, policy, budgets)) if budgets else None

    def _budgets_of(self, policy: str) -> Sequence[int]:
        return (0,) if policy == FULL else self.budgets

    def _task(self, number: int, policy: str, budgets: Sequence[int], *, until_it_fits: bool = False) -> Task:
        labels = None if on_other_machines(self.workers) else self.folder / "labels"
        return Task(
            recorded=self._recorded(number),
            policy=policy,
            budgets=tuple(budgets),
            settings=self.settings,
            until_it_fits=until_it_fits,
            label_folder=labels,
        )

    def _recorded(self, number: int) -> Recorded:
        return self.inputs[number].recorded

    def _look_up(self, number: int, policy: str, budget: int) -> Kept | None:
        place = number, policy, budget
        if place not in self._known:
            kept = self._runs.get(self._key(number, policy, budget))
            if kept is None:
                return None
            self._known[place] = kept
        self._settled.add(place)
        return self._known[place]

    def _key(self, number: int, policy: str, budget: int) -> str:
        return run_key(self._sessions[number], policy, budget, self.settings)

    def _run(self, planned: Iterable[tuple[int, Task] | None]) -> None:
        # Largest first, so that no long one is left for the end.
        found = sorted((p for p in planned if p), key=lambda p: (-p[1].weight, p[0]))
        for index, done in run_all(work, [task for _, task in found], self.workers):
            number, task = found[index]
            for budget, kept in zip(task.budgets, done, strict=False):
                self._runs.put(self._key(number, task.policy, budget), kept)
                self._known[number, task.policy, budget] = kept
                self._settled.add((number, task.policy, budget))
            self._tell(f"{task.policy} {task.recorded.name}")

    def _tell(self, what: str) -> None:
        if self.progress:
            total = sum(len(self._budgets_of(policy)) for policy in self.policies) * len(self.inputs)
            self.progress(len(self._settled), total, what)

    def _calm_from(self, number: int, stand_in: Sequence[str]) -> int | None:
        """The smallest budget under which nothing of the session has to go."""
        for policy in stand_in:
            for budget in self.budgets:
                kept = self._known.get((number, policy, budget))
                if kept is not None and fits(kept.result):
                    return budget
        return None

    def _share(self, waiting: Sequence[str], calm: dict[int, int | None]) -> None:
        """Where nothing has to go, one run stands for all that would show the same."""
        for number, first in calm.items():
            if first is None:
                continue
            kept = self._known[number, waiting[0], first]
            for policy in waiting:
                for budget in self.budgets:
                    if budget >= first:
                        result = replace(kept.result, policy=policy, budget_tokens=budget)
                        self._known[number, policy, budget] = Kept(result, kept.times)
                        self._settled.add((number, policy, budget))

    def _rows_of(self, number: int, calm: int | None) -> list[Row]:
        given = self.inputs[number]
        rows = []
        for policy in self.policies:
            for budget in self._budgets_of(policy):
                kept = self._known[number, policy, budget]
                row = Row(
                    source=given.source,
                    source_format=given.recorded.source_format,
                    half=given.half,
                    never_evicts=calm is not None and policy != FULL and budget >= calm,
                    # Content decides what is kept; two sessions of one content keep their own names.
                    result=replace(kept.result, session=given.recorded.name),
                    times=kept.times,
                )
                rows.append(row)
        return rows
