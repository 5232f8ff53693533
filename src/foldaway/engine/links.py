"""Links that somebody told us of, as ledger entries: what was declared (`needs=`) and what was inferred.

They come back from the ledger in any order, since the graph keeps the strongest statement of each source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foldaway.engine.log import Log
from foldaway.linking.graph import Link, Provenance

WHY_CHARS = 200
KEPT = frozenset({"needs", "infer", "merge"})
"""Entries of the ledger that `restore` takes in."""


def objection(log: Log, source: int, target: int, confidence: float) -> str:
    """Why an inferred link between two known items makes no sense; "" when it does."""
    if not 0.0 <= confidence <= 1.0:  # not a number is neither
        return f"a confidence of {confidence}: expected 0 to 1"
    if source < 0 or target < 0:
        return "a copy that a recall put in depends on nothing but its original"
    if log.items[target].turn >= log.items[source].turn:
        return f"#{source} cannot depend on #{target}, which came with it or after it"
    return ""


def inferred(source: int, target: int, confidence: float, why: str) -> Link:
    return Link(source=source, target=target, weight=confidence, provenance=Provenance.INFERRED, why=why)


def says_already(log: Log, link: Link) -> bool:
    """Whether an inferred link is known with as much confidence."""
    return any(k.target == link.target and k.weight >= link.weight for k in log.graph.inferred(link.source))


def infer_entry(link: Link, made_by: str) -> dict[str, Any]:
    """An inferred link for the ledger; `made_by`: the model, or the pass over the archive."""
    return {
        "type": "infer", "item": link.source, "needs": link.target, "weight": link.weight, "why": link.why,
        "source": made_by,
    }  # fmt: skip


def restore(log: Log, entries: Iterable[Mapping[str, Any]]) -> None:
    """Take in what the ledger tells of links and merged results. O(entries)."""
    for entry in entries:
        match entry["type"]:
            case "needs":
                for target in entry["needs"]:
                    log.link(
                        Link(
                            source=entry["item"], target=target, weight=entry["weight"],
                            provenance=Provenance.DECLARED, why=entry["why"],
                        )
                    )  # fmt: skip
            case "infer":
                log.link(inferred(entry["item"], entry["needs"], entry["weight"], entry["why"]))
            case "merge":
                log.merge(entry["item"], entry["into"])
            case _:
                pass
