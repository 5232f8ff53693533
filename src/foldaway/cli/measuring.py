"""The lab's instruments beside `lab run`: a table on stdout, and with a folder a section of its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldaway.cli.labbing import gather, parse_chain, parse_lab_policies
from foldaway.cli.output import say, show, show_json, warn
from foldaway.cli.replaying import parse_budgets
from foldaway.errors import SettingsError
from foldaway.lab.compaction_report import compaction_report
from foldaway.lab.compaction_table import compaction_rows, compaction_table
from foldaway.lab.compactions import BUDGETS
from foldaway.lab.experiment import Input, read_outcome, refresh, write_report, write_section
from foldaway.lab.experiment.instruments import PLACES
from foldaway.lab.experiment.instruments.distance import check_witnesses, distance_rows, measure_distance, pooled
from foldaway.lab.experiment.report import Section
from foldaway.lab.experiment.workers import check_workers
from foldaway.lab.noise import Mistake, noise_rows, noise_run, noise_table
from foldaway.lab.oracle import regret_table
from foldaway.lab.oracle.policy import ORACLE
from foldaway.lab.peers import is_peer, peer_session
from foldaway.lab.replay import FULL, SessionMaker, foldaway_session
from foldaway.lab.runner import progress_on_stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What all instruments are told: recordings, where a section goes, and how to answer."""

    paths: Sequence[str]
    bundled: bool
    output: Path | None
    as_json: bool
    chain: str = "none"

    def inputs(self) -> list[Input]:
        return gather(self.paths, bundled=self.bundled, chained=parse_chain(self.chain))

    def tell(self, key: str, section: Section | None, table: str, data: Mapping[str, Any]) -> int:
        """Write the section where a folder was named, and answer on stdout."""
        if self.output is not None and section is not None:
            publish(self.output, section, order=PLACES[key].order, name=PLACES[key].name)
        if self.as_json:
            show_json(data)
        else:
            show(table)
        return 0


def publish(folder: Path, section: Section, *, order: int, name: str, about: str = "") -> None:
    """Keep a section in a folder, and draw its report anew where an experiment has left results there."""
    file = write_section(folder, section, order=order, name=name, about=about)
    page = refresh(folder, warn)
    say(f"{page or file}" + ("" if page else ": shown in the report once `foldaway lab run` has left results there"))


def compactions(given: Measured, *, policies: str, budget: str, steps: int) -> int:
    """What recorded compactions kept of what came to be needed, policies beside them."""
    from foldaway.lab.experiment.instruments.compactions import compactions_section

    names = of_policies(policies)
    if budget not in BUDGETS:
        raise SettingsError(f"--budget {budget}: expected {' or '.join(BUDGETS)}")
    report = compaction_report(
        (one.recorded for one in given.inputs()),
        policies=names,
        window_steps=steps,
        budget=budget,
        make=maker_of(names),
        progress=lambda name: say(f"measuring {name}"),
    )
    return given.tell("compactions", compactions_section(report), compaction_table(report), compaction_rows(report))


def long(given: Measured, *, policies: str, budget: str, tasks: int | None, max_calls: int | None) -> int:
    """Many tasks in one session, against each alone."""
    from foldaway.lab.experiment.instruments.long import long_section
    from foldaway.lab.long_run import run_long
    from foldaway.lab.long_session import MAX_CALLS, TASKS, join_tasks
    from foldaway.lab.long_table import long_row, long_series, long_table

    names, tokens = of_policies(policies), one_budget(budget)
    recordings = [one.recorded for one in given.inputs()]
    try:
        joined = join_tasks(recordings, tasks=tasks or TASKS, max_calls=max_calls or MAX_CALLS)
        results = [
            run_long(joined, name, tokens, make=maker_of(names), progress=_named_progress(name)) for name in names
        ]
    except ValueError as error:
        raise SettingsError(str(error)) from error
    data = {"results": [{**long_row(result), "series": long_series(result)} for result in results]}
    return given.tell("long", long_section(results), long_table(results), data)


