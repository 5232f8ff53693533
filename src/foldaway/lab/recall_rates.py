"""How often a session's own recall by words brings back what a recorded agent needed, and how much it brings along.

What is asked stands in `recall_questions`. The session holds all messages before the step at which the agent needed
the literal, unfolded: what is measured is the search, not the policy.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.lab.finder import normalise, occurs
from foldaway.lab.needs import LabelCache
from foldaway.lab.recall_questions import KINDS, Question, questions
from foldaway.lab.runner import Progress
from foldaway.model.recorded import Recorded
from foldaway.session import Session

ROOM = 100_000_000
"""Tokens: nothing folds."""


@dataclass(slots=True)
class Rates:
    """Sums over the questions of one kind."""

    asked: int = 0
    first: int = 0
    """The literal stands in the item that is found first."""
    third: int = 0
    """... in one of the first three."""
    recalled: int = 0
    """It stands in what a model reads when it asks the tool."""
    chars: list[int] = field(default_factory=list)
    """Of each of these answers."""
    seconds: list[float] = field(default_factory=list)
    misses: list[tuple[str, Question]] = field(default_factory=list)
    """(session, question) of answers without the literal."""


def rates(
    recorded: Sequence[Recorded], labels: LabelCache, most: int, progress: Progress | None = None
) -> dict[str, Rates]:
    """By kind of question; `most` of each for each recorded session."""
    found: dict[str, Rates] = {kind: Rates() for kind in KINDS}
    for number, one in enumerate(recorded):
        asked: defaultdict[int, list[Question]] = defaultdict(list)
        for question in questions(one, labels.get(one), most):
            asked[question.position].append(question)
        _ask(one, asked, found)
        if progress is not None:
            progress(number + 1, len(recorded), one.name)
    return found


def rates_rows(found: Mapping[str, Rates]) -> list[dict[str, Any]]:
    """One a kind that was asked; shares 0..1, times in ms."""
    return [
        {
            "kind": kind, "asked": one.asked, "at_1": one.first / one.asked, "at_3": one.third / one.asked,
            "recalled": one.recalled / one.asked, "chars": statistics.fmean(one.chars), "most_chars": max(one.chars),
            "ms": 1000 * statistics.median(one.seconds),
        }
        for kind, one in found.items()
        if one.asked
    ]  # fmt: skip


def rates_table(found: Mapping[str, Rates]) -> str:
    lines = [f"{'words':<8}{'asked':>7}{'@1':>7}{'@3':>7}{'recalled':>10}{'chars':>8}{'most':>8}{'ms':>7}"]
    for row in rates_rows(found):
        shares = f"{row['at_1']:>7.3f}{row['at_3']:>7.3f}{row['recalled']:>10.3f}"
        sizes = f"{row['chars']:>8.0f}{row['most_chars']:>8}{row['ms']:>7.1f}"
        lines.append(f"{row['kind']:<8}{row['asked']:>7}{shares}{sizes}")
    return "\n".join(lines)


def _ask(recorded: Recorded, asked: dict[int, list[Question]], found: dict[str, Rates]) -> None:
    session = Session(budget=ROOM, format=recorded.format, system=recorded.system, recall="tool")
    done = 0
    for position in sorted(asked):
        fresh = recorded.messages[done:position]
        session.append(fresh, recorded.origins[done:position] if recorded.origins else ())
        done = position
        for question in asked[position]:
            _count(session, question, found[question.kind], recorded.name)


def _count(session: Session, question: Question, into: Rates, name: str) -> None:
    start = time.perf_counter()
    answer = session.recall_result({"ids": question.query})
    into.seconds.append(time.perf_counter() - start)
    refs = [hit.ref for hit in session.search(question.query, 3)]
    held = [_holds(session, int(ref), question.literal) for ref in refs]
    into.asked += 1
    into.first += any(held[:1])
    into.third += any(held[:3])
    recalled = occurs(normalise(question.literal), normalise(answer))
    into.recalled += recalled
    into.chars.append(len(answer))
    if not recalled:
        into.misses.append((name, question))


def _holds(session: Session, item: int, literal: str) -> bool:
    log = session.engine.log
    return occurs(normalise(literal), normalise(log.result_text(log.items[item])))
