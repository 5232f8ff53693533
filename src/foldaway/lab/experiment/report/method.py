"""The last sections: how it was measured, what that cannot show, and what exactly was run."""

from __future__ import annotations

from foldaway.lab.experiment.facts import Facts
from foldaway.lab.experiment.report.findings import Findings, kilo
from foldaway.lab.experiment.report.section import Section, Table
from foldaway.lab.experiment.sources import FITTED_SOURCES
from foldaway.lab.peers import is_peer, peer_note
from foldaway.lab.results import Tally

MOST_FAILED = 50
"""Failed runs that are listed one by one."""

METHOD = (
    "**What is measured.** Recorded agent sessions are walked call by call. Before each recorded step a policy says "
    "what the model would have been sent under its budget; it is given the past and nothing else. What the recorded "
    "step then used, and an earlier observation had supplied, is a need: an identifier, a path, a number, an "
    "address, a line of an edit. A step is unharmed when all its needs stand in the view.",
    "**The recorded next step is the witness.** No model was run. Use is told by reuse of text, a proxy: a literal "
    "that occurs again need not have been read in the old place, and what a model took in without quoting it leaves "
    "no trace. So the figures tell whether needed content was in view or could be recalled, not whether a model "
    "would have used it, nor what it would have done instead.",
    "**Rules.** A need counts only when the session first showed it in an observation: not in the standing prompt, "
    "not in a person's own words, not made up by the agent. Labels know nothing of the links that policies use. All "
    "rules are printed, so that none can be picked.",
    "**The bill.** A prefix that the call before had sent is read from the cache, all behind the first change is "
    "written anew; each need out of view adds one call, which reads the view again and writes what it fetched. So "
    "neither showing less nor cutting at each call makes it cheap. What the model writes is left out, being the same "
    "for all. The headline bill has no lifetime, minimum or blocks; the price lists do.",
    "**Native compactions.** Where the recorded agent compacted its own context, the messages go on without its "
    "summary. What it used afterwards may have come from that summary or from reading again.",
    "**Curves, not points.** Policies use up the same budget differently, so they are compared at equal bill and at "
    "equal mean tokens over all budgets. A policy that removes less is safer for free.",
    "**Pooling.** Every step weighs the same, so long sessions weigh more. Sessions that fit a budget are in: the same "
    "under every policy. A session of which any run failed is left out for all policies; another library that fails on "
    "more than one session in twenty is left out itself. The last section names both.",
)


def method_section() -> Section:
    return Section(title="Method and limits", key="method", parts=list(METHOD))


def setup_section(findings: Findings, facts: Facts) -> Section:
    """Versions, settings, seed, and every session."""
    settings = [
        ["foldaway", f"{facts.foldaway}, source {facts.code}"],
        ["Python", facts.python],
        ["rules of labelling", f"version {facts.label_rules}"],
        ["policies", ", ".join(facts.policies)],
        ["budgets, tokens", ", ".join(f"{b:,}" for b in facts.budgets)],
        *([name, str(value)] for name, value in facts.settings.items()),
        ["bootstrap", f"{facts.resamples} resamples of whole sessions, seed {facts.seed}"],
        ["parameters were chosen on", ", ".join(sorted(FITTED_SOURCES))],
        *([name, note] for name, note in {**_peer_notes(facts), **facts.notes}.items()),
    ]
    parts = [Table(columns=["what", "value"], rows=settings, left=2), _sessions(findings)]
    if findings.failed:
        parts.append(_failed(findings))
    return Section(title="Versions, settings, sessions", key="setup", parts=parts)


def _peer_notes(facts: Facts) -> dict[str, str]:
    """What other libraries were set to; their versions stand among the settings."""
    return {policy: peer_note(policy) for policy in facts.policies if is_peer(policy)}


def _sessions(findings: Findings) -> Table:
    rows = []
    smallest = findings.budgets[0] if findings.budgets else 0
    calm = set(findings.sessions) - set(findings.evicting(smallest))
    for session in findings.sessions:
        row = findings.by_run[session, findings.looked_at, smallest]
        result = row.result
        rows.append(
            [
                *(session, row.source, row.half, f"{result.calls:,}", f"{result.steps.get('loose', Tally()).total:,}"),
                *(f"{result.full_tokens:,}", "never evicts" if session in calm else ""),
            ]
        )
    return Table(
        title=f"Sessions ({len(rows)}; {len(calm)} never evict: they fit the smallest budget, {kilo(smallest)})",
        columns=["session", "source", "half", "calls", "steps with needs", "full history, tokens in all", ""],
        rows=rows,
        left=3,
    )


def _failed(findings: Findings) -> Table:
    rows = [
        [row.result.session, row.result.policy, kilo(row.result.budget_tokens), row.result.error]
        for row in findings.failed[:MOST_FAILED]
    ]
    more = len(findings.failed) - len(rows)
    note = f"The first {len(rows)}; {more} more are in `results.jsonl`. " if more else ""
    if findings.left_out:
        libraries = ", ".join(f"`{policy}`" for policy in findings.left_out)
        note += f"Failed on too many sessions, and is in none of the above: {libraries}. "
    return Table(
        title="Runs that failed",
        columns=["session", "policy", "budget", "error"],
        rows=rows,
        left=4,
        note=f"{note}The sessions of other failed runs are left out of everything above.",
    )
