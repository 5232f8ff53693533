"""What the second witness says: how far each context falls behind the full history, and whether the labels agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from foldaway.lab.likelihood.run import AGAIN, PROLOGUE, Report, StepScore
from foldaway.lab.likelihood.stats import auc, interval, mean, spearman
from foldaway.lab.replay import FULL
from foldaway.lab.results import percentile, wilson
from foldaway.lab.table import aligned

NEAR_NATS = 0.05
"""Per token: closer than this to the full history counts as no difference."""
POOLED = "all policies"

CONTEXT_COLUMNS = tuple("context,steps,tokens,nats/tok,delta (95 %),median,near%,worse%,of needs,short".split(","))
LABEL_COLUMNS = ("labels of", "unit", "short", "whole", "delta short", "delta whole", "AUC (95 %)", "rho (95 %)")
LEGEND = (
    "Log-likelihood of the recorded next action, in nats per token of the reading model; delta: against the full\n"
    "history, below 0 is less likely. near%: within 0.05 nats per token of it, worse%: below that. of needs: delta\n"
    "over the tokens of needed literals alone. Second table: do the lexical labels agree? short: steps (needs) with a\n"
    "need out of view. AUC: the chance that a step (need) whose label is whole lost less likelihood than one whose\n"
    "label is short; 0.50: the labels tell nothing. rho: Spearman, delta against the share of needs in view.\n"
    "Intervals: 95 %, whole recordings drawn anew. Steps are drawn around what the reference policy lost, half\n"
    "of them where it lost a need: rows are no rates over a session, and the reference fares worse here than on all.\n"
    "A small model is a witness, not the agent: it shows what can be read off a view."
)


@dataclass(frozen=True, slots=True)
class Delta:
    """One step in one context against the same step with the full history."""

    session: str
    missing: int
    needs: int
    per_token: float
    of_needs: tuple[tuple[bool, float], ...]
    """(visible, delta per token) of each need that has tokens in the scored text."""


def deltas(report: Report, context: str) -> list[Delta]:
    """In the order of the report; a step that the context could not show is left out."""
    full = {(s.session, s.source, s.step): s for s in report.scores if s.context == FULL}
    found = []
    for score in report.scores:
        if score.context == context:
            base = full[score.session, score.source, score.step]
            of_needs = tuple(
                (need.visible, (need.logprob - known.logprob) / need.tokens)
                for need, known in zip(score.needs, base.needs, strict=True)
                if need.tokens
            )
            per_token = score.per_token - base.per_token
            found.append(Delta(_key(score), score.missing, len(score.needs), per_token, of_needs))
    return found


def _key(score: StepScore) -> str:
    return f"{score.source}/{score.session}"


def context_row(report: Report, context: str) -> dict[str, Any]:
    """One context's figures as JSON data."""
    scores = [s for s in report.scores if s.context == context]
    found = deltas(report, context)
    values = [d.per_token for d in found]
    near, worse = (sum(map(test, values)) for test in (lambda v: abs(v) <= NEAR_NATS, lambda v: v < -NEAR_NATS))
    return {
        "context": context,
        "steps": len(scores),
        "mean_context_tokens": mean([s.context_tokens for s in scores]),
        "nats_per_token": mean([s.per_token for s in scores]),
        "nats_per_action": mean([s.logprob for s in scores]),
        "delta_per_token": mean(values),
        "delta_per_token_95": interval(_by_session(found, lambda d: [d.per_token]), mean),
        "delta_median": percentile(values, 0.5) if values else None,
        "near_rate": near / len(values) if values else None,
        "near_95": wilson(near, len(values)),
        "worse_rate": worse / len(values) if values else None,
        "delta_of_needs": mean([delta for d in found for _, delta in d.of_needs]),
        "steps_short": sum(d.missing > 0 for d in found),
    }


def label_row(report: Report, contexts: Sequence[str], name: str, unit: str) -> dict[str, Any]:
    """How the labels and the model's reading go together, as JSON data; `unit` is steps or needs."""
    found = [d for context in contexts for d in deltas(report, context)]
    pairs: Callable[[Delta], list[tuple[float, float]]] = _step_pair if unit == "steps" else _need_pairs
    groups = _by_session(found, pairs)
    every = [pair for group in groups for pair in group]
    short, whole = [d for v, d in every if v < 1], [d for v, d in every if v >= 1]
    return {
        "contexts": name,
        "unit": unit,
        "short": len(short),
        "whole": len(whole),
        "delta_short": mean(short),
        "delta_whole": mean(whole),
        "auc": _auc(every),
        "auc_95": interval(groups, _auc),
        "rho": _rho(every),
        "rho_95": interval(groups, _rho),
    }


