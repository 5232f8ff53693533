"""Figures of retrieval as rows and as tables to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.lab.results import wilson
from foldaway.lab.retrieval import CUTS, Measured
from foldaway.lab.retrieval_chance import Unasked
from foldaway.lab.retrieval_stale import Staleness
from foldaway.lab.table import aligned

LEGEND = (
    "Queries of the half that no setting was chosen on. R@k: share of a query's gold documents among the first k;\n"
    "MRR: mean of 1/rank of the first gold document (0 past rank 10). ms: median a query, indexing not counted.\n"
    "95 %: interval of the MRR, queries drawn again 2,000 times. bm25: by the book, independent of the store;\n"
    "words, vectors: the store's own halves. +/-: for hybrids, queries whose first gold document stands higher or\n"
    "lower than in the better half (by MRR); lead: the MRR above that half's, with its interval, queries drawn in\n"
    "pairs. meaning: forty made-up memories, asked for without a word in common or in another language."
)
EXACT_LEGEND = "Queries for a literal that one document alone holds: share with that document first."
STALE_LEGEND = (
    "Each fact told twice with different values. old first: the old version stood before the new one; unmarked: it\n"
    "stood among the first five without being marked as superseded. Shares of the facts that came back at all."
)

CHANCE_LEGEND = (
    "Questions as a session asks them unasked, at most four passages each: own: out of the asker's memories, others:\n"
    "out of another user's, where no answer is; silent: questions to others' memories that got nothing."
)


def retrieval_rows(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """JSON data: one row a set, ranker and half."""
    return [
        {
            "set": one.set_name,
            "ranker": one.ranker,
            "half": "chosen on" if chosen_on else "held out",
            "queries": len(half.answers),
            **{f"recall@{cut}": round(half.recall(cut), 4) for cut in CUTS},
            "mrr": round(half.mrr, 4),
            "mrr_95": [round(bound, 4) for bound in half.mrr_interval],
            "ms_median": round(half.median_ms, 2),
        }
        for one in measured
        for chosen_on in (False, True)
        for half in (one.half(chosen_on=chosen_on),)
        if half.answers
    ]


def retrieval_table(measured: Sequence[Measured]) -> str:
    lines = [["set", "ranker", "queries", *(f"R@{cut}" for cut in CUTS), "MRR", "95 %", "ms", "+/-", "lead"]]
    for one in measured:
        half = one.half(chosen_on=False)
        if not half.answers:
            continue
        figures = [f"{half.recall(cut):.3f}" for cut in CUTS]
        lines.append(
            [
                one.set_name,
                one.ranker,
                str(len(half.answers)),
                *figures,
                f"{half.mrr:.3f}",
                _span(half.mrr_interval),
                f"{half.median_ms:.1f}",
                *_against_halves(half, measured),
            ]
        )
    return f"{aligned(lines, left=2)}\n\n{LEGEND}"


def _span(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:.2f}-{bounds[1]:.2f}"


def _against_halves(hybrid: Measured, measured: Sequence[Measured]) -> tuple[str, str]:
    if not hybrid.ranker.startswith("hybrid"):
        return "", ""
    wanted = {"words", hybrid.ranker.replace("hybrid", "vectors")}
    halves = [one.half(chosen_on=False) for one in measured if one.set_name == hybrid.set_name and one.ranker in wanted]
    if not halves:
        return "", ""
    better = max(halves, key=lambda half: half.mrr)
    (higher, lower), (lead, low, high) = hybrid.against(better), hybrid.lead(better)
    return f"+{higher}/-{lower}", f"{lead:+.3f} ({low:+.2f} to {high:+.2f})"


def exact_rows(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    return [
        {
            "set": one.set_name,
            "ranker": one.ranker,
            "queries": len(one.answers),
            "first": round(one.recall(1), 4),
            "missed": [answer.query.text for answer in one.answers if not answer.recall(1)][:5],
        }
        for one in measured
        if one.answers
    ]


def exact_table(measured: Sequence[Measured]) -> str:
    lines = [["set", "ranker", "queries", "first%"]]
    lines += [
        [one.set_name, one.ranker, str(len(one.answers)), f"{100 * one.recall(1):.1f}"]
        for one in measured
        if one.answers
    ]
    return f"{aligned(lines, left=2)}\n\n{EXACT_LEGEND}"


def stale_rows(found: Sequence[Staleness]) -> list[dict[str, Any]]:
    return [
        {
            "set": one.set_name,
            "told": one.told,
            "facts": one.facts,
            "found": one.found,
            "old_first": one.old_first,
            "unmarked": one.unmarked,
        }
        for one in found
    ]


def stale_table(found: Sequence[Staleness]) -> str:
    lines = [["set", "told with", "facts", "found", "old first%", "95 %", "unmarked%"]]
    for one in found:
        low, high = wilson(one.old_first, one.found)
        share, unmarked = (f"{100 * part / max(1, one.found):.1f}" for part in (one.old_first, one.unmarked))
        lines.append(
            [
                one.set_name,
                one.told,
                str(one.facts),
                str(one.found),
                share,
                f"{100 * low:.0f}-{100 * high:.0f}",
                unmarked,
            ]
        )
    return f"{aligned(lines, left=2)}\n\n{STALE_LEGEND}"


def chance_rows(found: Sequence[Unasked]) -> list[dict[str, Any]]:
    return [
        {
            "set": one.set_name,
            "least_sure": one.least_sure,
            "questions": one.questions,
            "answered": one.answered,
            "own": round(one.own, 3),
            "others": round(one.others, 3),
            "silent": round(one.silent, 4),
        }
        for one in found
    ]


def chance_table(found: Sequence[Unasked]) -> str:
    lines = [["set", "least sure", "questions", "answered", "own", "others", "silent%"]]
    lines += [
        [
            one.set_name,
            f"{one.least_sure:g}",
            str(one.questions),
            str(one.answered),
            f"{one.own:.2f}",
            f"{one.others:.2f}",
            f"{100 * one.silent:.0f}",
        ]
        for one in found
    ]
    return f"{aligned(lines, left=1)}\n\n{CHANCE_LEGEND}"
