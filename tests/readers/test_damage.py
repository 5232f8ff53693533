"""Damaged files: what is whole is used, what is not is named with its line, and nothing raises but ReadError."""

from __future__ import annotations

import gzip
import json
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldaway.errors import ReadError
from foldaway.readers import read_sessions, recognise

HELLO = json.dumps({"role": "user", "content": "hello"}).encode()
GOOD = HELLO + b"\n"
KEYS = """type kind role content message messages payload uuid source history trajectory traj task_id simulations info
question message_history values lc kwargs id context attributes events result agent_id tool_calls Task system_message
observation action thought llm_message tool_call input item output summary"""


def read(path: Path, data: bytes) -> tuple[list[str], list[tuple[int, str]]]:
    path.write_bytes(data)
    (session,) = read_sessions(path)
    return [m["content"] for m in session.messages], [(p.line, p.what) for p in session.problems]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'{"role": "user", "conte\n', "not JSON"),
        (b'{"role": "user", "content": "\xff\xfe"}\n', "not UTF-8"),
        (b"\x00\x00\x00\n", "not JSON"),
        (b"[" * 200_000 + b"\n", "nested too deeply"),
        (b"17\n", "bare int"),
        (b"[1, 2]\n", "a JSON list"),
        (b'{"some": "thing"}\n', "expected a message"),
        (b'{"n": ' + b"9" * 5000 + b"}\n", "not usable JSON"),
    ],
)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_bad_line_is_reported_with_its_number_and_the_rest_is_used(
    tmp_path: Path, bad: bytes, said: str, place: str
) -> None:
    at = {"first": 0, "middle": 1, "last": 2}[place]
    lines = [GOOD, GOOD]
    lines.insert(at, bad)
    texts, ((line, what),) = read(tmp_path / "x", b"".join(lines))
    assert texts == ["hello", "hello"]
    assert line == at + 1
    assert said in what
    assert "expected" in what


def test_blank_lines_and_windows_line_ends_and_a_byte_order_mark_are_no_problem(tmp_path: Path) -> None:
    texts, problems = read(tmp_path / "x", b"\xef\xbb\xbf" + HELLO + b"\r\n\r\n  \r\n" + HELLO)
    assert (texts, problems) == (["hello", "hello"], [])


def test_endless_bad_lines_are_counted_not_kept(tmp_path: Path) -> None:
    texts, problems = read(tmp_path / "x", GOOD + b"{\n" * 5000)
    assert texts == ["hello"]
    assert len(problems) == 101
    assert problems[-1] == (0, "4900 more problems like these")


def test_a_gzip_file_that_ends_early_gives_the_lines_before(tmp_path: Path) -> None:
    noise = random.Random(7)
    lines = [json.dumps({"role": "user", "content": str(noise.random())}).encode() + b"\n" for _ in range(20_000)]
    packed = gzip.compress(b"".join(lines))
    texts, problems = read(tmp_path / "x", packed[: len(packed) // 2])
    assert 1000 < len(texts) < 20_000
    assert "gzip" in problems[-1][1]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n \n",
        b"\x00" * 100,
        b"\xff\xfe" + "hello".encode("utf-16-le"),
        b"just some text\n",
        b"{}",
        b"[]",
        b"null",
        b'{"messages": []}',
        b'{"messages": 5}',
        b'{\n "messages": [\n {"role": "user", ',
        b"[" * 100_000,
        b'{"messages": ' * 5000 + b"1" + b"}" * 5000,
        gzip.compress(b""),
        gzip.compress(GOOD)[:12],
        b"\x1f\x8b",
        b"PK\x03\x04 no zip",
        b"# a markdown file\n\nwith text\n",
        b'{"type": "session_meta", "payload": {}}\n',
    ],
)
def test_a_file_without_a_session_is_a_read_error_that_names_the_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(data)
    with pytest.raises(ReadError) as caught:
        list(read_sessions(path))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_document_that_breaks_off_names_the_line_and_what_was_expected(tmp_path: Path) -> None:
    path = tmp_path / "half.json"
    path.write_text('{\n "messages": [\n  {"role": "user",\n   "content": oops}\n ]\n}')
    with pytest.raises(ReadError, match="expected") as caught:
        recognise(path)
    assert caught.value.line == 4


def test_missing_files_folders_and_impossible_paths_are_read_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path, Path("a\0b")):
        with pytest.raises(ReadError):
            list(read_sessions(path))


def test_a_zip_that_is_no_inspect_log_is_a_read_error(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ReadError, match="without samples"):
        recognise(path)


def test_a_list_with_a_broken_element_uses_the_others(tmp_path: Path) -> None:
    texts, problems = read(tmp_path / "x", b"[" + HELLO + b", null, " + HELLO + b"]")
    assert texts == ["hello", "hello"]
    assert problems[0][1].startswith("element 1")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_to_a_real_recording_raises_anything_but_read_error(
    tmp_path: Path, bundled: Path, data: st.DataObject
) -> None:
    source = data.draw(st.sampled_from(sorted(bundled.glob("*.gz"))))
    raw = bytearray(gzip.decompress(source.read_bytes())[:60_000])
    end = data.draw(st.integers(1, len(raw)))
    for place in data.draw(st.lists(st.integers(0, end - 1), max_size=4)):
        raw[place] = data.draw(st.sampled_from(b'\x00\xff\n{}[]"x'))
    path = tmp_path / "damaged"
    path.write_bytes(raw[:end])
    try:
        sessions = list(read_sessions(path))
    except ReadError:
        return
    assert all(session.messages for session in sessions)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_odd_shape_of_a_known_log_raises_anything_but_read_error(tmp_path: Path, data: st.DataObject) -> None:
    """Known keys with values of any kind under them."""
    keys = st.sampled_from(KEYS.split())
    words = st.sampled_from(
        [
            "user",
            "assistant",
            "tool",
            "response_item",
            "message",
            "ActionEvent",
            "constructor",
            "human",
            "ai",
            "session",
        ]
    )
    leaf = st.one_of(st.none(), st.booleans(), st.integers(), words)
    value = st.recursive(leaf, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(keys, v, max_size=5)))
    records = data.draw(st.lists(st.dictionaries(keys, value, min_size=1, max_size=6), min_size=1, max_size=4))
    path = tmp_path / "odd"
    path.write_text("\n".join(json.dumps(r) for r in records) if data.draw(st.booleans()) else json.dumps(records))
    try:
        sessions = list(read_sessions(path))
    except ReadError:
        return
    assert all(isinstance(message, dict) for session in sessions for message in session.messages)