def _step_pair(delta: Delta) -> list[tuple[float, float]]:
    return [((delta.needs - delta.missing) / delta.needs, delta.per_token)]


def _need_pairs(delta: Delta) -> list[tuple[float, float]]:
    return [(float(visible), value) for visible, value in delta.of_needs]


def _auc(pairs: Sequence[tuple[float, float]]) -> float | None:
    return auc([d for visible, d in pairs if visible < 1], [d for visible, d in pairs if visible >= 1])


def _rho(pairs: Sequence[tuple[float, float]]) -> float | None:
    return spearman([visible for visible, _ in pairs], [delta for _, delta in pairs])


def _by_session(found: Iterable[Delta], values: Callable[[Delta], list[Any]]) -> list[list[Any]]:
    groups: dict[str, list[Any]] = {}
    for delta in found:
        groups.setdefault(delta.session, []).extend(values(delta))
    return list(groups.values())


def likelihood_json(report: Report) -> dict[str, Any]:
    """The figures, what they were made under, and every score."""
    return {
        "scorer": report.scorer,
        "budget_tokens": report.budget_tokens,
        "sample": asdict(report.sample),
        "sessions": report.sessions,
        "candidates": report.candidates,
        "refused": report.refused,
        "contexts": [context_row(report, context) for context in report.contexts],
        "labels": _label_rows(report),
        "scores": [asdict(score) for score in report.scores],
    }


def _label_rows(report: Report) -> list[dict[str, Any]]:
    policies = [c for c in report.contexts if c not in (FULL, AGAIN, PROLOGUE)]
    groups = [(policy, [policy]) for policy in policies]
    if len(policies) > 1:
        groups.append((POOLED, policies))
    return [label_row(report, contexts, name, unit) for unit in ("steps", "needs") for name, contexts in groups]


def likelihood_table(report: Report) -> str:
    """The report as aligned text: contexts, then labels against likelihood, then how to read it."""
    first = [
        ["context", "steps", "tokens", "nats/tok", "delta (95 %)", "median", "near%", "worse%", "of needs", "short"]
    ]
    first += [_context_cells(context_row(report, context)) for context in report.contexts]
    second = [list(LABEL_COLUMNS)]
    second += [_label_cells(row) for row in _label_rows(report)]
    return "\n".join([_title(report), "", aligned(first, left=1), "", aligned(second, left=2), "", LEGEND])


def _title(report: Report) -> str:
    steps = len({(s.session, s.source, s.step) for s in report.scores})
    sessions = len({_key(s) for s in report.scores})
    sources = sorted({s.source for s in report.scores})
    refused = f"; {report.refused} could not be sent" if report.refused else ""
    return (
        f"{report.scorer}\n{steps} steps of {sessions} recordings ({', '.join(sources)}), out of {report.candidates} "
        f"that qualify in {report.sessions}; budget {report.budget_tokens} tokens, full history up to "
        f"{report.sample.full_tokens}{refused}"
    )


def _context_cells(row: dict[str, Any]) -> list[str]:
    return [
        row["context"],
        str(row["steps"]),
        _number(row["mean_context_tokens"], 0),
        _number(row["nats_per_token"], 3),
        _with_interval(row["delta_per_token"], row["delta_per_token_95"], 3),
        _number(row["delta_median"], 3),
        _percent(row["near_rate"]),
        _percent(row["worse_rate"]),
        _number(row["delta_of_needs"], 3),
        str(row["steps_short"]),
    ]


def _label_cells(row: dict[str, Any]) -> list[str]:
    return [
        row["contexts"],
        row["unit"],
        str(row["short"]),
        str(row["whole"]),
        _number(row["delta_short"], 3),
        _number(row["delta_whole"], 3),
        _with_interval(row["auc"], row["auc_95"], 2),
        _with_interval(row["rho"], row["rho_95"], 2),
    ]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f}"


def _with_interval(value: float | None, around: tuple[float, float] | None, digits: int) -> str:
    if value is None or around is None:
        return _number(value, digits)
    return f"{value:.{digits}f} ({around[0]:.{digits}f} to {around[1]:.{digits}f})"
