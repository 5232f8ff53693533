from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from foldaway.lab.replay import FULL
from foldaway.lab.runner import Run, progress_on_stderr, replay_all
from foldaway.model.recorded import Recorded


def sessions(small: Recorded) -> list[Run]:
    shorter = replace(small, name="shorter", messages=small.messages[:5])
    return [Run(shorter, FULL, 1), Run(small, FULL, 1), Run(shorter, FULL, 2)]


def test_results_come_in_the_order_asked_for(small: Recorded) -> None:
    results = replay_all(sessions(small))
    assert [(r.session, r.budget_tokens) for r in results] == [("shorter", 1), ("small", 1), ("shorter", 2)]


def test_several_processes_find_what_one_finds(small: Recorded, tmp_path: Path) -> None:
    assert replay_all(sessions(small), jobs=2, label_folder=tmp_path) == replay_all(sessions(small))


def test_progress_is_told_until_all_is_done(small: Recorded) -> None:
    told: list[tuple[int, int]] = []
    replay_all(sessions(small), progress=lambda done, total, _: told.append((done, total)))
    assert told[-1] == (3, 3)
    assert told == sorted(told)


def test_nothing_to_do_is_done_at_once() -> None:
    assert replay_all([]) == []


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    progress_on_stderr(1, 2, "lru a")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("1/2 lru a")
