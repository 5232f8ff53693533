"""`foldaway lab`: whole experiments over folders of recorded sessions, and their reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from foldaway.cli.inputs import BUNDLED, NAMED, many_sessions
from foldaway.cli.output import say, show, show_json, warn
from foldaway.cli.replaying import parse_budgets, parse_policies, parse_prices, percent
from foldaway.errors import MissingExtra, ReadError, SettingsError
from foldaway.lab.experiment import (
    Experiment,
    Input,
    Row,
    Settings,
    facts_of,
    read_outcome,
    write_data,
    write_report,
)
from foldaway.lab.experiment.instruments.distance import WINDOW, measure_distance
from foldaway.lab.experiment.report.findings import Findings
from foldaway.lab.experiment.sources import source_of, with_own_names
from foldaway.lab.experiment.stats import RESAMPLES, SEED
from foldaway.lab.oracle.policy import ORACLE
from foldaway.lab.peers import is_peer, peer_names, peer_note, peer_versions
from foldaway.lab.replay import FULL
from foldaway.lab.results import ReplayResult, Tally, pool
from foldaway.lab.runner import progress_on_stderr
from foldaway.lab.table import aligned, row
from foldaway.readers import format_names, recognise

RULES_SHOWN = ("loose", "strict", "values")
FAILURES_TOLD = 10
WITNESS = "oracle: knows the future, no policy; see Distance to the oracle in the report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An experiment as the command line tells it."""

    paths: Sequence[str]
    bundled: bool
    chain: str
    policies: str
    budgets: str
    output: Path
    workers: str
    model: str
    shares: tuple[float | None, float | None]
    prices: tuple[float, float]
    seed: int


def run(wanted: Wanted, *, as_json: bool) -> int:
    """Run what is missing, write data and report, and show the pooled rows."""
    policies, budgets = parse_lab_policies(wanted.policies), parse_budgets(wanted.budgets)
    settings = _settings(wanted, policies)
    if not set(policies) - {FULL, ORACLE}:
        raise SettingsError(f"{policies[0]} is what policies are measured against; name a policy")
    chained = parse_chain(wanted.chain)
    inputs = gather(wanted.paths, bundled=wanted.bundled, chained=chained)
    experiment = Experiment(
        inputs, policies, budgets, wanted.output, settings, wanted.workers, progress=progress_on_stderr
    )
    rows = experiment.rows()
    notes = {name: peer_note(name) for name in policies if is_peer(name)}
    notes["files chained to one session"] = ", ".join(chained) or "none"
    facts = facts_of(policies, budgets, settings, seed=wanted.seed, notes=notes)
    write_data(wanted.output, rows, facts)
    if ORACLE in policies:
        _measure_distance(wanted, rows, inputs)
    return _told(rows, write_report(wanted.output, rows, facts, tell=warn), as_json)


def _settings(wanted: Wanted, policies: Sequence[str]) -> Settings:
    peers = [name for name in policies if is_peer(name)]
    versions = peer_versions(peers) if peers else {}
    absent = [name for name, version in versions.items() if not version]
    if absent:
        raise MissingExtra(f"not installed: {', '.join(absent)}; `make peers` makes an environment that has them")
    return Settings(
        makers=(
            (ORACLE, "foldaway.lab.oracle:oracle_session"),
            *((n, "foldaway.lab.peers:peer_session") for n in peers),
        ),
        versions=tuple(sorted(versions.items())),
        model=wanted.model,
        low_share=wanted.shares[0],
        high_share=wanted.shares[1],
        prices=parse_prices(*wanted.prices),
    )


def _measure_distance(wanted: Wanted, rows: Sequence[Row], inputs: Sequence[Input]) -> None:
    if not any(row.result.policy == WINDOW for row in rows):
        say(f"the distance to the oracle is measured from {WINDOW}, which is not among the policies; left out")
        return
    measure_distance(
        rows,
        inputs,
        wanted.output,
        model=wanted.model,
        workers=wanted.workers,
        progress=progress_on_stderr,
        tell=warn,
    )


