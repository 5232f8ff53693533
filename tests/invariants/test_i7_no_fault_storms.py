"""I7: what was recalled is protected; thrash is counted, reported and answered by widening."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import Level
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS, prose
from foldaway.testing.walks import GROWING, Move, Walk, dumped

MOVE_LISTS = st.lists(st.tuples(st.sampled_from(GROWING), st.integers(0, 59)), min_size=1, max_size=8)
BUDGETS = st.sampled_from((900, 1500, 3000))


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), chosen=st.integers(0, 99))
def test_a_recalled_item_that_was_raw_is_not_folded_while_its_guard_holds(
    policy: str, moves: list[Move], format: str, chosen: int
) -> None:
    walk = Walk(format=format, policy=policy, budget=3000, settings={"low_share": 0.7}, warm_steps=8)
    raw = [i for i in walk.session.items() if walk.session.level(i.id) is Level.RAW and i.tokens < 300]
    item = raw[chosen % len(raw)].id
    walk.session.recall(f"#{item}")
    until = walk.session.engine.guards[item]
    for move, view in walk.play(moves):
        if view is None or view.step > until or move[0] in ("branch", "giant"):
            break
        if walk.session.level(item) < Level.RAW:
            reason = walk.session.explain(item).reason
            assert "over the ceiling" in reason, (move, reason)


@pytest.mark.parametrize("format", FORMATS)
def test_the_text_of_a_served_recall_stays_in_sight_while_its_guard_holds(format: str) -> None:
    walk = Walk(format=format, policy="window", budget=1500, warm_steps=20)
    walk.session.view()
    item = next(i for i in walk.session.items() if i.name == "read_file" and walk.session.level(i.id) < Level.RAW)
    walk.add(walk.writer.say(f"Again, please. [RETRIEVE: #{item.id}]"))
    walk.session.view()
    until = walk.session.engine.guards[item.id]
    commits = 0
    for n in range(5):
        walk.add(walk.writer.call("bash", prose(120, n), command=f"make {n}"))
        view = walk.session.view()
        commits += view.commit is not None
        if view.step <= until:
            assert any("[foldaway recall" in message for message in dumped(view.messages)), (n, commits)
    assert commits


def test_thrash_is_counted_reported_and_widens_the_protection() -> None:
    walk = Walk(format="openai_chat", policy="window", budget=1500, warm_steps=20)
    walk.session.view()
    item = next(i.id for i in walk.session.items() if walk.session.level(i.id) < Level.RAW)
    spans = []
    for _ in range(4):
        walk.session.recall(f"#{item}")
        spans.append(walk.session.engine.guards[item] - walk.session.engine.log.step)
    assert spans == sorted(spans)
    assert spans[-1] > spans[0]
    assert walk.session.explain(item).faults == 4
    assert any(f"#{item} was recalled" in warning for warning in walk.session.warnings)


def test_recalling_what_is_in_sight_is_no_fault() -> None:
    walk = Walk(format="openai_chat", policy="window", budget=9000, warm_steps=4)
    for _ in range(5):
        walk.session.recall("#2")
    assert walk.session.explain(2).faults == 0
    assert not walk.session.warnings
