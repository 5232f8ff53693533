"""Fit the weights of `foldaway.scoring.need` on recorded sessions, and print them with how well they rank.

    python scripts/fit_need.py DATA        # needs scikit-learn: pip install scikit-learn

DATA is a folder with one subfolder a source (two levels for claude-code and codex). Half of the sources (`FITTED`) are
fitted, the others judge. An example is an anchor unmentioned for `OLD` steps or more; it is positive when an action of
the next `HORIZON` steps uses it, by this package's own extraction, not by the lab's labels of need.
"""

from __future__ import annotations

import math
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from foldaway import Session
from foldaway.engine.log import Log
from foldaway.errors import FoldawayError
from foldaway.linking.anchors import AnchorKind, anchors
from foldaway.linking.index import Anchor
from foldaway.model.items import Kind
from foldaway.readers import read_sessions

HORIZON, OLD, EVERY = 12, 4, 8
FITTED = frozenset(
    "claude-code/entireio-cli codex/entire-graph mini-swe-agent tau2-bench da-code langgraph-threads "
    "who-and-when".split()
)
JUDGING = frozenset(
    "claude-code/entire-graph claude-code/packmind-context-evaluator codex/agentv pi openhands-v1 swe-agent "
    "livemcpbench tau-bench".split()
)
CHAINED = ("tau2-bench", "livemcpbench", "tau-bench")
KEPT_NEGATIVES = 0.05
KINDS = tuple(AnchorKind)
HOMES = (Kind.READ, Kind.LISTING, Kind.SEARCH, Kind.COMMAND, Kind.EDIT, Kind.ERROR, Kind.RESULT, Kind.THOUGHT)
NAMES = (
    *("min_age", "seen_age", "used_age", "is_used", "uses", "seen", "by_agent", "company", "position", "home_used_age"),
    *("folder_used_age", "in_folder", "length", "uses*used_age", "used_twice", *KINDS, *HOMES),
)


def features(anchor: Anchor, log: Log, step: int) -> list[float]:
    """What the model may look at: the same that `scoring.need` computes."""

    def age(then: int) -> float:
        return math.log1p(500 if then < 0 else min(500, max(0, step - then)))

    index = log.anchors
    held = anchor.items[-1] if anchor.items else anchor.first_item
    home = log.items[held].kind if held in log.items else Kind.OTHER
    seen, used, uses = age(anchor.last_seen_step), age(anchor.last_used_step), math.log1p(anchor.used)
    folder = index.folder_used_step(anchor.literal)
    home_used = age(max(index.item_used_step(held), index.item_used_step(anchor.first_item)))
    numbers = [min(seen, used), seen, used, float(anchor.used > 0), uses, math.log1p(anchor.seen)]
    numbers += [float(anchor.by_agent), math.log(anchor.company), anchor.position, home_used]
    numbers += [age(folder), float(folder >= 0), math.log(len(anchor.literal)), uses * used, float(anchor.used >= 2)]
    return numbers + [float(anchor.kind is k) for k in KINDS] + [float(home is k) for k in HOMES]


def examples(path: Path, source: str) -> tuple[str, list[list[float]], list[bool]]:
    """(source, features, used soon) of one file; negatives are thinned to `KEPT_NEGATIVES`."""
    rows: list[list[float]] = []
    labels: list[bool] = []
    try:
        recorded = next(iter(read_sessions(path, joined=source in CHAINED)))
    except (FoldawayError, StopIteration):
        return source, rows, labels
    session = Session(
        format=recorded.format, budget=10**9, system=recorded.system, tools=recorded.tools, fixed_over_budget="send"
    )
    chance = random.Random(1)
    pending: list[tuple[int, dict[str, list[float]], set[str]]] = []
    log, looked, due = session.engine.log, 0, EVERY
    for number in range(len(recorded.messages) + 1):
        last = number == len(recorded.messages)
        if not last:
            session.append(recorded.messages[number : number + 1], recorded.origins[number : number + 1])
        for turn in range(looked, log.settled):
            for item in log.items_of_turn(turn):
                said = (log.turns[turn].parts[p] for p in item.parts)
                used = {a for p in said if p.role == "assistant" for a in anchors(p.text)}
                for step, candidates, hits in pending:
                    if step <= item.created_step < step + HORIZON:
                        hits.update(used & candidates.keys())
        looked = log.settled
        if log.step >= due and not log.open:
            due = log.step + EVERY
            old = {
                a.literal: features(a, log, log.step)
                for a in log.anchors.active()
                if not a.said and log.step - max(a.last_seen_step, a.last_used_step) >= OLD
            }
            pending.append((log.step, old, set()))
        for entry in [e for e in pending if last or log.step >= e[0] + HORIZON]:
            pending.remove(entry)
            for literal, row in entry[1].items():
                if literal in entry[2] or chance.random() < KEPT_NEGATIVES:
                    rows.append(row)
                    labels.append(literal in entry[2])
    return source, rows, labels


def main(data: Path) -> None:
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import average_precision_score
    except ImportError:
        sys.exit("scikit-learn is not installed: pip install scikit-learn")
    jobs = [(p, s) for s in sorted(FITTED | JUDGING) for p in sorted((data / s).glob("*")) if p.is_file()]
    if not jobs:
        sys.exit(f"{data}: none of the sources is there ({', '.join(sorted(FITTED | JUDGING))})")
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(examples, *zip(*jobs, strict=True)))

    def part(sources: frozenset[str]) -> tuple[list[Any], list[Any], list[float]]:
        rows = [r for s, rs, _ in found if s in sources for r in rs]
        labels = [y for s, _, ys in found if s in sources for y in ys]
        return rows, labels, [1.0 if y else 1 / KEPT_NEGATIVES for y in labels]

    rows, labels, weights = part(FITTED)
    model = LogisticRegression(max_iter=3000).fit(rows, labels, sample_weight=weights)
    judged, truth, judged_weights = part(JUDGING)
    scores = model.predict_proba(judged)[:, 1]
    precision = average_precision_score(truth, scores, sample_weight=judged_weights)
    lines = [f"{len(rows)} examples fitted, {len(judged)} judged: average precision {precision:.3f}"]
    lines += [f"{name!s:16} {weight:+.3f}" for name, weight in zip(NAMES, model.coef_[0], strict=True)]
    sys.stdout.write("\n".join([*lines, f"{'bias':16} {model.intercept_[0]:+.3f}", ""]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
