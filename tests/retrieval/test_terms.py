from __future__ import annotations

import pytest

from foldaway.retrieval.terms import asked, telling


def held(query: str, text: str) -> dict[str, float]:
    return {term.text: term.held(text.lower()) for term in asked(query).terms}


def test_numbers_count_only_where_they_stand_by_themselves() -> None:
    assert held("37", "record 37: x") == {"37": 1.0}
    assert held("37", "q3701 and 137") == {"37": 0.0}


@pytest.mark.parametrize("text", ["the gates", "a gate.", "berth_gate", "gate-7"])
def test_words_count_in_their_other_forms_and_beside_signs(text: str) -> None:
    assert list(held("gates", text).values()) == [1.0]


def test_a_word_inside_a_longer_one_counts_less_and_a_short_one_not_at_all() -> None:
    (inside,) = held("table", "class RateTable:").values()
    assert 0 < inside < 1.0
    assert held("cat", "concatenate") == {"cat": 0.0}


def test_a_literal_counts_whole_and_its_words_beside_it() -> None:
    found = held("src/berths.py", "see src/berths.py")
    assert found["src/berths.py"] == 1.0
    assert held("src/berths.py", "see old_src/berths.pyc")["src/berths.py"] == 0.0


def test_common_words_are_left_out_where_others_tell_more() -> None:
    assert [term.text for term in asked("what is the code of it").terms] == ["code"]
    assert asked("of the").terms, "a question of nothing else is taken as it is"


def test_scripts_without_blanks_are_asked_for_in_pairs() -> None:
    assert held("潮位表", "港口的潮位表在此") == {"潮位": 1.0, "位表": 1.0}


def test_what_few_texts_hold_tells_more_and_what_none_holds_nothing() -> None:
    terms = asked("gate crane zebra").terms
    rows = [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    gate, crane, zebra = telling(terms, rows)
    assert crane > gate > 0
    assert zebra == 0.0


def test_signs_alone_ask_for_nothing() -> None:
    assert asked("?! …").terms == ()
