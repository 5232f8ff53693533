from __future__ import annotations

import pytest

from foldaway.lab.bill import NO_PREMIUM, RECALL_CAP_TOKENS, Bill, call_bill, full_bill
from foldaway.model.plan import Prices


def test_a_shared_prefix_is_read_and_the_rest_is_written() -> None:
    bill = call_bill(800, 1_000)
    assert bill.cost(Prices(read=0.1, write=1.25)) == pytest.approx(800 * 0.1 + 200 * 1.25)
    assert bill.cost(NO_PREMIUM) == pytest.approx(800 * 0.5 + 200)


def test_each_missed_part_costs_a_call_that_reads_the_view_and_writes_the_part() -> None:
    bill = call_bill(0, 1_000, recalled=[300, RECALL_CAP_TOKENS + 1])
    assert bill.extra_calls == 2
    assert bill.recall_read_tokens == 2_000
    assert bill.recall_written_tokens == 300 + RECALL_CAP_TOKENS


def test_the_full_history_is_written_once_and_read_at_every_later_call() -> None:
    assert full_bill([100, 250, 400]) == call_bill(0, 100) + call_bill(100, 250) + call_bill(250, 400)
    assert full_bill([]) == Bill()


def test_a_bill_as_a_share_of_another() -> None:
    assert call_bill(0, 50).share_of(call_bill(0, 200)) == pytest.approx(0.25)
    assert call_bill(0, 50).share_of(Bill()) == 0.0


def test_cutting_at_every_call_may_cost_more_than_sending_everything() -> None:
    full = full_bill([1_000 * n for n in range(1, 21)])
    window = sum((call_bill(0, 5_000) for _ in range(20)), Bill())
    assert window.share_of(full) > 1
