"""`foldaway benchmark`: the folder of the published recordings in, one line a recording and policy out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldaway.readers.benchmark import ENTRIES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/benchmark.md").read_text("utf-8")
Chat = Callable[[int], list[dict[str, Any]]]


@pytest.fixture
def recordings(tmp_path: Path, chat: Chat, coding: Path) -> Path:
    """A folder laid out like the published one: one real recording, the others too short to fold anything."""
    for number, entry in ENTRIES.items():
        for name in entry.files:
            file = tmp_path / "data" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(coding.read_bytes() if number == 7 else json.dumps(chat(3)).encode())
    return tmp_path / "data"


def test_every_entry_has_a_line_a_recording_and_policy(foldaway: Any, recordings: Path) -> None:
    ran = foldaway("benchmark", recordings, "--policy", "window,lru", "--json")
    rows = ran.json["results"]
    assert ran.code == 0
    assert [row["entry"] for row in rows] == [n for n, entry in ENTRIES.items() for _ in (*entry.files, *entry.files)]
    assert {row["entry"] for row in rows if row["budget_tokens"] == 32_000} == {1, 2, 12}
    assert [row["commits"] > 0 for row in rows] == [row["entry"] == 7 for row in rows]
    # A plain list does not tell that it is DA-Code's, so the second file of entry 11 counts as held out here.
    assert [(row["session"], row["policy"], row["sessions"]) for row in ran.json["pooled"]] == [
        *(("all recordings: 16", "window", 16), ("all recordings: 16", "lru", 16)),
        *(("held out: 9", "window", 9), ("held out: 9", "lru", 9)),
    ]


def test_the_table_pools_and_says_what_it_means(foldaway: Any, recordings: Path) -> None:
    ran = foldaway("benchmark", recordings, "--policy", "window", "--entry", "7,3")
    lines = ran.text.splitlines()
    assert lines[0].split()[:4] == ["entry", "session", "policy", "budget"]
    assert [line.split()[0] for line in lines[2:6]] == ["3", "7", "all", "all"]
    assert "a proxy, with the recording as witness" in ran.text
    assert "every step weighs the same" in ran.text
    assert "2/2" in ran.talk


def test_prices_reach_the_pooled_bill(foldaway: Any, recordings: Path) -> None:
    options = ("--entry", 7, "--policy", "window", "--read-price", 0, "--write-price", 1, "--json")
    [row] = foldaway("benchmark", recordings, *options).json["pooled"]
    assert row["bill"]["prices"] == {"read": 0, "write": 1}


def test_the_markdown_has_the_parts_and_columns_of_the_page(foldaway: Any, recordings: Path) -> None:
    text = foldaway("benchmark", recordings, "--policy", "window,cwl,auto", "--entry", "3,7", "--markdown").text
    page = PAGE.split("## Results", 1)[1]
    titles = re.compile(r"^(### .*?)(?: \(\d+\))?$", re.MULTILINE)
    assert titles.findall(text) == titles.findall(page)
    heads = [line for line in text.splitlines() if line.startswith(("| policy", "| entry"))]
    assert heads
    assert all(head in page.splitlines() for head in heads[:3])
    details = text.split("### Recording by recording", 1)[1].split("###", 1)[0]
    assert re.findall(r"^\| (\d+) \|.*?\| (window|cwl|auto) \|", details, re.MULTILINE) == [
        *(("3", "window"), ("3", "auto")),
        *(("7", "window"), ("7", "auto")),
    ]


def test_the_page_names_every_recording_of_the_benchmark() -> None:
    for entry in ENTRIES.values():
        assert all(file in PAGE for file in (*entry.files, *entry.stand_ins))


@pytest.mark.parametrize("folder", ["", "no/such/folder"])
def test_without_the_folder_one_line_says_what_it_is(foldaway: Any, folder: str) -> None:
    assert foldaway("benchmark", *([folder] if folder else [])).refused("published recordings", "one folder a source")


def test_a_missing_recording_is_named_and_others_can_be_chosen(foldaway: Any, recordings: Path) -> None:
    (recordings / ENTRIES[5].files[0]).unlink()
    assert foldaway("benchmark", recordings).refused(ENTRIES[5].files[0], "no such file")
    assert foldaway("benchmark", recordings, "--entry", 3, "--policy", "window").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--entry", "13"), ["entry '13'", "1 to 12"]),
        (("--entry", "3,,5"), ["entry ''"]),
        (("--policy", "nix"), ["no policy 'nix'"]),
        (("--markdown", "--json"), ["--markdown and --json"]),
    ],
)
def test_options_that_cannot_be_used_are_named(
    foldaway: Any, recordings: Path, options: tuple[str, ...], words: list[str]
) -> None:
    assert foldaway("benchmark", recordings, *options).refused(*words)
