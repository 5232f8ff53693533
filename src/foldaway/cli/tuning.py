"""`foldaway lab sweep`, `efficiency` and `recall`: tune a policy on recorded sessions, and see what tokens bring."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foldaway.cli.measuring import Measured, of_policies, one_budget
from foldaway.cli.output import show, show_json
from foldaway.errors import SettingsError
from foldaway.lab.efficiency import efficiency, efficiency_rows, efficiency_table
from foldaway.lab.needs import LabelCache
from foldaway.lab.recall_rates import rates, rates_rows, rates_table
from foldaway.lab.runner import progress_on_stderr
from foldaway.lab.sweep import LAYERED_AXES, parse_axes, sweep, sweep_rows, sweep_table

WITH_AXES = "layered"
"""The policy whose parameters are swept where none are named."""


def run_sweep(given: Measured, *, policy: str, budget: str, parameters: Sequence[str]) -> int:
    """Sweep the parameters in order, each at the best of those before, and show the curves."""
    names, tokens = of_policies(policy, peers=False), one_budget(budget)
    if len(names) != 1:
        raise SettingsError(f"--policy {policy}: expected one policy")
    name = names[0]
    if not parameters and name != WITH_AXES:
        raise SettingsError(f"--parameter: name what to sweep for {name}, as in --parameter keep=3,5,10")
    axes = parse_axes(parameters) or LAYERED_AXES
    recordings = [one.recorded for one in given.inputs()]
    points = sweep(recordings, name, tokens, axes, progress=progress_on_stderr)
    rows = {"policy": name, "budget_tokens": tokens, "sessions": len(recordings), "points": sweep_rows(points)}
    return _told(given, "sweep", sweep_table(points), rows)


def run_efficiency(given: Measured, *, policies: str, budget: str) -> int:
    """Needs seen per 1,000 prompt tokens, by part of the session."""
    names, tokens = of_policies(policies), one_budget(budget)
    recordings = [one.recorded for one in given.inputs()]
    results = [efficiency(recordings, name, tokens, progress=progress_on_stderr) for name in names]
    rows = {"sessions": len(recordings), "results": efficiency_rows(results)}
    code = _told(given, "efficiency", efficiency_table(results), rows)
    return int(any(result.failed for result in results)) or code


def run_recall(given: Measured, *, each: int) -> int:
    """How often recall by words brings what recorded agents needed, and how much with it."""
    recordings = [one.recorded for one in given.inputs()]
    found = rates(recordings, LabelCache(), each, progress_on_stderr)
    rows = {"sessions": len(recordings), "rates": rates_rows(found)}
    return _told(given, "recall", rates_table(found), rows)


def _told(given: Measured, name: str, table: str, rows: dict[str, Any]) -> int:
    if given.output is not None:
        _keep(given.output, name, table, rows)
    if given.as_json:
        show_json(rows)
    else:
        show(table)
    return 0


def _keep(folder: Path, name: str, table: str, rows: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(table + "\n", "utf-8")
    (folder / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
