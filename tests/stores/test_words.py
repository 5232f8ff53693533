"""Cutting texts into terms, and ranking."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.stores._words import MAX_QUERY_TERMS, MAX_TERM_CHARS, Term, query_terms, score, terms, weights


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Lift", ["the", "lift"]),
        ("crate-lift_v2.py,", ["crate-lift_v2.py", "crate", "lift", "v2", "py"]),
        ("(C++)", ["c++", "c"]),
        ("http://10.0.0.7:8080/x", ["http://10.0.0.7:8080/x", "10.0.0.7:8080", "http", "10", "0", "7", "8080", "x"]),
        ("起重机v2", ["起重", "重机", "机", "v2"]),
        ("ＣＡＦÉ", ["café"]),
        ("ship🚢", ["ship🚢", "ship", "🚢"]),
        ("- -- \"' %", []),
        ("a\0b\x1bc", ["a", "b", "c"]),
    ],
)
def test_a_text_is_cut_into_words_and_their_parts(text: str, expected: list[str]) -> None:
    assert terms(text)[0] == expected


def test_one_character_of_a_dense_script_is_looked_up_as_a_beginning() -> None:
    assert query_terms("机") == [Term("机", prefix=True)]
    assert query_terms("起重机") == [Term("起重"), Term("重机")]
    assert query_terms("a") == [Term("a")]


@given(st.text() | st.text(alphabet="ab-_./'\" \0港\ud83d", max_size=200))
def test_terms_can_stand_between_quotes_and_blanks(text: str) -> None:
    for term in terms(text)[0]:
        assert term
        assert not set(term) & set("\"' \t\r\n\0")
        assert len(term.split()) == 1
        term.encode()


@given(st.text(max_size=60))
def test_a_text_is_found_by_all_it_consists_of(text: str) -> None:
    known = terms(text)[0]
    for term in query_terms(text):
        assert term.text in known or (term.prefix and any(word.startswith(term.text) for word in known))


def test_long_words_and_long_queries_are_bounded() -> None:
    assert terms("x" * 10_000)[0] == ["x" * MAX_TERM_CHARS]
    assert len(query_terms(" ".join(map(str, range(1000))))) == MAX_QUERY_TERMS
    start = time.perf_counter()
    terms("a-" * 200_000 + "(" * 200_000 + "港" * 200_000)
    assert time.perf_counter() - start < 5


def test_a_rare_word_tells_more_and_the_whole_query_more_still() -> None:
    common, rare = Term("the"), Term("crane")
    held = weights({common: 90, rare: 2}, texts=100)
    assert held[rare] > held[common] > 0
    apart = score("crane here, tug there", 4, 4.0, "crane there", {rare: 1.0})
    together = score("here crane there tug", 4, 4.0, "crane there", {rare: 1.0})
    assert together > apart
    assert score("crane", 1, 4.0, "x", {rare: 1.0}) > score("crane", 40, 4.0, "x", {rare: 1.0})
