from __future__ import annotations

import pytest

from foldaway.lab.bill import Bill, call_bill, full_bill
from foldaway.lab.prices import ANTHROPIC, DEEPSEEK, NO_CACHE, OPENAI, PLAIN, PRICE_LISTS


def test_a_cache_that_was_not_used_for_its_lifetime_is_gone() -> None:
    warm = call_bill(5_000, 6_000, rules=ANTHROPIC, gap_seconds=299)
    cold = call_bill(5_000, 6_000, rules=ANTHROPIC, gap_seconds=301)
    assert (warm.read_tokens, warm.written_tokens) == (5_000, 1_000)
    assert (cold.read_tokens, cold.written_tokens) == (0, 6_000)


def test_an_unknown_gap_counts_as_short() -> None:
    assert call_bill(5_000, 6_000, rules=ANTHROPIC) == call_bill(5_000, 6_000, rules=ANTHROPIC, gap_seconds=1)


def test_a_prompt_below_the_smallest_cached_one_is_charged_at_the_base_price() -> None:
    assert call_bill(900, 1_000, rules=ANTHROPIC).cost(ANTHROPIC.prices) == 1_000


def test_cached_prefixes_count_in_whole_blocks() -> None:
    assert call_bill(1_500, 2_000, rules=OPENAI).read_tokens == 1_408
    assert call_bill(130, 200, rules=DEEPSEEK).read_tokens == 128


def test_the_extra_call_of_a_miss_reads_what_was_just_sent_however_cold_the_cache_was() -> None:
    bill = call_bill(0, 4_000, [300], rules=ANTHROPIC, gap_seconds=9_999)
    assert bill.recall_read_tokens == 4_000
    assert bill.recall_written_tokens == 300


def test_without_a_cache_every_token_costs_the_base_price() -> None:
    assert full_bill([1_000, 3_000], rules=NO_CACHE).cost(NO_CACHE.prices) == 4_000


def test_full_history_pays_for_a_pause_longer_than_the_lifetime() -> None:
    gaps = (None, 10.0, 4_000.0)
    bill = full_bill([2_000, 3_000, 4_000], rules=ANTHROPIC, gaps_seconds=gaps)
    assert bill == Bill(read_tokens=2_000, written_tokens=2_000 + 1_000 + 4_000)


@pytest.mark.parametrize("rules", PRICE_LISTS, ids=lambda rules: rules.name)
def test_every_price_list_says_where_it_is_from_and_no_token_is_lost(rules: object) -> None:
    assert rules.source  # type: ignore[attr-defined]
    bill = call_bill(3_000, 9_000, rules=rules)  # type: ignore[arg-type]
    assert bill.read_tokens + bill.written_tokens + bill.plain_tokens == 9_000


def test_the_headline_list_depends_on_nothing_that_recordings_leave_out() -> None:
    assert call_bill(100, 200, rules=PLAIN, gap_seconds=1e9) == call_bill(100, 200)
