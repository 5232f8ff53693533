"""Streams put through a filter: what concerns no recall is untouched, and how the bytes are cut does not matter."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.proxy.answers import BY_FORMAT, Listening
from foldaway.proxy.answers.base import Filter
from foldaway.testing.replies import Call, Reply, reply_stream

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses")
TOOL = Listening(tool="recall")
DIRECTIVES = Listening(directives=True)
RECALL = Call(name="recall", arguments={"ids": "#4-#6", "find": "port"})
READ = Call(name="read", arguments={"path": "src/ä/☃.py"})
pytestmark = pytest.mark.parametrize("format", FORMATS)


def through(
    format: str, rounds: Sequence[Sequence[bytes]], listening: Listening, sizes: Sequence[int] = ()
) -> tuple[bytes, Filter]:
    """What the client gets of these rounds, cut into pieces of these sizes in turn (none: uncut)."""
    filtered = BY_FORMAT[format].filter(listening)
    out = b""
    for number, events in enumerate(rounds):
        out += filtered.again() if number else b""
        stream = b"".join(events)
        at, turn = 0, 0
        while at < len(stream):
            size = sizes[turn % len(sizes)] if sizes else len(stream)
            out += filtered.feed(stream[at : at + size])
            at, turn = at + size, turn + 1
    return out + filtered.finish(), filtered


def objects(stream: bytes) -> list[dict[str, Any]]:
    whole, _, _ = stream.replace(b"\r\n", b"\n").rpartition(b"\n\n")
    return [json.loads(line[6:]) for line in whole.split(b"\n") if line.startswith(b"data: {")]


def texts(format: str, stream: bytes) -> str:
    """The text that a client has in the end."""
    said = []
    for told in objects(stream):
        if "choices" in told or format == "openai_chat":
            said += [c["delta"].get("content") or "" for c in told.get("choices", ())]
        elif told["type"] == "content_block_delta":
            said.append(told["delta"].get("text", ""))
        elif told["type"] == "response.output_text.delta":
            said.append(told["delta"])
    return "".join(said)


REPLIES = {
    "text": Reply(text="All done: ports 80 and 443 [see notes]. ☃"),
    "text-and-calls": Reply(text="Let me look.", calls=(READ, READ)),
    "thinking": Reply(thinking="hm, the port", text="It is 80."),
    "calls-only": Reply(calls=(READ,)),
    "brackets": Reply(text="a[0] = b[RETRIEV] [RETRIEVE [[RETRIEVE: unfinished"),
    "line-end-in-a-directive": Reply(text="[RETRIEVE: #1\n] is no directive, and [RETRIEVE:] is none"),
}
LISTENINGS = {"tool": TOOL, "directives": DIRECTIVES}


@pytest.mark.parametrize("listening", LISTENINGS)
@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_stream_with_nothing_to_take_out_is_byte_identical(
    format: str, listening: str, reply: str, ends: str
) -> None:
    events = [e.replace(b"\n", ends.encode()) for e in reply_stream(format, REPLIES[reply])]
    events.insert(1, b": a comment" + 2 * ends.encode())
    events.insert(3, b'event: new\ndata: {"type": "something.new", "x": 1}\n\n'.replace(b"\n", ends.encode()))
    out, filtered = through(format, [events], LISTENINGS[listening])
    if listening == "directives" and reply in ("brackets", "line-end-in-a-directive"):
        # What could have been a directive waits and comes in other pieces; nothing of it is lost.
        assert texts(format, out) == REPLIES[reply].text
    elif listening == "directives" and "[" in REPLIES[reply].text:
        assert texts(format, out) == REPLIES[reply].text
    else:
        assert out == b"".join(events)
    assert not filtered.recalls
    assert not filtered.broken


@pytest.mark.parametrize("reply", REPLIES)
def test_no_cut_of_the_bytes_changes_what_the_client_gets(format: str, reply: str) -> None:
    for listening in (TOOL, DIRECTIVES):
        events = reply_stream(format, REPLIES[reply])
        expected, _ = through(format, [events], listening)
        for sizes in ([1], [2], [3, 50], [7, 1, 1000]):
            assert through(format, [events], listening, sizes)[0] == expected


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_recalls_are_found_wherever_the_bytes_are_cut(format: str, sizes: list[int]) -> None:
    first = reply_stream(format, Reply(text="Let me see.", thinking="so", calls=(RECALL,), id="a"))
    second = reply_stream(format, Reply(text="Port 80.", calls=(READ, READ), id="b"))
    expected, one = through(format, [first, second], TOOL)
    out, other = through(format, [first, second], TOOL, sizes)
    assert out == expected
    assert (one.usage, one.output, one.others, one.id) == (other.usage, other.output, other.others, other.id)


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_directives_are_found_wherever_the_bytes_are_cut(format: str, sizes: list[int]) -> None:
    events = reply_stream(format, Reply(text="First [a] [RETRIEVE: #3, #5] \nthen\n[RETRIEVE: port]."))
    out, filtered = through(format, [events], DIRECTIVES, sizes)
    assert texts(format, out) == "First [a]  \nthen\n"
    assert [r.ids for r in filtered.recalls] == ["#3, #5", "port"]


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_directives_that_are_only_quoted_go_on_as_they_came(format: str, sizes: list[int]) -> None:
    text = "Say [RETRIEVE: #1] so:\n```\n[RETRIEVE: #2]\n```\n> [RETRIEVE: #3]\nor `[RETRIEVE: #4]`"
    stream = [reply_stream(format, Reply(text=text))]
    out, filtered = through(format, stream, DIRECTIVES, sizes)
    assert texts(format, out) == text
    assert filtered.recalls == []


def test_a_recall_alone_asks_and_leaves_the_own_text(format: str) -> None:
    events = reply_stream(format, Reply(text="Let me see.", calls=(RECALL,)))
    filtered = BY_FORMAT[format].filter(TOOL)
    out = filtered.feed(b"".join(events))
    assert [(r.ids, r.find) for r in filtered.recalls] == [("#4-#6", "port")]
    assert not filtered.others
    assert not filtered.broken
    assert texts(format, out) == "Let me see."
    assert b"recall" not in out
    assert b"#4-#6" not in out
    # Its end waits until it is clear that no further round follows.
    assert not any(mark in out for mark in (b"[DONE]", b"message_stop", b"response.completed", b'"tool_calls"'))


def test_the_tool_of_the_proxy_is_taken_out_from_among_parallel_calls(format: str) -> None:
    events = reply_stream(format, Reply(calls=(READ, RECALL, READ, RECALL)))
    out, filtered = through(format, [events], TOOL)
    assert len(filtered.recalls) == 2
    assert filtered.others
    assert b"recall" not in out
    assert called(format, out) == [("read", dict(READ.arguments))] * 2  # type: ignore[arg-type]


def called(format: str, stream: bytes) -> list[tuple[str, Any]]:
    """The calls that a client puts together, by index; every index has its head."""
    names: dict[int, str] = {}
    pieces: dict[int, str] = {}
    for told in objects(stream):
        if format == "openai_chat":
            for call in (c for choice in told["choices"] for c in choice["delta"].get("tool_calls", ())):
                at = call["index"]
                names.setdefault(at, call["function"].get("name", ""))
                pieces[at] = pieces.get(at, "") + call["function"]["arguments"]
        elif told["type"] == "content_block_start" and told["content_block"]["type"] == "tool_use":
            names[told["index"]] = told["content_block"]["name"]
        elif told["type"] == "content_block_delta" and "partial_json" in told["delta"]:
            pieces[told["index"]] = pieces.get(told["index"], "") + told["delta"]["partial_json"]
        elif told["type"] == "response.output_item.done" and told["item"]["type"] == "function_call":
            names[told["output_index"]] = told["item"]["name"]
            pieces[told["output_index"]] = told["item"]["arguments"]
    return [(names[at], json.loads(pieces[at])) for at in sorted(names)]


def test_arguments_that_are_no_json_count_as_words(format: str) -> None:
    if format == "anthropic_messages":
        events = reply_stream(format, Reply(calls=(RECALL,)))
        events = [e.replace(b'\\"', b"'") if b"partial_json" in e else e for e in events]
    else:
        events = reply_stream(format, Reply(calls=(Call(name="recall", arguments="#4, {port"),)))
    _, filtered = through(format, [events], TOOL)
    assert "#4" in filtered.recalls[0].ids


def test_recalls_without_a_further_round_leave_an_answer_that_says_so(format: str) -> None:
    out, _ = through(format, [reply_stream(format, Reply(calls=(RECALL,)))], TOOL)
    assert "could not be brought back" in texts(format, out)
    assert b'"tool_calls"' not in out
    assert b'"tool_use"' not in out
    ends = {"openai_chat": "stop", "anthropic_messages": "end_turn", "openai_responses": "completed"}
    assert f'"{ends[format]}"'.encode() in out


def test_a_cut_stream_and_an_error_let_through_what_came_and_allow_no_further_round(format: str) -> None:
    events = reply_stream(format, Reply(text="Let me see.", calls=(RECALL,)))
    filtered = BY_FORMAT[format].filter(TOOL)
    sent = b"".join(events[:-3])
    out = filtered.feed(sent[:-5]) + filtered.finish()
    assert filtered.broken
    assert texts(format, out) == "Let me see."
    error = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n'
    plain = reply_stream(format, Reply(text="half of"))[:4]
    out, filtered = through(format, [[*plain, error]], TOOL)
    assert filtered.broken
    assert b"overloaded_error" in out


@given(data=st.binary(max_size=400), sizes=st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_bytes_that_are_no_stream_go_on_as_they_came(format: str, data: bytes, sizes: list[int]) -> None:
    out, _ = through(format, [[data]], TOOL, sizes)
    assert out == data


JUNK: Any = st.sampled_from(
    [None, True, -1, 99, 0.5, "", "recall", "text", "[RETRIEVE: x]", [], {}, [[]], [{}], {"a": 1}]
)
REAL = {
    format: reply_stream(format, Reply(text="a [RETRIEVE: #1]\nb", thinking="hm", calls=(READ, RECALL, READ)))
    for format in FORMATS
}


def mangled(told: Any, at: int, junk: Any) -> Any:
    """The same with its value number `at`, counted in depth, replaced."""
    if at == 0:
        return junk
    at -= 1
    for key in told if isinstance(told, dict) else range(len(told)) if isinstance(told, list) else ():
        size = values(told[key])
        if at < size:
            copy = dict(told) if isinstance(told, dict) else list(told)
            copy[key] = mangled(told[key], at, junk)
            return copy
        at -= size
    return told


def values(told: Any) -> int:
    inner = told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    return 1 + sum(map(values, inner))


@settings(max_examples=300)
@given(
    hits=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60), JUNK), min_size=1, max_size=6),
    directives=st.booleans(),
)
def test_events_of_any_shape_raise_nothing(format: str, hits: list[tuple[int, int, Any]], directives: bool) -> None:
    events = list(REAL[format])
    for where, at, junk in hits:
        event = events[where % len(events)]
        head, mark, data = event.partition(b"data: ")
        if not data.startswith((b"[DONE]", b"null")):
            told = json.loads(data)
            data = json.dumps(mangled(told, at % values(told), junk)).encode() + b"\n\n"
            events[where % len(events)] = head + mark + data
    through(format, [events, events], DIRECTIVES if directives else TOOL)


def test_long_streams_take_time_in_proportion(format: str) -> None:
    def seconds(times: int, make: Callable[[int], Reply]) -> float:
        stream = b"".join(reply_stream(format, make(times)))
        best = float("inf")
        for _ in range(3):
            begun = time.process_time()
            through(format, [[stream]], DIRECTIVES if "[" in make(1).text else TOOL, [4096])
            best = min(best, time.process_time() - begun)
        return best

    for make in (
        lambda n: Reply(text="some words [0] and [RETRIEVE: #1]\n" * n),
        lambda n: Reply(calls=(Call(name="recall", arguments={"ids": "#1, " * 10 * n}),)),
    ):
        # Eight times the length: quadratic would be 64 times.
        assert seconds(800, make) < 24 * seconds(100, make) + 0.02
