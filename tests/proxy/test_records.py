"""One log line a request with what was decided, metrics that a parser reads, and no key or word of a conversation."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.proxy.metrics import Counter, Histogram, Metrics
from foldaway.testing.scripted_http import Reply, chat, reply_json

Worlds = Callable[..., Any]
PATH = "/v1/chat/completions"
SECRETS = ("sk-live-KEY", "proxy-TOKEN", "violet", "elephant", "zebra")
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?[0-9.e+-]+)$')


def conversation(turns: int) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"role": "system", "content": "violet system"}]
    for n in range(turns):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": '{"at": "elephant"}'}}
        told += [
            {"role": "user", "content": f"violet {n}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ]
        told.append({"role": "tool", "tool_call_id": f"c{n}", "content": "zebra " * 80})
    return told


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(r.getMessage()) for r in caplog.records if r.name == "foldaway.proxy"]


def test_a_line_tells_what_was_decided(world: Worlds, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "foldaway.proxy")
    made = world([chat(usage={"prompt_tokens": 900, "completion_tokens": 1})], budget=2_000)
    made.ask(PATH, {"model": "m-1", "messages": conversation(40)})
    (line,) = lines(caplog)
    assert (line["path"], line["status"], line["outcome"], line["model"]) == (PATH, 200, "managed", "m-1")
    assert line["changed"]
    assert line["tokens"] <= line["budget"] == 2_000 < line["history_tokens"]
    assert line["trigger"]
    assert line["fresh"] == 120  # the prompt in front is none of the history
    assert 0 <= line["decided_ms"] <= line["added_ms"] <= line["ms"]


def test_the_header_of_an_answer_tells_it_to_the_client(world: Worlds) -> None:
    made = world([chat()], budget=2_000)
    headers = [(b"x-foldaway-session", b'my; "session\xe9')]
    told = made.ask(PATH, {"model": "m-1", "messages": conversation(40)}, headers).header("x-foldaway-view")
    assert re.fullmatch(r"session=my\? \?session\?; branch=0; tokens=\d+; budget=2000; commit=0", told)
    bare = world([chat()]).ask(PATH, {"model": "m-1", "messages": conversation(1)}).header("x-foldaway-view")
    assert bare.endswith("; budget=none")


def test_no_key_no_token_and_no_word_of_a_conversation_is_logged_or_counted(
    world: Worlds, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    refusal = reply_json({"error": {"message": "maximum context length is 900 tokens; elephant"}}, 400)
    made = world([refusal, chat("zebra"), Reply(status=500, pieces=[b"violet"]), chat()], token="proxy-TOKEN")
    headers = [(b"authorization", b"Bearer sk-live-KEY"), (b"x-api-key", b"sk-live-KEY")]
    asked = {"model": "m", "messages": conversation(40)}
    for path in ("/t/proxy-TOKEN" + PATH, "/t/proxy-TOKEN/v1/messages", "/t/proxy-TOKEN/v1/embeddings"):
        made.ask(path, {**asked, "max_tokens": 10}, headers)
    made.ask(PATH, {**asked, "messages": [{"role": "violet", "content": {"elephant": "zebra"}}]}, headers)
    with monkeypatch.context() as patched:

        def fail(*_: Any, **__: Any) -> Any:
            raise KeyError("elephant")

        patched.setattr("foldaway.session.Session.view", fail)
        patched.setattr("foldaway.session.Session.append", fail)
        made.ask("/t/proxy-TOKEN" + PATH, asked, headers)
    made.ask(PATH, b"violet elephant {", [*headers, (b"x-foldaway-token", b"proxy-TOKEN")])
    page = made.ask("/t/proxy-TOKEN/metrics", None, method="GET").content.decode()
    logged = "\n".join(f"{r.getMessage()} {r.exc_text or ''}" for r in caplog.records if r.name.startswith("foldaway"))
    assert len(lines(caplog)) == 7
    for secret in SECRETS:
        assert secret not in logged
        assert secret not in page
    assert "KeyError" in logged


def test_the_store_holds_no_key(world: Worlds, tmp_path: Any) -> None:
    made = world([chat()], store=f"sqlite:///{tmp_path}/s.db", token="proxy-TOKEN")
    headers = [(b"authorization", b"Bearer sk-live-KEY"), (b"x-foldaway-token", b"proxy-TOKEN")]
    made.ask(PATH, {"model": "m", "messages": conversation(2)}, headers)
    made.app.store.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"look" in kept
    for secret in (b"sk-live-KEY", b"proxy-TOKEN"):
        assert secret not in kept


def parsed(page: str) -> dict[str, float]:
    """As the format's grammar has it: HELP and TYPE once before the samples of a metric, then nothing of it again."""
    found: dict[str, float] = {}
    kinds: dict[str, str] = {}
    for line in page.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            assert line.split(" ", 3)[2] not in kinds
            assert line.split(" ", 3)[3]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kind in ("counter", "gauge", "histogram")
            kinds[name] = kind
        else:
            sample = SAMPLE.match(line)
            assert sample, line
            name = re.sub(r"_(bucket|sum|count)$", "", sample[1]) if sample[1] not in kinds else sample[1]
            assert name == list(kinds)[-1]
            assert kinds[name] != "counter" or sample[1].endswith("_total")
            assert f"{sample[1]}{{{sample[2]}}}" not in found
            found[f"{sample[1]}{{{sample[2] or ''}}}"] = float(sample[3])
    assert page.endswith("\n")
    return found


