"""Every bundled case against foldaway itself. Known failures stand in expected_failures.json, with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foldaway.testing import cases
from foldaway.testing.cases.driver import Foldaway
from foldaway.testing.cases.runner import case_files, load, run_apart

FOLDER = Path(cases.__file__).parents[2] / "data" / "cases"
EXPECTED: dict[str, str] = json.loads(Path(__file__).with_name("expected_failures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", case_files(FOLDER), ids=lambda path: path.stem)
def test_a_case_passes_or_fails_as_listed(path: Path) -> None:
    verdict = run_apart(path, Foldaway())
    if verdict.id in EXPECTED:
        assert verdict.status == "failed", f"{verdict.line()}: take it out of expected_failures.json"
    else:
        assert verdict.status != "failed", "\n".join(verdict.reasons)


def test_all_fifty_seven_cases_are_bundled() -> None:
    assert len(case_files(FOLDER)) == 57


def test_every_listed_failure_is_a_case_and_gives_its_reason() -> None:
    ids = {path.stem for path in case_files(FOLDER)}
    assert set(EXPECTED) <= ids
    assert all(reason.strip() for reason in EXPECTED.values())


def test_every_bundled_case_uses_known_words_only() -> None:
    for path in case_files(FOLDER):
        assert load(path)["id"] == path.stem


def test_only_the_proxy_case_may_not_apply() -> None:
    verdict = run_apart(FOLDER / "deeply-nested-body.json", Foldaway())
    assert verdict.status in ("passed", "not applicable")
