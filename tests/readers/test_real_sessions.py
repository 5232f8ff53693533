"""Real recordings: the bundled ones always, the whole public set where FOLDAWAY_SHARED says it is."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from foldaway.errors import ReadError
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions, recognise
from foldaway.readers.benchmark import ENTRIES, benchmark_budgets, benchmark_entry

SHARED = os.environ.get("FOLDAWAY_SHARED")


def calls(session: Recorded) -> int:
    found = 0
    for message in session.messages:
        found += len(message.get("tool_calls") or ())
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        found += sum(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)
        found += "role" not in message and message["type"].endswith("_call")
    return found


@pytest.mark.parametrize(
    ("file", "format", "sessions", "messages", "steps"),
    [
        ("claude-code-context-evaluator.jsonl.gz", "claude-code", 1, 198, 110),
        ("mini-swe-agent-django-11910.json.gz", "mini-swe-agent", 1, 277, 138),
        ("openhands-6e5782946284.jsonl.gz", "openhands", 1, 120, 59),
        ("tau2-gpt-4.1-retail.json.gz", "tau2-bench", 12, 309, 81),
        ("who-and-when-30.json.gz", "who-and-when", 1, 121, 0),
    ],
)
def test_a_bundled_session_reads_whole(
    bundled: Path, file: str, format: str, sessions: int, messages: int, steps: int
) -> None:
    read = list(read_sessions(bundled / file))
    assert recognise(bundled / file) == format
    assert not any(session.problems for session in read)
    assert len(read) == sessions
    assert sum(len(session.messages) for session in read) == messages
    assert sum(map(calls, read)) == steps


def test_every_bundled_file_is_named_in_the_attribution(bundled: Path) -> None:
    attribution = (bundled / "ATTRIBUTION.md").read_text()
    files = sorted(path.name for path in bundled.glob("*.gz"))
    assert files
    assert [name for name in files if f"`{name}`" not in attribution] == []


def test_memory_does_not_grow_with_lines_that_are_no_messages(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    progress = json.dumps({"type": "progress", "data": {"output": "x" * 1000}}) + "\n"
    message = {"type": "user", "uuid": "1", "message": {"role": "user", "content": "go"}}
    path.write_text(json.dumps(message) + "\n" + progress * 20_000)
    tracemalloc.start()
    try:
        (session,) = read_sessions(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(session.messages) == 1
    assert peak < 2_000_000


def test_an_unknown_benchmark_entry_and_a_missing_file_say_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no benchmark entry 13"):
        benchmark_budgets(13)
    with pytest.raises(ReadError, match="no such file"):
        benchmark_entry(1, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED, reason="FOLDAWAY_SHARED does not point to the public recordings")
class TestThePublicSet:
    def manifest(self) -> list[dict[str, Any]]:
        lines = (Path(str(SHARED)) / "data" / "MANIFEST.jsonl").read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if not entry["file"].startswith("retrieval/")]

    def test_every_recording_has_the_sessions_the_manifest_counts(self) -> None:
        for entry in self.manifest():
            sessions = list(read_sessions(Path(str(SHARED)) / "data" / entry["file"]))
            # 93 of aider's headings have nothing under them.
            empty = 93 if entry["file"].startswith("aider/") else 0
            assert len(sessions) == entry["sessions"] - empty, entry["file"]

    def test_recordings_with_tool_calls_have_as_many_as_the_manifest_counts(self) -> None:
        for entry in self.manifest():
            if entry["file"].startswith("tau2-bench/") and "telecom" in entry["file"]:
                continue  # the manifest counts the calls of the customers too
            sessions = list(read_sessions(Path(str(SHARED)) / "data" / entry["file"]))
            found = sum(map(calls, sessions))
            assert found in (0, entry["steps"]), entry["file"]

    @pytest.mark.parametrize("number", ENTRIES)
    def test_every_benchmark_entry_reads_without_a_problem(self, number: int) -> None:
        sessions = benchmark_entry(number, Path(str(SHARED)) / "data")
        assert sessions
        assert not any(session.problems for session in sessions)
