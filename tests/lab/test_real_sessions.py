"""The lab on real recordings: the bundled ones, and the shared folder where FOLDAWAY_SHARED points to it."""

from __future__ import annotations

import os
from dataclasses import replace as changed
from pathlib import Path

import pytest

import foldaway
from foldaway.lab import FULL, label, make_ruler, replay
from foldaway.lab.finder import Finder
from foldaway.lab.replay import foldaway_session
from foldaway.lab.timeline import steps_of
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions

BUNDLED = Path(foldaway.__file__).parent / "data" / "sessions"
CODING = BUNDLED / "mini-swe-agent-django-11910.json.gz"
CLAUDE = BUNDLED / "claude-code-context-evaluator.jsonl.gz"


def first(path: Path) -> Recorded:
    return next(iter(read_sessions(path)))


@pytest.mark.parametrize("path", [CODING, CLAUDE], ids=["chat", "anthropic"])
def test_a_coding_session_needs_far_things_and_the_full_history_has_them_all(path: Path) -> None:
    recorded = first(path)
    result = replay(recorded, FULL, 0)
    for tally in result.steps.values():
        assert tally.total > 10
        assert tally.visible == tally.total
    assert result.needs_by_age["strict"][">25"].total > 0
    assert result.needs_by_kind["loose"]["path"].total > 0


@pytest.mark.parametrize("path", [CODING, CLAUDE], ids=["chat", "anthropic"])
def test_a_foldaway_session_keeps_the_budget_and_valid_views(path: Path) -> None:
    result = replay(first(path), "auto", 16_000)
    assert result.error == ""
    assert (result.invalid_views, result.over_silent, result.refused_calls) == (0, 0, 0)
    assert result.commits > 0
    assert 0 < result.bill.share_of(result.full_bill) < 1


def test_what_is_called_reachable_is_brought_back_by_a_recall() -> None:
    recorded = first(CODING)
    ruler = make_ruler(recorded)
    session = foldaway_session(recorded, "auto", 8_000)
    missing = 0
    done = 0
    for step in steps_of(recorded):
        session.append(recorded.messages[done : step.start])
        done = step.start
        view = session.view()
        shown = set[int]().union(*(ruler.message(m).literals for m in view.messages))
        for need in ruler.labels.needs[step.number]:
            items = [item for item in session.items_of(need.newest) if view.covers(item)]
            if need.literal in shown or not items:
                continue
            missing += 1
            texts = [session.recall(str(item)).text for item in items]  # type: ignore[attr-defined]
            assert any(Finder([ruler.labels.literals[need.literal]]).find(text) for text in texts)
    assert missing > 0


@pytest.mark.slow
@pytest.mark.skipif("FOLDAWAY_SHARED" not in os.environ, reason="FOLDAWAY_SHARED is not set")
@pytest.mark.parametrize(
    ("file", "at_least"),
    [
        ("claude-code/entire-graph/76-cd2ea187ff-0.jsonl.gz", 150),
        ("codex/agentv/79-6eaddfe2f9-0.jsonl.gz", 150),
        ("pi/before-compaction.jsonl.gz", 100),
        ("openhands-v1/0535c419f44a.events.jsonl.gz", 60),
    ],
)
def test_long_sessions_have_many_steps_with_needs(file: str, at_least: int) -> None:
    recorded = first(Path(os.environ["FOLDAWAY_SHARED"]) / "data" / file)
    assert sum(any(need.strict for need in step) for step in label(recorded).needs) >= at_least


@pytest.mark.slow
@pytest.mark.skipif("FOLDAWAY_SHARED" not in os.environ, reason="FOLDAWAY_SHARED is not set")
def test_labelling_time_grows_with_the_text_and_not_faster() -> None:
    from time import process_time

    recorded = first(Path(os.environ["FOLDAWAY_SHARED"]) / "data/codex/agentv/79-6eaddfe2f9-0.jsonl.gz")
    half = changed(recorded, messages=recorded.messages[: len(recorded.messages) // 2])
    started = process_time()
    label(half)
    middle = process_time()
    label(recorded)
    assert process_time() - middle < 5 * (middle - started)
