"""Token efficiency over time: how much of what came to be needed stood in the view, per 1,000 tokens sent (S3.9).

Sessions are cut into equal parts by their model calls, so that long and short ones can be pooled: the first tenth of
each with the first tenth of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.lab.replay import CallFigures, SessionMaker, foldaway_session, make_ruler, replay
from foldaway.lab.table import aligned
from foldaway.model.recorded import Recorded

PARTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The same stretch of all sessions together."""

    calls: int = 0
    needs: int = 0
    seen: int = 0
    """Needs that stood in the view."""
    tokens: int = 0
    """Prompt tokens sent."""

    @property
    def per_1000(self) -> float | None:
        """Needs seen for 1,000 prompt tokens; None where nothing was sent."""
        return 1000 * self.seen / self.tokens if self.tokens else None

    def plus(self, call: CallFigures) -> Part:
        return Part(
            calls=self.calls + 1, needs=self.needs + call.needs, seen=self.seen + call.seen,
            tokens=self.tokens + call.tokens,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """One policy over all sessions."""

    policy: str
    budget_tokens: int
    parts: tuple[Part, ...]
    failed: tuple[str, ...] = ()
    """Sessions whose replay broke off, with why; what they had shown until then is left out."""


def efficiency(
    recordings: Sequence[Recorded], policy: str, budget: int, *, parts: int = PARTS,
    make: SessionMaker = foldaway_session, progress: Callable[[int, int, str], None] | None = None,
) -> Efficiency:  # fmt: skip
    """Replay the sessions under one policy and budget (tokens). Deterministic."""
    pooled, failed = [Part()] * parts, []
    for number, recorded in enumerate(recordings):
        calls: list[CallFigures] = []
        result = replay(recorded, policy, budget, ruler=make_ruler(recorded), make=make, each=calls.append)
        if result.error:
            failed.append(f"{recorded.name}: {result.error}")
            continue
        for call in calls:
            place = min(parts - 1, call.number * parts // max(1, result.calls))
            pooled[place] = pooled[place].plus(call)
        if progress is not None:
            progress(number + 1, len(recordings), f"{policy} {recorded.name}")
    return Efficiency(policy=policy, budget_tokens=budget, parts=tuple(pooled), failed=tuple(failed))


def efficiency_table(results: Sequence[Efficiency]) -> str:
    """One row a policy: needs seen per 1,000 prompt tokens, part by part of the session, and over all."""
    count = max((len(r.parts) for r in results), default=0)
    head = ["policy", "budget", *(f"{100 * n // count}-{100 * (n + 1) // count}%" for n in range(count)), "all"]
    rows = [
        [r.policy, str(r.budget_tokens), *(_shown(part.per_1000) for part in r.parts), _shown(whole(r).per_1000)]
        for r in results
    ]
    legend = "needs that stood in the view, per 1,000 prompt tokens, by part of the session"
    broken = [f"! {text}" for r in results for text in r.failed]
    return "\n".join([aligned([head, *rows], left=1), legend, *broken])


def efficiency_rows(results: Sequence[Efficiency]) -> list[dict[str, Any]]:
    return [
        {
            "policy": r.policy, "budget_tokens": r.budget_tokens, "failed": list(r.failed),
            "parts": [
                {"calls": p.calls, "needs": p.needs, "seen": p.seen, "tokens": p.tokens, "per_1000": _round(p.per_1000)}
                for p in (*r.parts, whole(r))
            ],
        }
        for r in results
    ]  # fmt: skip


def whole(result: Efficiency) -> Part:
    """All parts together."""
    return Part(
        calls=sum(p.calls for p in result.parts), needs=sum(p.needs for p in result.parts),
        seen=sum(p.seen for p in result.parts), tokens=sum(p.tokens for p in result.parts),
    )  # fmt: skip


def _shown(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"


def _round(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 6)
