from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.compressors.superseded import digest, overlap, same_result, spans

OLD = "\n".join(f"value_{n} = {n}" for n in range(60))
NEW = OLD.replace("value_7 = 7", "value_7 = 70").replace("value_8 = 8", "value_8 = 80").replace("value_40 = 40\n", "")


def test_the_lines_that_only_the_older_reading_has_are_told_and_kept() -> None:
    found = digest(OLD, NEW, 31, 400)
    assert found.text.split("\n")[0] == "[superseded by #31; 3 of 60 lines differ: lines 8–9, 41]"
    for line in ("value_7 = 7", "value_8 = 8", "value_40 = 40"):
        assert line in found.text.split("\n")


def test_line_numbers_in_front_do_not_count() -> None:
    numbered = "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(OLD.split("\n"), 1))
    assert overlap(numbered, OLD).gone == ()
    assert overlap(OLD, numbered).share == 1.0


def test_the_same_text_is_named_once() -> None:
    assert digest(OLD, OLD, 12, 100).text == same_result(12) == "[same as #12]"


def test_lines_that_come_twice_must_come_twice() -> None:
    assert overlap("a b\na b\n", "a b\n").gone == (2,)


@pytest.mark.parametrize(("numbers", "said"), [((), "no lines"), ((3,), "lines 3"), ((3, 4, 5, 9), "lines 3–5, 9")])
def test_runs_of_lines_are_joined(numbers: tuple[int, ...], said: str) -> None:
    assert spans(numbers) == said


@settings(max_examples=100, deadline=None)
@given(older=st.text(max_size=200), newer=st.text(max_size=200), room=st.integers(-1, 250))
def test_a_digest_is_never_longer_than_asked_or_than_the_older_text(older: str, newer: str, room: int) -> None:
    assert len(digest(older, newer, 5, room).text) <= max(0, min(room, len(older)))


@pytest.mark.parametrize("line", ["", "x", "x\n", "1\t\n", "abc def\n"])
def test_time_grows_with_the_texts_and_no_faster(line: str) -> None:
    def seconds(size: int) -> float:
        text = line * (size // max(1, len(line)))
        start = time.process_time()
        digest(text, text + "end", 5, 2000)
        return time.process_time() - start

    assert seconds(400_000) < 30 * seconds(40_000) + 0.25
