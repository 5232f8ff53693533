from __future__ import annotations

import pytest

from foldaway.compressors.base import Fact
from foldaway.compressors.facts import HEAD_CHARS, facts

RUN = """\
collected 215 items
pytest 8.4.1 on build 5f0c6a1e-0000-4a4b-8c8d-1234567890ab
FAILED tests/test_a.py::test_x - AssertionError: 3 != 4
3 failed, 212 passed in 4.21s
region: eu-west-1
Process exited with code 1
HTTP 503
"""


@pytest.mark.parametrize(
    "fact",
    [
        Fact("version", "8.4.1", 2),
        Fact("id", "5f0c6a1e-0000-4a4b-8c8d-1234567890ab", 2),
        Fact("error", "FAILED tests/test_a.py::test_x - AssertionError: 3 != 4", 3),
        Fact("failed", "3", 4),
        Fact("passed", "212", 4),
        Fact("region", "eu-west-1", 5),
        Fact("exit code", "1", 6),
        Fact("status", "503", 7),
    ],
    ids=lambda fact: fact.key,
)
def test_exact_values_come_with_their_line(fact: Fact) -> None:
    assert fact in facts(RUN)


def test_facts_stand_in_the_text_as_they_are_spelled() -> None:
    lines = RUN.split("\n")
    for fact in facts(RUN):
        assert fact.value in lines[fact.line - 1]


def test_of_a_long_series_the_smallest_and_the_largest_are_told() -> None:
    text = "\n".join(f"loss: {value}.25" for value in (5, 9, 31, 2, *range(10, 30)))
    found = facts(text)
    assert Fact("smallest loss", "2.25", 4) in found
    assert Fact("largest loss", "31.25", 3) in found


def test_the_most_telling_facts_are_kept_when_there_are_too_many() -> None:
    text = "\n".join(f"key_{n}: value_{n}" for n in range(200)) + "\nexit code 7\n"
    found = facts(text, 5)
    assert len(found) == 5
    assert found[-1] == Fact("exit code", "7", 201)


def test_line_numbers_hold_behind_the_part_of_a_giant_text_that_is_not_read() -> None:
    text = "filler words here\n" * (HEAD_CHARS // 10) + "exit code 3\n"
    assert facts(text)[-1] == Fact("exit code", "3", text.count("\n"))


def test_the_number_of_the_first_line_can_be_given() -> None:
    assert facts("\nexit code 3", first=40) == (Fact("exit code", "3", 41),)
