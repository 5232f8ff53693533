"""`foldaway replay`: sessions, policies and budgets in; rows out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldaway.readers import read_sessions

Put = Callable[[str, Any], Path]
Chat = Callable[[int], list[dict[str, Any]]]


def test_the_command_of_the_readme_writes_views_and_a_row(foldaway: Any, coding: Path, tmp_path: Path) -> None:
    views = tmp_path / "v.jsonl"
    ran = foldaway("replay", coding, "--policy", "auto", "--budget", 16_000, "--views", views, "--json")
    lines = [json.loads(line) for line in views.read_text("utf-8").splitlines()]
    [row] = ran.json["results"]
    messages = list(next(read_sessions(coding)).messages)
    assert (ran.code, row["calls"], len(lines)) == (0, 138, 138)
    assert [line["call"] for line in lines] == list(range(138))
    assert all(messages[line["seen"]]["role"] == "assistant" for line in lines)
    assert lines[0]["messages"] == messages[: lines[0]["seen"]]
    assert len(lines[-1]["messages"]) < lines[-1]["seen"]
    assert row["peak_tokens"] <= 16_000
    assert ran.json["pooled"] == []


def test_full_history_runs_once_and_is_its_own_bill(foldaway: Any, put: Put, chat: Chat) -> None:
    path = put("list.json", chat(12))
    ran = foldaway("replay", path, "--policy", "full,window", "--budget", "4000,5k", "--json")
    rows = ran.json["results"]
    assert [(r["policy"], r["budget_tokens"]) for r in rows] == [("full", None), ("window", 4000), ("window", 5000)]
    assert rows[0]["bill"]["share_of_full"] == 1
    assert rows[1]["peak_tokens"] <= 4000 < rows[0]["peak_tokens"]


def test_prices_reach_the_bill(foldaway: Any, put: Put, chat: Chat) -> None:
    path = put("list.json", chat(12))
    options = ("--policy", "full", "--read-price", 0, "--write-price", 1, "--json")
    bill = foldaway("replay", path, *options).json["results"][0]["bill"]
    assert bill["prices"] == {"read": 0, "write": 1}
    # With reading for nothing, each token is paid once: the tokens of the last call.
    assert bill["tokens_at_base_price"] == foldaway("replay", path, *options).json["results"][0]["peak_tokens"]


def test_the_table_has_a_row_a_run_and_says_what_it_means(foldaway: Any, talks: Path) -> None:
    ran = foldaway("replay", talks, "--policy", "window", "--budget", 4000)
    lines = ran.text.splitlines()
    assert sum(line.startswith("tau2") for line in lines if "  window" in line) == 12
    assert any(line.startswith("all 12 sessions") for line in lines)
    assert "a proxy, with the recording as witness" in ran.text
    assert "12/12" in ran.talk


def test_sessions_of_one_file_can_be_joined_or_picked(foldaway: Any, talks: Path) -> None:
    joined = foldaway("replay", talks, "--joined", "--policy", "full", "--json").json["results"]
    picked = foldaway("replay", talks, "--session", "task-12", "--policy", "full", "--json").json["results"]
    assert len(joined) == len(picked) == 1
    assert joined[0]["calls"] > 10 * picked[0]["calls"] / 2 > 0


def test_a_folder_is_searched_and_what_is_no_session_is_counted(
    foldaway: Any, put: Put, chat: Chat, tmp_path: Path
) -> None:
    put("a.json", chat(2))
    put("readme.txt", "no session")
    (tmp_path / "below").mkdir()
    put("below/b.json", chat(3))
    ran = foldaway("replay", tmp_path, "--policy", "auto", "--json")
    assert [(r["session"], r["calls"]) for r in ran.json["results"]] == [("a", 2), ("b", 3)]
    assert "1 files hold no usable session: readme.txt" in ran.talk
    assert ran.json["pooled"][0]["sessions"] == 2


def test_a_model_counts_its_own_tokens(foldaway: Any, put: Put) -> None:
    messages = [{"role": "user", "content": "ภาษาไทย " * 400}, {"role": "assistant", "content": "ok"}]
    path = put("thai.json", messages)
    counted = {
        model: foldaway("replay", path, "--policy", "full", "--model", model, "--json").json["results"][0][
            "peak_tokens"
        ]
        for model in ("gpt-4o", "gpt-4")
    }
    assert counted["gpt-4o"] < counted["gpt-4"]


def test_several_jobs_give_the_rows_of_one(foldaway: Any, put: Put, chat: Chat) -> None:
    paths = [put("a.json", chat(12)), put("b.json", chat(9))]
    rows = []
    for jobs in (1, 2):
        found = foldaway("replay", *paths, "--budget", 4000, "--jobs", jobs, "--json").json["results"]
        rows.append([{k: v for k, v in row.items() if not k.startswith("ms_")} for row in found])
    assert rows[0] == rows[1]


def test_a_budget_that_cannot_be_kept_is_flagged_in_every_call(foldaway: Any, put: Put, chat: Chat) -> None:
    ran = foldaway("replay", put("b.json", chat(3)), "--policy", "window", "--budget", 4, "--json")
    [row] = ran.json["results"]
    assert row["over_flagged"] + row["refused_calls"] == row["calls"] == 3
    assert row["over_silent"] == 0


def test_a_session_the_wire_refuses_does_not_stop_the_others(
    foldaway: Any, put: Put, chat: Chat, tmp_path: Path
) -> None:
    messages = chat(3)
    # More than a session takes, less than JSON does.
    messages[3]["x"] = json.loads("[" * 300 + "]" * 300)
    deep = put("deep.json", messages)
    put("b.json", chat(2))
    ran = foldaway("replay", tmp_path, "--policy", "auto", "--json")
    assert [row["session"] for row in ran.json["results"]] == ["b"]
    assert "1 files hold no usable session: deep.json" in ran.talk
    assert foldaway("replay", deep).refused("deep.json", "nested")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--budget", "-1"), ["budget '-1'"]),
        (("--budget", "0"), ["budget '0'"]),
        (("--budget", "16000,,8000"), ["budget ''"]),
        (("--policy", "nix"), ["no policy 'nix'", "full", "auto"]),
        (("--low-share", "0.9", "--high-share", "0.3"), ["low_share 0.9"]),
        (("--read-price", "-1"), ["--read-price"]),
        (("--jobs", "0"), ["--jobs"]),
        (("--session", "nix"), ["no session 'nix'"]),
        (("--views", "v.jsonl"), ["--views", "one run", "these are 3"]),
    ],
)
def test_options_that_cannot_be_used_are_named(
    foldaway: Any, put: Put, chat: Chat, options: tuple[str, ...], words: list[str]
) -> None:
    assert foldaway("replay", put("a.json", chat(1)), *options).refused(*words)


def test_nothing_to_replay_is_refused(foldaway: Any) -> None:
    assert foldaway("replay").refused("--bundled")


def test_views_that_cannot_be_written_are_an_error(foldaway: Any, put: Put, chat: Chat) -> None:
    ran = foldaway("replay", put("a.json", chat(1)), "--policy", "auto", "--views", "/no/such/folder/v.jsonl")
    assert ran.code == 1
    assert ran.talk.startswith("error: /no/such/folder/v.jsonl: No such file")
