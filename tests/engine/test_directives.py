"""Which directives in a model's words ask for something, and which only show one."""

from __future__ import annotations

import time

import pytest

from foldaway.engine.directives import LONGEST, directives

ASKING = [
    ("Let me look. [RETRIEVE: #7]", ["#7"]),
    ("[RETRIEVE: #7].", ["#7"]),
    ("**[RETRIEVE: #7]**", ["#7"]),
    ("[RETRIEVE: #3] and [RETRIEVE: gate code].", ["#3", "gate code"]),
    ("first\r\n[RETRIEVE: #4]\r\nlast", ["#4"]),
    ("```\ncode\n```\n[RETRIEVE: #8]", ["#8"]),
    ("use `x`: [RETRIEVE: #7]", ["#7"]),
    ("~~~~\n~~~\n[RETRIEVE: #9]\n~~~~\n[RETRIEVE: #1]", ["#1"]),
]
QUOTING = [
    "Write [RETRIEVE: #7] and it comes back.", "```\n[RETRIEVE: #7]\n```", "```[RETRIEVE: #7]```", "`[RETRIEVE: #7]`",
    '"[RETRIEVE: #7]"', "> as it said: [RETRIEVE: #7]", "~~~\n[RETRIEVE: #7]", "[RETRIEVE: #1\n]", "[RETRIEVE: ]",
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), ASKING)
def test_a_directive_that_ends_its_line_asks(text: str, wanted: list[str]) -> None:
    assert list(directives(text)) == wanted


@pytest.mark.parametrize("text", QUOTING)
def test_one_in_code_in_a_quotation_or_with_words_behind_it_does_not(text: str) -> None:
    assert list(directives(text)) == []


def test_of_a_run_beyond_reason_only_the_end_counts_and_it_takes_no_long_time() -> None:
    begun = time.process_time()
    found = list(directives("[RETRIEVE: #1] " * 20_000))
    assert 0 < len(found) <= LONGEST // 15
    assert time.process_time() - begun < 1.0
