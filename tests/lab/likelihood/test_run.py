from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldaway.errors import SettingsError
from foldaway.lab.likelihood import CachedScorer, Report, likelihood_run
from foldaway.lab.likelihood.run import AGAIN, PROLOGUE, StepScore
from foldaway.lab.replay import FULL
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions

BUDGET = 700
BUNDLED = Path(__file__).parents[3] / "src/foldaway/data/sessions/mini-swe-agent-django-11910.json.gz"


@pytest.fixture
def report(far: list[Recorded], copier: Any) -> Report:
    return likelihood_run(far, ["window", "auto"], BUDGET, copier)


def _one(report: Report, context: str, step: int) -> StepScore:
    (score,) = [s for s in report.scores if (s.context, s.step, s.session) == (context, step, "far-0")]
    return score


def test_every_step_is_scored_in_every_context(report: Report) -> None:
    assert report.contexts == (FULL, AGAIN, "window", "auto", PROLOGUE)
    assert len(report.scores) == 3 * 2 * len(report.contexts)
    assert (report.sessions, report.candidates, report.refused) == (3, 6, 0)


def test_a_need_out_of_view_costs_likelihood_exactly_there(report: Report) -> None:
    full, window = _one(report, FULL, 13), _one(report, "window", 13)
    assert (full.missing, full.group) == (0, "old")
    assert window.missing > 0
    lost = next(n for n in window.needs if n.literal == "src/part_00_tool.py")
    kept = next(n for n in full.needs if n.literal == "src/part_00_tool.py")
    assert not lost.visible
    assert lost.age == 12
    assert lost.tokens == kept.tokens
    assert kept.logprob > lost.logprob


def test_a_recent_need_stands_in_every_policys_view(report: Report) -> None:
    for policy in ("window", "auto"):
        assert _one(report, policy, 14).missing == 0
    assert _one(report, PROLOGUE, 14).missing == 1


def test_views_are_smaller_than_the_history_and_the_floor_is_the_least(report: Report) -> None:
    full, window, floor = (_one(report, context, 13).context_tokens for context in (FULL, "window", PROLOGUE))
    assert full > window > floor


def test_the_history_is_asked_for_twice_in_a_row(far: list[Recorded], copier: Any) -> None:
    likelihood_run(far[:1], [], BUDGET, copier)
    (first, again, *_) = copier.asked
    assert first[:2] == again[:2]
    assert (first[2], again[2]) == (0, 1)


def test_a_second_run_asks_the_model_nothing(far: list[Recorded], copier: Any, tmp_path: Path) -> None:
    first = likelihood_run(far, ["window"], BUDGET, CachedScorer(copier, tmp_path))
    cached = CachedScorer(copier, tmp_path)
    assert likelihood_run(far, ["window"], BUDGET, cached) == first
    assert cached.asked == 0


def test_progress_counts_up_to_all_questions(far: list[Recorded], copier: Any) -> None:
    seen: list[tuple[int, int]] = []
    likelihood_run(far, ["window"], BUDGET, copier, progress=lambda done, total, what: seen.append((done, total)))
    assert seen == [(n + 1, 24) for n in range(24)]


def test_a_budget_that_evicts_nothing_is_refused(far: list[Recorded], copier: Any) -> None:
    with pytest.raises(SettingsError, match=r"no step to score.*smaller budget"):
        likelihood_run(far, ["window"], 100_000, copier)


def test_a_real_session_can_be_scored(copier: Any) -> None:
    (recorded,) = read_sessions(BUNDLED)
    report = likelihood_run([recorded], ["window"], 4_000, copier)
    assert {s.group for s in report.scores} == {"old", "recent"}
    for score in report.scores:
        assert score.tokens > 0
        assert score.logprob < 0
