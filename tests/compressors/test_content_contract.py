"""What the compressors of JSON, tables, pages, prose and payload have in common, on made-up, real and hostile texts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from importlib.resources import files

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldaway.compressors.base import Compressor, Hint
from foldaway.compressors.binary import Binary
from foldaway.compressors.checker import unsupported
from foldaway.compressors.json_data import JsonData
from foldaway.compressors.prose import Prose
from foldaway.compressors.table import TableText
from foldaway.compressors.web import Web
from foldaway.readers import read_sessions

COMPRESSORS: tuple[Compressor, ...] = (JsonData(), TableText(), Web(), Prose(), Binary())
EVERY = pytest.mark.parametrize("compressor", COMPRESSORS, ids=lambda c: c.name)

SHAPED = st.one_of(
    st.text(max_size=400),
    st.text(alphabet='{}[]":,\\ \n0a', max_size=300),
    st.text(alphabet="<>/!-'\" adivscript=\n", max_size=300),
    st.text(alphabet="|,;\t-+ \n1a", max_size=300),
    st.text(alphabet="。！？.! \nA中文#*`-_[](", max_size=300),
)

HOSTILE: dict[str, Callable[[int], str]] = {
    "one long line": lambda n: "x" * n,
    "one long line of words": lambda n: "ab cd " * (n // 6),
    "empty lines": lambda n: "\n" * n,
    "spaces": lambda n: " " * n,
    "opening brackets": lambda n: "[" * n,
    "nested objects": lambda n: '{"a":' * (n // 5),
    "quotes": lambda n: '"' * n,
    "escaped quotes": lambda n: '{"' + '\\"' * (n // 2),
    "backslashes": lambda n: '["' + "\\" * n,
    "opening tags": lambda n: "<div " * (n // 5),
    "unclosed comments": lambda n: "<html><!--" * (n // 10),
    "unclosed scripts": lambda n: "<html><script>" * (n // 14),
    "unclosed attributes": lambda n: "<html><a href=\"'" * (n // 16),
    "unclosed declarations": lambda n: "<![CDATA[<!" * (n // 11),
    "bars": lambda n: "|" * n,
    "commas": lambda n: "a,b\n" + "," * n,
    "csv": lambda n: "id,name,size\n" + "17,abc,28\n" * (n // 10),
    "csv with quotes": lambda n: 'id,name\n"a,"b\n' * (n // 14),
    "json rows": lambda n: "[" + ",".join(['{"id":12,"v":"x y"}'] * (n // 20)) + "]",
    "json lines": lambda n: '{"id":12,"v":[1,2]}\n' * (n // 20),
    "distinct names": lambda n: " ".join(f"name_{k}" for k in range(n // 11)),
    "dots": lambda n: "." * n,
    "dotted chain": lambda n: "a." * (n // 2),
    "slashes": lambda n: "/" * n,
    "path": lambda n: "ab/" * (n // 3),
    "dashes": lambda n: "-a" * (n // 2),
    "chinese": lambda n: "他们说，好的。" * (n // 7),
    "chinese without an end": lambda n: "中" * n,
    "base64": lambda n: "iVBORw0KGgoAAAANSUhEUg9" * (n // 23),
    "base64 lines": lambda n: ("QUJDRDEyMzQ5" * 6 + "\n") * (n // 73),
    "hash signs": lambda n: "# \n" * (n // 3),
    "key values": lambda n: "key_1: 12345\n" * (n // 13),
    "markdown links": lambda n: "[a](" * (n // 4),
}  # fmt: skip


@EVERY
@settings(max_examples=150, deadline=None)
@given(text=SHAPED, room=st.integers(-1, 420))
@example(text="", room=0)
@example(text="[[[", room=2)
@example(text='{"a": 1, "a": [', room=9)
@example(text="one line", room=3)
@example(text="a\r\nb\r\n\r\nc,1\r\nd,2\r\ne,3\r\n", room=12)
@example(text="他们说：不要动。" * 9, room=30)
@example(text="\ud800" * 20, room=10)
def test_any_text_gives_a_digest_that_fits_and_makes_nothing_up(compressor: Compressor, text: str, room: int) -> None:
    assert 0.0 <= compressor.matches(text, Hint()) <= 1.0
    digest = compressor.digest(text, Hint(), room)
    assert len(digest.text) <= max(0, min(room, len(text)))
    assert unsupported(digest.text, text) == ()
    assert compressor.digest(text, Hint(), room) == digest
    for fact in digest.facts:
        assert fact.line >= 1


@EVERY
@pytest.mark.parametrize("text", ["", "one line", "行", "a\r\n", "\n\n\n"])
def test_a_text_that_fits_stays_as_it_is(compressor: Compressor, text: str) -> None:
    assert compressor.digest(text, Hint(), len(text)).text == text
    assert compressor.digest(text, Hint(), len(text)).lost == ""


@EVERY
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_time_grows_with_the_text_and_no_faster(compressor: Compressor, name: str) -> None:
    small, large = HOSTILE[name](20_000), HOSTILE[name](200_000)
    compressor.digest(small, Hint(), 2_000)
    little = min(_seconds(compressor, small) for _ in range(2))
    much = _seconds(compressor, large)
    # Ten times the text; twelve times the work would do, the rest is for a machine that does other things meanwhile.
    assert much < 30 * little + 0.25, f"{little:.3f} s for {len(small):,}, {much:.3f} s for {len(large):,} characters"


def _seconds(compressor: Compressor, text: str) -> float:
    start = time.process_time()
    compressor.matches(text, Hint())
    compressor.digest(text, Hint(), len(text) // 4)
    return time.process_time() - start


@EVERY
@pytest.mark.slow
@pytest.mark.parametrize("name", ["one long line", "empty lines", "nested objects", "csv", "json rows", "opening tags"])
def test_two_megabytes_take_seconds_at_most(compressor: Compressor, name: str) -> None:
    small, large = HOSTILE[name](200_000), HOSTILE[name](2_000_000)
    assert _seconds(compressor, large) < 30 * _seconds(compressor, small) + 1.0


@pytest.mark.parametrize("session", ["tau2-gpt-4.1-retail.json.gz", "who-and-when-30.json.gz"])
def test_digests_of_recorded_results_say_nothing_that_the_results_do_not(session: str) -> None:
    source = files("foldaway.data") / "sessions" / session
    texts = [text for text in _observations(str(source)) if len(text) > 1_500]
    assert len(texts) > 5
    for text in random.Random(7).sample(texts, min(12, len(texts))):
        compressor = max(COMPRESSORS, key=lambda c: (c.matches(text, Hint()), c.name))
        digest = compressor.digest(text, Hint(), len(text) // 4)
        assert unsupported(digest.text, text) == ()
        assert 0.4 * len(text) // 4 < len(digest.text) <= len(text) // 4


def _observations(path: str) -> list[str]:
    found: list[str] = []
    for recorded in read_sessions(path):
        for message in recorded.messages:
            content = message.get("content")
            if message.get("role") in ("tool", "user") and isinstance(content, str):
                found.append(content)
    return found


def test_wanted_lines_are_kept_before_others() -> None:
    lines = [f"The quarter {n} went well, see report_{n}.pdf for more." for n in range(300)]
    lines[211] = "A plain remark on heliotropes."
    text = "\n".join(lines)
    assert "heliotropes" not in Prose().digest(text, Hint(), 1_500).text
    assert "heliotropes" in Prose().digest(text, Hint(wanted=("heliotropes",)), 1_500).text
