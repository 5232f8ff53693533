"""What texts show, how it is fused, and how age weighs."""

from __future__ import annotations

import pytest

from foldaway.errors import SettingsError
from foldaway.retrieval.decay import Decay
from foldaway.retrieval.evidence import evidence, likeness
from foldaway.retrieval.fusion import SHORT, Ranked, fused


def test_the_text_that_covers_more_of_the_query_shows_more() -> None:
    full, part, none = evidence(
        "retry limit of the uploader", ["the uploader's retry limit is 3", "the uploader is slow", "lunch at noon"]
    )
    assert full.coverage == pytest.approx(1.0)
    assert full.coverage > part.coverage > none.coverage == 0.0
    assert full.stems == 1.0


def test_words_side_by_side_in_both_tell_more_than_scattered_ones() -> None:
    near, scattered = evidence("retry limit", ["the retry limit is 3", "limit uploads, then retry"])
    assert near.neighbours == 1.0
    assert scattered.neighbours == 0.0


def test_words_in_one_sentence_tell_more_than_words_all_over_a_long_text() -> None:
    filler = " ".join(f"pad{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(60))
    together, spread = evidence(
        "capstone field research",
        [f"{filler} the capstone is research in a new field", f"capstone {filler} field research"],
    )
    assert together.coverage == spread.coverage == 1.0
    assert together.passage == 1.0
    assert spread.passage < 0.75


def test_a_word_said_again_in_a_passage_tells_no_more() -> None:
    once, again = evidence("retry limit", ["the retry", "retry, retry and retry"])
    assert once.passage == again.passage == 1.0


def test_of_a_page_the_text_whose_title_it_names_shows_most() -> None:
    page = "I opened a savings account and want a referral bonus for the account."
    texts = ["Referral bonus\nRules.", "Savings of energy at home\nThe referral bonus.", "Lunch\nreferral bonus"]
    named, half, other = evidence(page, texts, openings=True)
    assert named.opening == 1.0
    assert named.opening > half.opening > other.opening == 0.0
    assert evidence(page, texts)[0].opening == 0.0


def test_a_word_said_often_in_the_query_weighs_more() -> None:
    said, once = evidence("referral bonus referral terms referral", ["about the referral", "about the terms"])
    assert said.stems > once.stems


def test_nothing_in_common_gives_zeros_and_no_error() -> None:
    for one in evidence("qwerty", ["", "lunch"]):
        assert (one.stems, one.coverage, one.neighbours) == (0.0, 0.0, 0.0)
    assert evidence("anything", []) == []


def test_a_clear_lead_in_words_beats_a_first_rank_by_vector() -> None:
    words = Ranked.of([("a", 9.0), ("b", 1.0)])
    vectors = Ranked.of([("b", 0.52), ("a", 0.50)])
    scores = fused(["a", "b"], words, vectors, evidence("x", ["", ""]), SHORT)
    assert scores["a"] > scores["b"]


def test_one_half_without_an_answer_is_no_reason_to_fail() -> None:
    scores = fused(["a"], Ranked.of([]), Ranked.of([("a", 0.4)]), evidence("x", [""]), SHORT)
    assert 0.0 < scores["a"] < 1.0


def test_age_costs_at_most_its_share_and_half_of_it_after_a_half_life() -> None:
    decay = Decay(half_life_days=30, share=0.4)
    assert decay.factor("fact", "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z") == pytest.approx(0.8)
    assert decay.factor("fact", "1970-01-01T00:00:00Z", "2026-01-31T00:00:00Z") == pytest.approx(0.6)
    assert decay.factor("document", "1970-01-01T00:00:00Z", "2026-01-31T00:00:00Z") == 1.0
    assert decay.factor("fact", "2026-03-01T00:00:00Z", "2026-01-31T00:00:00Z") == 1.0
    assert decay.factor("fact", "2026-01-01T00:00:00Z", "") == 1.0


@pytest.mark.parametrize(("half_life_days", "share"), [(0.0, 0.2), (90.0, 1.5), (90.0, -0.1)])
def test_a_decay_out_of_range_is_refused(half_life_days: float, share: float) -> None:
    with pytest.raises(SettingsError, match="half_life_days"):
        Decay(half_life_days=half_life_days, share=share)


def test_what_is_no_time_is_named() -> None:
    with pytest.raises(SettingsError, match="yesterday"):
        Decay().factor("fact", "2026-01-01T00:00:00Z", "yesterday")


def test_the_same_words_are_the_same_text_whatever_their_order_and_endings() -> None:
    assert likeness("retries are limited", "limit retry") == 1.0
    assert likeness("retry limit", "lunch at noon") == 0.0
    assert likeness("", "") == 1.0


def test_a_chance_word_is_not_sure_but_a_whole_query_and_several_rare_words_are() -> None:
    others = [f"note {n} on the gateway" for n in range(30)]
    chance = evidence("does the infant rest well after dark", ["the wall is dark green", *others])[0]
    whole = evidence("juniper", ["my dog is called juniper", *others])[0]
    rare = evidence(
        "among all the people with a dog, which employer pays the one called Sierra Salazar Juniper",
        ["Sierra Salazar: juniper", *others],
    )[0]
    assert chance.passage == 1.0
    assert chance.sure < 0.4
    assert whole.sure == rare.sure == 1.0


def test_where_words_explain_little_vectors_of_meaning_decide() -> None:
    texts = ["the wall is dark green", "the baby sleeps badly at night", *(f"note {n}" for n in range(20))]
    names = [f"{n}" for n in range(len(texts))]
    shown = evidence("does the infant rest well after dark", texts)
    words, vectors = Ranked.of([("0", 3.0)]), Ranked.of([("1", 0.6), *((name, 0.1) for name in ("0", *names[2:]))])
    alone = fused(names, words, vectors, shown, SHORT)
    with_meaning = fused(names, words, vectors, shown, SHORT, meaning=True)
    assert max(names, key=lambda name: alone[name]) == "0"
    assert max(names, key=lambda name: with_meaning[name]) == "1"
    assert 0.0 < with_meaning["1"] <= 1.0


def test_vectors_of_meaning_that_know_no_difference_decide_nothing() -> None:
    texts = ["the wall is dark green", "the baby sleeps badly at night", *(f"note {n}" for n in range(20))]
    names = [f"{n}" for n in range(len(texts))]
    shown = evidence("does the infant rest well after dark", texts)
    flat = Ranked.of([(name, 0.5 + int(name) / 1000) for name in names[1:]])
    scores = fused(names, Ranked.of([("0", 3.0)]), flat, shown, SHORT, meaning=True)
    assert max(names, key=lambda name: scores[name]) == "0"
