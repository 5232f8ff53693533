from __future__ import annotations

import pytest

from foldaway.lab.bill import CACHE
from foldaway.lab.oracle.bound import bill_bound, bounds_of, forced_tokens, visible_bound
from foldaway.lab.oracle.problem import Call, Literal, Need, Problem, ProblemItem
from foldaway.model.plan import Prices

READ, WRITE = CACHE.read, CACHE.write


def problem(
    *, budget: int = 1_000, last: int = 100, naming: int | None = 4, words: tuple[str, ...] = (), two: bool = False
) -> Problem:
    """A read of 300 tokens at call 0, then calls of `last` tokens; call 3 needs what the read held."""
    items = (
        ProblemItem(tokens=50, enters=0, pinned=True),
        ProblemItem(tokens=300, enters=0),
        *(ProblemItem(tokens=last, enters=call) for call in range(1, 4)),
    )
    literals = [Literal(holders=(1,), naming_tokens=naming, words=frozenset(words)) for _ in range(2)]
    needs = [Need(literal=n, recall_tokens=300) for n in range(2 if two else 1)]
    calls = tuple(Call(needs=tuple(needs) if call == 3 else (), protected=frozenset({call + 1})) for call in range(4))
    return Problem(beside_tokens=20, budget_tokens=budget, items=items, literals=tuple(literals), calls=calls)


def test_forced_are_what_stands_beside_the_pins_and_the_last_turn() -> None:
    assert forced_tokens(problem(last=100)) == [370, 170, 170, 170]


def test_a_need_is_served_as_long_as_its_name_fits_beside_what_is_forced() -> None:
    assert visible_bound(problem(budget=174)).visible == 1
    assert visible_bound(problem(budget=173)).visible == 0
    assert visible_bound(problem(budget=173)).total == 1


def test_a_policy_of_whole_items_needs_room_for_the_item() -> None:
    assert visible_bound(problem(budget=470), whole=True).visible == 1
    assert visible_bound(problem(budget=469), whole=True).visible == 0


def test_names_that_share_a_word_may_stand_in_one_text() -> None:
    assert visible_bound(problem(budget=178, two=True)).visible == 1
    assert visible_bound(problem(budget=177, two=True)).visible == 0
    assert visible_bound(problem(budget=174, two=True, words=("rate",))).visible == 1


def test_an_item_that_serves_two_needs_is_not_charged_twice() -> None:
    assert visible_bound(problem(budget=470, two=True, naming=None)).visible == 1


def test_what_pins_or_the_last_turn_hold_costs_nothing_more() -> None:
    given = problem(budget=170)
    held = Literal(holders=(0,), naming_tokens=400)
    pinned = Problem(beside_tokens=20, budget_tokens=170, items=given.items, literals=(held, held), calls=given.calls)
    assert visible_bound(pinned).visible == 1
    assert bill_bound(pinned) == pytest.approx(READ * 880 + (WRITE - READ) * 670)


def test_the_bill_reads_what_is_forced_writes_what_is_new_and_carries_the_name() -> None:
    forced = READ * (370 + 3 * 170) + (WRITE - READ) * (370 + 3 * 100)
    assert bill_bound(problem()) == pytest.approx(forced + 3 * READ * 4)


def test_a_name_is_written_anew_where_that_is_cheaper_than_carrying_it() -> None:
    base = bill_bound(problem(naming=4), Prices(read=1.0, write=2.0))
    free = bill_bound(problem(naming=0), Prices(read=1.0, write=2.0))
    assert base - free == pytest.approx(2.0 * 4)


def test_an_extra_call_is_the_most_that_a_need_costs() -> None:
    # The read call 3 sends again, and what it fetches, against 3000 tokens carried over three calls.
    items = [ProblemItem(tokens=10, enters=0), ProblemItem(tokens=3_000, enters=0)]
    items += [ProblemItem(tokens=10, enters=call) for call in range(1, 4)]
    calls = [Call(protected=frozenset({0, 1})), *(Call(protected=frozenset({n})) for n in (2, 3))]
    calls.append(Call(needs=(Need(literal=0, recall_tokens=100),), protected=frozenset({4})))
    dear = Problem(
        beside_tokens=0,
        budget_tokens=9_000,
        items=tuple(items),
        literals=(Literal(holders=(1,), naming_tokens=None),),
        calls=tuple(calls),
    )
    forced = READ * (3_010 + 30) + (WRITE - READ) * (3_010 + 30)
    assert bill_bound(dear) == pytest.approx(forced + READ * 10 + WRITE * 100)


def test_a_pin_that_may_go_is_forced_only_until_then() -> None:
    words = ProblemItem(tokens=40, enters=0, pinned=True, unpinned_from=2)
    three = Problem(beside_tokens=5, budget_tokens=9, items=(words,), literals=(), calls=(Call(), Call(), Call()))
    assert forced_tokens(three) == [45, 45, 5]
    assert visible_bound(three).over == 2


def test_a_message_that_stood_there_before_need_not_be_written() -> None:
    first = ProblemItem(tokens=30, enters=0)
    for repeats in (False, True):
        items = (first, ProblemItem(tokens=30, enters=1, repeats=repeats))
        calls = (Call(protected=frozenset({0})), Call(protected=frozenset({1})))
        bill = bill_bound(Problem(beside_tokens=0, budget_tokens=99, items=items, literals=(), calls=calls))
        assert bill == pytest.approx(WRITE * 30 + (READ if repeats else WRITE) * 30)


def test_all_bounds_come_together() -> None:
    bounds = bounds_of(problem(budget=200))
    assert (bounds.visible.visible, bounds.whole.visible, bounds.budget_tokens) == (1, 0, 200)
    assert bounds.visible.rate == 1.0
    assert bounds.bill == bill_bound(problem(budget=200))
