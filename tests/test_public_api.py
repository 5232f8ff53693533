"""The front door is what it says, no more and no less."""

from __future__ import annotations

import subprocess
import sys

import foldaway


def test_all_is_pinned_and_sorted() -> None:
    assert foldaway.__all__ == [
        "Action", "Change", "Commit", "Explanation", "FoldawayError", "Item", "Kind", "Level", "MemoryStore",
        "MissingExtra", "OverBudget", "PlanEntry", "Prices", "ProposedPlan", "Quirks", "ReadError", "RecallError",
        "Recalled", "Session", "SettingsError", "SqliteStore", "StoreError", "Triggers", "View", "WireError",
        "delimiter_result", "delimiter_tool", "fit", "tool",
    ]  # fmt: skip
    assert foldaway.__all__ == sorted(foldaway.__all__)


def test_every_name_is_there_and_says_what_it_is() -> None:
    for name in foldaway.__all__:
        assert (getattr(foldaway, name).__doc__ or "").strip(), name


def test_every_public_method_of_a_session_has_a_docstring_or_a_telling_name() -> None:
    plain = {"notes", "note", "items", "level", "unpin"}
    methods = {n for n, v in vars(foldaway.Session).items() if callable(v) and not n.startswith("_")}
    assert {n for n in methods if not getattr(foldaway.Session, n).__doc__} <= plain


def test_errors_have_one_root() -> None:
    errors = [getattr(foldaway, n) for n in foldaway.__all__ if n.endswith(("Error", "Extra", "OverBudget"))]
    assert len(errors) == 8
    assert all(issubclass(error, foldaway.FoldawayError) for error in errors)


def test_importing_prints_nothing_and_loads_no_optional_package() -> None:
    script = "import sys, foldaway; print(sorted({'hypothesis', 'pydantic', 'numpy', 'pytest'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
