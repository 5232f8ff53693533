from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.linking.graph import Graph, Link, Provenance


def link(source: int, target: int, weight: float = 1.0, provenance: Provenance = Provenance.OBSERVED) -> Link:
    return Link(source=source, target=target, weight=weight, provenance=provenance)


def test_a_closure_follows_links_nearest_first_and_ends_in_a_circle() -> None:
    graph = Graph()
    for source, target in ((5, 4), (5, 3), (4, 2), (2, 1), (1, 5)):
        graph.add(link(source, target))
    assert graph.closure(5) == (3, 4, 2, 1)
    assert graph.closure(9) == ()


def test_weak_links_and_the_limit_end_a_closure() -> None:
    graph = Graph()
    for n in range(1, 100):
        graph.add(link(n + 1, n, 0.9 if n != 50 else 0.1))
    assert graph.closure(60) == tuple(range(59, 50, -1))
    assert len(graph.closure(45, limit=10)) == 10


def test_a_declared_link_is_not_replaced_by_a_stronger_guess_but_an_observed_one_is_strengthened() -> None:
    graph = Graph()
    graph.add(link(2, 1, 0.3, Provenance.DECLARED))
    graph.add(link(2, 1, 1.0, Provenance.OBSERVED))
    assert [k.weight for k in graph.needs(2)] == [0.3]
    graph.add(link(3, 1, 0.2))
    graph.add(link(3, 1, 0.7))
    graph.add(link(3, 1, 0.5))
    assert [k.weight for k in graph.needs(3)] == [0.7]


def test_nothing_needs_itself() -> None:
    graph = Graph()
    graph.add(link(1, 1))
    assert graph.links() == ()


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12), st.sampled_from([0.2, 0.5, 1.0])), max_size=40))
def test_both_directions_tell_the_same_story(pairs: list[tuple[int, int, float]]) -> None:
    graph = Graph()
    for source, target, weight in pairs:
        graph.add(link(source, target, weight))
    forward = {(k.source, k.target, k.weight) for k in graph.links()}
    backward = {(k.source, k.target, k.weight) for n in range(13) for k in graph.needed_by(n)}
    assert forward == backward
    assert {(s, t) for s, t, _ in forward} == {(s, t) for s, t, _ in pairs if s != t}
    assert all(graph.degree(n) == len(graph.needed_by(n)) for n in range(13))


def test_what_others_say_of_a_pair_counts_once_the_observation_is_withdrawn() -> None:
    graph = Graph()
    graph.add(link(2, 1, 0.8, Provenance.INFERRED))
    graph.add(link(2, 1, 0.4))
    for confidence in (0.9, 0.75):
        graph.add(link(2, 1, confidence, Provenance.INFERRED))
    assert [k.provenance for k in graph.needs(2)] == [Provenance.OBSERVED]
    graph.withdraw(2, 1)
    assert [(k.provenance, k.weight) for k in graph.needs(2)] == [(Provenance.INFERRED, 0.9)]
    graph.withdraw(2, 1)
    assert graph.degree(1) == 1
    assert [k.weight for k in graph.as_observed(2)] == [0.4]


def test_the_last_user_is_the_newest_item_and_goes_with_its_link() -> None:
    graph = Graph()
    for source in (3, 9, 5):
        graph.add(link(source, 1))
    assert graph.last_user(1) == 9
    graph.withdraw(9, 1)
    assert graph.last_user(1) == 5
    graph.withdraw(3, 1)
    graph.withdraw(5, 1)
    assert (graph.last_user(1), graph.degree(1), graph.needed_by(1)) == (0, 0, ())


def test_a_guess_below_the_threshold_is_kept_and_asked_by_nobody() -> None:
    graph = Graph(0.7)
    graph.add(link(2, 1, 0.69, Provenance.INFERRED))
    graph.add(link(2, 1, 0.2, Provenance.INFERRED))
    assert (graph.needs(2), graph.needed_by(1), graph.degree(1), graph.last_user(1)) == ((), (), 0, 0)
    assert (graph.closure(2), graph.links()) == ((), ())
    assert [k.weight for k in graph.guesses(2)] == [0.69]
    graph.add(link(2, 1, 0.7, Provenance.INFERRED))
    assert [k.weight for k in graph.needs(2)] == [0.7]


_STATEMENTS = st.builds(
    link, st.integers(1, 3), st.integers(1, 3), st.sampled_from([0.2, 0.5, 0.8, 1.0]), st.sampled_from(Provenance)
)


@settings(max_examples=120, deadline=None)
@given(said=st.lists(_STATEMENTS, max_size=25), withdrawn=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3))),
       order=st.randoms(use_true_random=False))  # fmt: skip
def test_the_order_of_statements_makes_no_difference(
    said: list[Link], withdrawn: list[tuple[int, int]], order: random.Random
) -> None:
    """Observations come with the log; what was declared or inferred may come before or after any of it."""
    seen = [k for k in said if k.provenance is Provenance.OBSERVED]
    told = [k for k in said if k.provenance is not Provenance.OBSERVED]
    one, other = Graph(), Graph()
    for k in (*seen, *told):
        one.add(k)
    for source, target in withdrawn:
        one.withdraw(source, target)
    mixed: list[Link | tuple[int, int]] = [*seen, *withdrawn]
    for k in told:
        mixed.insert(order.randint(0, len(mixed)), k)
    for step in mixed:
        if isinstance(step, Link):
            other.add(step)
        else:
            other.withdraw(*step)
    assert one.links() == other.links()
    for n in range(6):
        assert one.needed_by(n) == other.needed_by(n)
        assert one.guesses(n) == other.guesses(n)
        assert one.last_user(n) == other.last_user(n) == max((k.source for k in one.needed_by(n)), default=0)
