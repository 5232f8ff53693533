from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.compressors.excerpt import cut_head, cut_tail, excerpt

MARK = "[cut]"
WHOLE = ("👩‍👩‍👧", "e\u0301", "🇩🇪", "👍🏽", "✈️")


@settings(max_examples=120, deadline=None)
@given(text=st.text(max_size=300), keep=st.integers(0, 120), share=st.floats(0, 1))
def test_an_excerpt_is_the_text_or_its_head_mark_and_tail(text: str, keep: int, share: float) -> None:
    short = excerpt(text, keep, MARK, head_share=share)
    if len(text) <= keep + len(MARK):
        assert short == text
        return
    head, _, tail = short.partition(MARK)
    assert MARK in short
    assert text.startswith(head.rstrip("\n"))
    assert text.endswith(tail.lstrip("\n"))
    assert len(short) <= keep + len(MARK) + 2


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=200), chars=st.integers(-3, 210))
def test_cuts_are_never_longer_than_asked(text: str, chars: int) -> None:
    assert len(cut_head(text, chars)) <= max(0, chars)
    assert len(cut_tail(text, chars)) <= max(0, chars)
    assert text.startswith(cut_head(text, chars))
    assert text.endswith(cut_tail(text, chars))


@pytest.mark.parametrize("sign", WHOLE)
@pytest.mark.parametrize("chars", range(1, 12))
def test_no_cut_falls_inside_a_character(sign: str, chars: int) -> None:
    text = sign * 6
    for piece in (cut_head(text, chars), cut_tail(text, chars)):
        assert piece == sign * (len(piece) // len(sign))


def test_cuts_fall_between_lines_where_there_are_lines() -> None:
    text = "\n".join(f"line {n}" for n in range(100))
    assert excerpt(text, 60, MARK).split("\n") == [
        "line 0",
        "line 1",
        "line 2",
        "line 3",
        MARK,
        *(f"line {n}" for n in range(97, 100)),
    ]