def test_the_metrics_page_is_read_by_a_parser_and_counts_right(world: Worlds) -> None:
    made = world([chat(usage={"prompt_tokens": 900, "completion_tokens": 1})], budget=2_000)
    before = parsed(made.ask("/metrics", None, method="GET").content.decode())
    assert before["foldaway_rounds_total{}"] == 0
    messages = conversation(40)
    for end in (61, 91, 121):
        made.ask(PATH, {"model": "m", "messages": messages[:end]})
    made.ask(PATH, {"model": "m", "messages": messages}, [(b"x-foldaway", b"off")])
    made.ask("/v1/embeddings", {"input": "x"})
    made.ask(PATH, b"{")
    answer = made.ask("/metrics", None, method="GET")
    assert answer.header("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    found = parsed(answer.content.decode())
    route = f'route="{PATH}",status="200"'
    assert found[f'foldaway_requests_total{{outcome="managed",{route}}}'] == 3
    assert found[f'foldaway_requests_total{{outcome="off",{route}}}'] == 1
    assert found['foldaway_requests_total{outcome="passed",route="other",status="200"}'] == 1
    assert found['foldaway_passed_total{reason="not understood"}'] == 1
    assert found["foldaway_history_tokens_total{}"] > 3 * found["foldaway_view_tokens_total{}"] > 0
    assert found["foldaway_decision_seconds_count{}"] == 3
    assert found['foldaway_decision_seconds_bucket{le="+Inf"}'] == 3
    assert found["foldaway_sessions{}"] == 1
    assert sum(v for k, v in found.items() if k.startswith("foldaway_commits_total")) >= 1


def test_buckets_add_up() -> None:
    times = Histogram("t", "t", bounds=(0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        times.add(seconds)
    assert list(times.lines()) == [
        't_bucket{le="0.1"} 2', 't_bucket{le="1"} 3', 't_bucket{le="+Inf"} 4', "t_sum 7.65", "t_count 4"
    ]  # fmt: skip


def test_labels_are_escaped_and_their_number_is_bounded() -> None:
    counter = Counter("c_total", "c")
    for n in range(2_000):
        counter.add(reason=f'a"b\\c\n{n}')
    assert len(counter.values) == 501
    assert next(counter.lines()).startswith('c_total{reason="a\\"b\\\\c\\n0"} 1')
    assert parsed(Metrics().page({}).decode())


def test_a_client_that_left_is_noted(world: Worlds, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "foldaway.proxy")
    made = world([Reply(pieces=[b"a"], pause_seconds=1.0)])
    made.ask(PATH, {"messages": [{"role": "user", "content": "hi"}]}, leave_after=0)
    (line,) = lines(caplog)
    assert (line["status"], line["notes"]) == (499, ["client gone"])
