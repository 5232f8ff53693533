"""Writing small recorded files, and where the bundled ones are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import foldaway.readers
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions


@pytest.fixture
def bundled() -> Path:
    """The folder of the sessions that come with the package."""
    return Path(foldaway.readers.__file__).parents[1] / "data" / "sessions"


@pytest.fixture
def from_lines(tmp_path: Path) -> Callable[..., Recorded]:
    """The one session of a file with these records, one a line (strings are written as they are)."""

    def read(*records: Any) -> Recorded:
        path = tmp_path / "some.jsonl"
        path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records), encoding="utf-8")
        (session,) = read_sessions(path)
        return session

    return read


@pytest.fixture
def from_document(tmp_path: Path) -> Callable[[Any], list[Recorded]]:
    """The sessions of a file with this JSON document."""

    def read(value: Any) -> list[Recorded]:
        path = tmp_path / "some.json"
        path.write_text(json.dumps(value, indent=1), encoding="utf-8")
        return list(read_sessions(path))

    return read
