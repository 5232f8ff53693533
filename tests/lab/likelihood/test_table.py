from __future__ import annotations

import json
from typing import Any

import pytest

from foldaway.lab.likelihood import Report, Sample, StepScore, likelihood_json, likelihood_run, likelihood_table
from foldaway.lab.likelihood.run import NeedScore
from foldaway.lab.likelihood.table import context_row, label_row
from foldaway.model.recorded import Recorded


def _score(session: str, context: str, per_token: float, visible: bool = True) -> StepScore:
    need = NeedScore(literal="abc", kind="path", age=9, visible=visible, logprob=2 * per_token, tokens=2)
    return StepScore(
        session=session,
        source="test",
        step=1,
        group="old",
        context=context,
        context_tokens=100,
        logprob=10 * per_token,
        tokens=10,
        needs=(need,),
    )


@pytest.fixture
def report() -> Report:
    """Two sessions: in one the policy loses a need and half a nat a token, in the other nothing."""
    scores = (
        _score("a", "full", -1.0),
        _score("a", "window", -1.5, visible=False),
        _score("b", "full", -2.0),
        _score("b", "window", -2.04),
    )
    return Report(
        scorer="fake",
        budget_tokens=500,
        sample=Sample(),
        contexts=("full", "window"),
        scores=scores,
        sessions=2,
        candidates=2,
        refused=0,
    )


def test_deltas_are_against_the_full_history(report: Report) -> None:
    row = context_row(report, "window")
    assert row["delta_per_token"] == pytest.approx(-0.27)
    assert row["near_rate"] == 0.5
    assert row["worse_rate"] == 0.5
    assert row["steps_short"] == 1
    assert context_row(report, "full")["delta_per_token"] == 0


def test_labels_are_set_against_deltas(report: Report) -> None:
    row = label_row(report, ["window"], "window", "steps")
    assert (row["short"], row["whole"]) == (1, 1)
    assert row["delta_short"] == pytest.approx(-0.5)
    assert row["delta_whole"] == pytest.approx(-0.04)
    assert row["auc"] == 1.0
    assert row["rho"] == pytest.approx(1.0)
    assert label_row(report, ["window"], "window", "needs")["delta_short"] == pytest.approx(-0.5)


def test_the_table_names_scorer_contexts_and_both_units(report: Report) -> None:
    text = likelihood_table(report)
    lines = text.splitlines()
    assert lines[0] == "fake"
    assert lines[1].startswith("2 steps of 2 recordings (test), out of 2 that qualify in 2; budget 500 tokens")
    assert any(line.startswith("window") and "-0.270" in line for line in lines)
    assert sum(line.startswith("window") for line in lines) == 3


def test_the_data_is_json_and_holds_every_score(report: Report) -> None:
    data = json.loads(json.dumps(likelihood_json(report)))
    assert len(data["scores"]) == 4
    assert data["contexts"][1]["context"] == "window"
    assert data["sample"]["reference"] == "window"


def test_a_reader_that_copies_agrees_with_the_labels(far: list[Recorded], copier: Any) -> None:
    found = likelihood_run(far, ["window"], 700, copier)
    row = label_row(found, ["window"], "window", "needs")
    assert row["short"] >= 3
    assert row["auc"] == 1.0
