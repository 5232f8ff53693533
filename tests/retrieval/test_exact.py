"""Literals of a query, and which texts hold them whole."""

from __future__ import annotations

from time import process_time

import pytest

from foldaway.retrieval.exact import MOST_LITERALS, holds, literals


@pytest.mark.parametrize(
    ("query", "literal"),
    [
        ("what broke src/rates/load.py", "src/rates/load.py"),
        ("status of W5061109 please", "W5061109"),
        ("who is anna64@example.com", "anna64@example.com"),
        ('the plate "196 ZMV"', "196 ZMV"),
        ("订单号DD-2024-1029的情况", "DD-2024-1029"),
        ("《年度预算说明》在哪里", "年度预算说明"),
        ("see https://palmer.com/login now", "https://palmer.com/login"),
        ("call 9165597555", "9165597555"),
        ("where is max_retry_count set", "max_retry_count"),
    ],
)
def test_ids_paths_addresses_and_quotations_are_literals(query: str, literal: str) -> None:
    assert literal in literals(query)[0]


@pytest.mark.parametrize("query", ["input/output of the model", "what happened in 2024", "how do I say no"])
def test_ordinary_words_and_years_are_not(query: str) -> None:
    assert literals(query)[0] == []


def test_there_are_only_so_many() -> None:
    assert len(literals(" ".join(f"ab-{n}-cd{n}" for n in range(50)))[0]) == MOST_LITERALS


@pytest.mark.parametrize("unit", ["a", "退", "a_", "1-", "a.", "+"])
def test_a_long_run_of_signs_costs_its_length(unit: str) -> None:
    # By its square this is minutes.
    start = process_time()
    literals(unit * (200_000 // len(unit)))
    assert process_time() - start < 5


def test_addresses_are_found_in_their_whole_length() -> None:
    assert literals("write to <ann.b+c@mail.example.org>, please")[0] == ["ann.b+c@mail.example.org"]


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("shipped (ord-12) today", 3),
        ("ORD-12 shipped", 2),
        ("ord-125 shipped", 1),
        ("ord-12-3 shipped", 1),
        ("my.ord-12 shipped", 1),
        ("订单ord-12已发货", 3),
        ("ends with ord-12.", 3),
        ("ord 12", 0),
    ],
)
def test_a_literal_stands_whole_where_nothing_makes_it_longer(text: str, grade: int) -> None:
    assert holds(text, "ord-12") == grade


def test_a_whole_occurrence_counts_behind_one_inside_something_longer() -> None:
    assert holds("ord-123, then ord-12", "ord-12") == 3
