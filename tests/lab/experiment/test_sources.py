"""Where recordings come from."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from foldaway.lab.experiment.sources import (
    CHOSEN_ON,
    FITTED_SOURCES,
    HELD_OUT,
    Input,
    is_fitted_source,
    source_of,
    with_own_names,
)
from foldaway.model.recorded import Recorded

SCRIPT = Path(__file__).parents[3] / "scripts" / "fit_need.py"


def test_the_fitted_half_is_the_one_the_script_fits_on() -> None:
    if not SCRIPT.is_file():
        pytest.skip("this tree has no scripts/fit_need.py")
    for line in ast.parse(SCRIPT.read_text("utf-8")).body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name) and line.targets[0].id == "FITTED":
            (text,) = [n.value for n in ast.walk(line) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            assert frozenset(text.split()) == FITTED_SOURCES
            return
    pytest.fail("no FITTED in the script")


@pytest.mark.parametrize(
    ("source", "fitted"),
    [
        ("mini-swe-agent", True),
        ("claude-code/entireio-cli", True),
        ("claude-code/entireio-cli/deeper", True),
        ("claude-code/entireio-cli-other", False),
        ("claude-code", False),
        ("pi", False),
    ],
)
def test_a_source_is_fitted_when_it_or_what_it_is_part_of_was(source: str, fitted: bool) -> None:
    assert is_fitted_source(source) is fitted


def test_the_half_follows_from_the_source(make_session: Callable[..., Recorded]) -> None:
    assert Input(make_session("a", 1), "da-code").half == CHOSEN_ON
    assert Input(make_session("a", 1), "pi").half == HELD_OUT


def test_the_source_is_the_folders_headed_by_the_format(tmp_path: Path) -> None:
    deep = tmp_path / "claude-code" / "some-repo" / "x.jsonl"
    assert source_of(deep, tmp_path, "claude-code") == "claude-code/some-repo"
    assert source_of(deep, tmp_path / "claude-code", "claude-code") == "claude-code/some-repo"
    assert source_of(deep, None, "claude-code") == "claude-code/some-repo"
    assert source_of(tmp_path / "openhands-v1" / "y.json", tmp_path, "openhands") == "openhands-v1"


def test_a_linked_recording_lies_below_the_folder_that_names_it(tmp_path: Path) -> None:
    kept, named = tmp_path / "kept" / "x.jsonl", tmp_path / "set" / "some-repo" / "x.jsonl"
    for file in (kept, named):
        file.parent.mkdir(parents=True)
    kept.write_text("")
    named.symlink_to(kept)
    assert source_of(named, tmp_path / "set", "claude-code") == "claude-code/some-repo"


def test_sessions_of_one_name_get_names_of_their_own(make_session: Callable[..., Recorded]) -> None:
    one = make_session("same", 1)
    given = [Input(one, "a"), Input(one, "b"), Input(replace(one, name="other"), "a"), Input(one, "a")]
    assert [i.recorded.name for i in with_own_names(given)] == ["a/same", "b/same", "other", "a/same (2)"]
