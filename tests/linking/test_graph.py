from __future__ import annotations

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