def noise(given: Measured, *, policies: str, budget: str, rates: str, mistakes: str) -> int:
    """How policies degrade when declared kinds and links are wrong."""
    from foldaway.lab.experiment.instruments.noise import noise_section

    names, tokens = of_policies(policies, peers=False), one_budget(budget)
    shares, kinds = parse_rates(rates), parse_mistakes(mistakes)
    recordings = [one.recorded for one in given.inputs()]
    rows = noise_run(recordings, names, tokens, rates=shares, mistakes=kinds, progress=progress_on_stderr)
    section = noise_section(rows, budget=tokens, sessions=len(recordings))
    data = {"budget_tokens": tokens, "sessions": len(recordings), "rows": noise_rows(rows)}
    code = given.tell("noise", section, noise_table(rows), data)
    return int(any(row.failed for row in rows)) or code


def likelihood(given: Measured, *, policies: str, budget: str, steps: int, model: Path | None, threads: int) -> int:
    """How likely a small model finds the recorded next action, given each policy's view."""
    from foldaway.lab.experiment.instruments.likelihood import likelihood_section
    from foldaway.lab.likelihood import CachedScorer, Sample, likelihood_json, likelihood_run, likelihood_table

    names, tokens = of_policies(policies), one_budget(budget)
    # Before the recordings are read: what most often is missing is the extra.
    scorer = open_scorer(model, threads)
    try:
        asked = scorer if given.output is None else CachedScorer(scorer, given.output / "answers")
        report = likelihood_run(
            [one.recorded for one in given.inputs()],
            names,
            tokens,
            asked,
            sample=Sample(steps=steps),
            make=maker_of(names),
            progress=progress_on_stderr,
        )
    finally:
        scorer.close()
    return given.tell("likelihood", likelihood_section(report), likelihood_table(report), likelihood_json(report))


def open_scorer(model: Path | None, threads: int) -> Any:
    """The small model that reads. Raises MissingExtra or SettingsError."""
    from foldaway.lab.likelihood.llama import LlamaScorer, model_file

    return LlamaScorer(model or model_file(), threads=threads)


def oracle(given: Measured, *, folder: Path, model: str, workers: str) -> int:
    """The distance to the oracle for an experiment that ran before."""
    rows, facts = read_outcome(folder)
    check_witnesses({row.result.policy for row in rows})
    regrets = pooled(
        measure_distance(
            rows,
            given.inputs(),
            folder,
            model=model,
            workers=check_workers(workers),
            progress=progress_on_stderr,
            tell=warn,
        )
    )
    page = write_report(folder, rows, facts, tell=warn)
    if given.as_json:
        show_json({"report": str(page), "pooled": distance_rows(regrets)})
    else:
        show(f"{regret_table(regrets)}\n\n{page}")
    return 0


def of_policies(text: str, *, peers: bool = True) -> list[str]:
    """Policies an instrument can play. Raises SettingsError for one that knows the future, or sends everything."""
    names = parse_lab_policies(text)
    for name in names:
        if name in (FULL, ORACLE) or (not peers and is_peer(name)):
            raise SettingsError(f"policy {name!r} has no place here; name policies that work under a budget")
    return names


def maker_of(policies: Sequence[str]) -> SessionMaker:
    return peer_session if any(map(is_peer, policies)) else foldaway_session


def one_budget(text: str) -> int:
    """Raises SettingsError for several."""
    found = parse_budgets(text)
    if len(found) != 1:
        raise SettingsError(f"--budget {text}: expected one number of tokens")
    return found[0]


def parse_rates(text: str) -> list[float]:
    """`0,0.1,0.5` -> shares. Raises SettingsError."""
    try:
        rates = sorted({float(part) for part in text.split(",")})
    except ValueError:
        rates = []
    if not rates or not all(0 <= rate <= 1 for rate in rates):
        raise SettingsError(f"--rates {text}: expected shares from 0 to 1, separated by commas")
    return rates


def parse_mistakes(text: str) -> list[Mistake]:
    """`kinds,all` -> mistakes. Raises SettingsError."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    known = [mistake.value for mistake in Mistake]
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise SettingsError(f"--mistakes {text}: known are {', '.join(known)}")
    return [Mistake(name) for name in names]


def _named_progress(policy: str) -> Any:
    return lambda done, total, what: progress_on_stderr(done, total, f"{policy} {what}")
