"""The scripts of `make bench-adapters`, played in a loop without any framework."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module that has all but the frameworks."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("adapters_bench")
    for name in [name for name in sys.modules if name.startswith("adapters_bench")]:
        del sys.modules[name]


def played(bench: Any, script: Any, budget: int | None) -> Any:
    recorder = bench.Recorder(script=script, format="openai_chat")
    importlib.import_module("adapters_bench_lengths").play(recorder, budget, "gpt-4o")
    assert recorder.finished
    assert recorder.invalid == 0
    return recorder


@pytest.mark.parametrize("task", ["Records", "Edits"])
def test_what_a_step_needs_stands_in_the_whole_history_and_comes_back_by_recalls(bench: Any, task: str) -> None:
    script = getattr(bench, task)(3, 40).script()
    whole, folded = played(bench, script, None), played(bench, script, 5_000)
    assert all(at_once for at_once, _, _ in whole.needed)
    assert whole.recalls == 0 < folded.recalls
    assert max(folded.tokens) <= 5_000 < max(whole.tokens)
    assert sum(later for _, _, later in folded.needed) >= 0.9 * len(folded.needed)


def test_a_recorded_session_plays_with_the_needs_that_the_lab_labels(bench: Any) -> None:
    script = bench.recorded("mini-swe-agent-django-11910.json.gz")
    whole = played(bench, script, None)
    assert script.steps > 100
    assert len(whole.needed) > 50
    assert sum(at_once for at_once, _, _ in whole.needed) >= 0.98 * len(whole.needed)


def test_a_bill_counts_what_is_sent_again_and_what_the_words_of_recalls_cost(bench: Any) -> None:
    whole = played(bench, bench.Records(3, 20).script(), None)
    assert whole.bill(bench.ANTHROPIC) < whole.bill(bench.NO_CACHE) == pytest.approx(sum(whole.tokens) / 1000)
    whole.recalls += 8
    assert whole.bill(bench.NO_CACHE) == pytest.approx(sum(whole.tokens) / 1000 + 1)


def test_a_row_has_a_cell_for_each_column(bench: Any) -> None:
    line = bench.row("none", "nothing", [played(bench, bench.Records(3, 20).script(), None)])
    assert line.count("|") == bench.head(bench.COLUMNS).splitlines()[0].count("|")
