from __future__ import annotations

from foldaway.linking.anchors import AnchorKind
from foldaway.linking.index import AnchorIndex
from foldaway.model.items import Kind
from foldaway.scoring.utility import MOST_ANCHORS, utility


def index(used: tuple[str, ...] = (), copies: int = 0, more: int = 0) -> AnchorIndex:
    """Item 1 holds a name; so do `copies` later items; item 50 uses some names."""
    made = AnchorIndex()
    names = {"load_rates_v7": AnchorKind.NAME, **{f"name_{n}": AnchorKind.NAME for n in range(more)}}
    made.observe(1, 0, names)
    for n in range(copies):
        made.observe(2 + n, 1, {"load_rates_v7": AnchorKind.NAME})
    made.use(50, 4, dict.fromkeys(used, AnchorKind.NAME))
    return made


def of(made: AnchorIndex, value: float, step: int = 6) -> float:
    return utility(value, made.known(made.of_item(1)), Kind.READ, made, step)


def test_either_a_value_or_a_wanted_name_makes_an_item_useful() -> None:
    assert of(index(), 0.5) > of(index(), 0.1) > 0.0
    assert of(index(("load_rates_v7",)), 0.1) > of(index(), 0.1)
    assert utility(0.4, (), Kind.READ, AnchorIndex(), 3) == 0.4


def test_a_name_that_stands_elsewhere_too_counts_for_less() -> None:
    assert of(index(("load_rates_v7",), copies=5), 0.1) < of(index(("load_rates_v7",)), 0.1)


def test_it_is_a_share_and_looks_at_so_many_anchors_only() -> None:
    many = index(("load_rates_v7",), more=3 * MOST_ANCHORS)
    capped = index(("load_rates_v7",), more=MOST_ANCHORS - 1)
    assert 0.0 <= of(many, 1.0) <= 1.0
    assert abs(of(many, 0.1) - of(capped, 0.1)) < 0.2


def test_time_makes_an_unused_item_less_useful() -> None:
    assert of(index(("load_rates_v7",)), 0.1, step=200) < of(index(("load_rates_v7",)), 0.1, step=5)
