"""What the compressors of JSON, tables, pages, prose and payload have in common, on made-up and real texts."""

from __future__ import annotations

import random
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
