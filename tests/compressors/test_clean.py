"""The mildest compressor: only repeats and blank space go; nothing chooses it by content."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.compressors.base import Hint
from foldaway.compressors.clean import Clean
from foldaway.compressors.registry import COMPRESSORS, digest

CLEAN = Clean()


def cleaned(text: str, room: int = 100_000) -> str:
    return CLEAN.digest(text, Hint(), room).text


def test_a_stretch_of_alike_lines_keeps_its_first_and_last_and_a_count() -> None:
    text = "start\n" + "\n".join(f"part {n} of 40" for n in range(40)) + "\nend"
    assert cleaned(text) == "start\npart 0 of 40\n[× 38 lines alike]\npart 39 of 40\nend"


def test_equal_lines_are_one_with_their_count() -> None:
    assert cleaned("a warning\n" * 9 + "done") == "a warning\n[× 9 lines]\ndone"


def test_three_alike_lines_stay_as_they_are() -> None:
    text = "row 1 is here\nrow 2 is here\nrow 3 is here"
    assert cleaned(text) == text


def test_lines_of_numbers_alone_are_values_not_repeats() -> None:
    text = "\n".join(str(n * n) for n in range(30))
    assert cleaned(text) == text


def test_blank_lines_come_one_at_a_time_and_spaces_at_the_end_go() -> None:
    assert cleaned("\n\n\na   \n\n\n\nb\t\n") == "a\n\nb\n"


def test_a_progress_bar_is_what_it_was_in_the_end() -> None:
    assert cleaned("10%\r50%\r100%\nready") == "100%\nready"


def test_it_says_what_is_lost_and_keeps_to_its_room() -> None:
    found = CLEAN.digest("same line\n" * 50, Hint(), 1000)
    assert (found.content, found.lost) == ("cleaned text", "49 repeated lines")
    short = CLEAN.digest("\n".join(f"line {'x' * n}" for n in range(50)), Hint(), 80)
    assert len(short.text) <= 80
    assert short.lost == "its end"


def test_no_content_is_ever_given_to_it() -> None:
    assert CLEAN in COMPRESSORS
    assert COMPRESSORS[-1] is not CLEAN
    assert digest("part 1\n" * 500, Hint(), 200).content != "cleaned text"


@given(text=st.text(alphabet="ab1 \n\r\t", max_size=400), room=st.integers(-1, 400))
def test_never_longer_than_text_or_room_and_always_the_same(text: str, room: int) -> None:
    found = CLEAN.digest(text, Hint(), room)
    assert len(found.text) <= max(0, min(room, len(text)))
    assert found == CLEAN.digest(text, Hint(), room)


@pytest.mark.parametrize("text", ["\n" * 300_000, "x" * 300_000, "a1\n" * 100_000, "\r" * 300_000, " " * 300_000])
def test_hostile_texts_take_linear_time(text: str) -> None:
    start = time.perf_counter()
    CLEAN.digest(text, Hint(), 1000)
    assert time.perf_counter() - start < 3