def report(folder: Path, *, as_json: bool) -> int:
    """The page anew, from the rows an experiment wrote."""
    rows, facts = read_outcome(folder)
    return _told(rows, write_report(folder, rows, facts, tell=warn), as_json)


def parse_lab_policies(text: str) -> list[str]:
    """Policies as `replay` takes them, and besides: `oracle`, and other libraries by their names with a colon."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    own = [name for name in names if name != ORACLE and not is_peer(name)]
    try:
        known = parse_policies(",".join(own)) if own or not names else []
    except SettingsError as error:
        raise SettingsError(f"{error}; besides: {ORACLE}, {', '.join(peer_names())}") from error
    return [*known, *(name for name in names if name not in own)]


def parse_chain(text: str) -> tuple[str, ...]:
    """`tau-bench,tau2-bench` -> formats whose files are read as one session each; `none` -> none."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if names == ("none",):
        return ()
    for name in names:
        if name not in format_names():
            raise SettingsError(f"--chain: no format {name!r}; known: {', '.join(format_names())}, or none")
    return names


def gather(paths: Sequence[str], *, bundled: bool, chained: Sequence[str]) -> list[Input]:
    """The sessions of files and of all files below folders, each with its source and a name of its own.

    Raises SettingsError when nothing is named, ReadError where a file that was named holds no session.
    """
    if not paths and not bundled:
        raise SettingsError("nothing to measure; name files or folders with --sessions, or say --bundled")
    found: list[Input] = []
    for path in [*paths, *([str(BUNDLED)] if bundled else [])]:
        folder = Path(path)
        found += list(_below(folder, chained)) if folder.is_dir() else list(_of(folder, None, chained))
    return with_own_names(found)


def _below(folder: Path, chained: Sequence[str]) -> Iterator[Input]:
    skipped: list[str] = []
    seen = False
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        try:
            inputs = list(_of(file, folder, chained))
        except ReadError:
            skipped.append(file.name)
            continue
        seen = True
        yield from inputs
    if not seen:
        raise ReadError(f"no recorded session in this folder ({len(skipped)} files looked at)", file=str(folder))
    if skipped:
        names = ", ".join(skipped[:NAMED]) + (", ..." if len(skipped) > NAMED else "")
        say(f"{folder}: {len(skipped)} files hold no usable session: {names}")


def _of(file: Path, root: Path | None, chained: Sequence[str]) -> Iterator[Input]:
    joined = recognise(file) in chained
    for recorded in many_sessions([str(file)], bundled=False, joined=joined):
        yield Input(recorded, source_of(file, root, recorded.source_format))


def _told(rows: Sequence[Row], page: Path, as_json: bool) -> int:
    findings = Findings(rows, SEED, RESAMPLES)
    failed = findings.failed
    pools = pool((row.result for row in findings.usable), "all")
    if as_json:
        show_json({"report": str(page), "pooled": [row(r) for r in pools], "failed": [row(r.result) for r in failed]})
    else:
        told = [_table(pools), *([WITNESS] if findings.witnesses else []), str(page)]
        show("\n\n".join(told))
    for one in failed[:FAILURES_TOLD]:
        warn(f"{one.result.session}, {one.result.policy}, {one.result.budget_tokens}: {one.result.error}")
    if len(failed) > FAILURES_TOLD:
        warn(f"{len(failed) - FAILURES_TOLD} more runs failed; the report names them")
    if findings.left_out:
        warn(f"failed on too many sessions and left out of the comparison: {', '.join(findings.left_out)}")
    return int(bool(failed))


def _table(pools: Iterable[ReplayResult]) -> str:
    lines = [["policy", "budget", "sessions", "seen%", "strict%", "values%", "bill%", "mean"]]
    for result in pools:
        rates = (percent(result.steps.get(rule, Tally()).visible_rate) for rule in RULES_SHOWN)
        budget = "-" if result.policy == FULL else str(result.budget_tokens)
        bill = f"{100 * result.bill.share_of(result.full_bill):.1f}"
        lines.append([result.policy, budget, str(result.sessions), *rates, bill, f"{result.mean_tokens:.0f}"])
    return aligned(lines, left=1)
