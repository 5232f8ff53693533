"""The tables of the walkthroughs are what the presets do today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("walkthroughs", ROOT / "scripts" / "walkthroughs.py")
assert _SPEC is not None
assert _SPEC.loader is not None
walkthroughs = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(walkthroughs)


@pytest.mark.parametrize("policy", ["cwl", "self-gc", "layered", "ace", "auto"])
def test_the_table_is_what_the_command_prints(policy: str) -> None:
    page = walkthroughs.PAGE.read_text("utf-8")
    tables = {found.group(2): found.group(0) for found in walkthroughs.BLOCK.finditer(page)}
    assert walkthroughs.ledger_of(policy) in tables[policy], "python scripts/walkthroughs.py writes them anew"
