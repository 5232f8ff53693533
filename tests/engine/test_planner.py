from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import Kind, Level, Session
from foldaway.engine.planner import _level_cap
from foldaway.testing.histories import SYSTEM, prose, working_session


def session(**fields: object) -> Session:
    made = Session(**{"budget": 2000, "policy": "window", "system": SYSTEM, **fields})  # type: ignore[arg-type]
    made.append(working_session("openai_chat", 30))
    return made


def test_a_commit_frees_down_to_the_low_watermark_and_not_much_further() -> None:
    made = session(low_share=0.5)
    view = made.view()
    floor, low, high = made.engine.planner.watermarks(
        made.engine.shown, made.engine.fixed_tokens, made.engine.budget, frozenset()
    )
    assert floor < low < high == 2000
    assert low - 500 < view.tokens <= low + 150


def test_a_higher_low_watermark_keeps_more() -> None:
    assert session(low_share=0.9).view().tokens > session(low_share=0.2).view().tokens + 400


def test_no_commit_is_made_while_everything_fits() -> None:
    assert session(budget=100_000).view().commit is None


def test_a_plan_changes_nothing_until_it_is_committed() -> None:
    made = session()
    before = dict(made.engine.shown.levels)
    assert made.engine.preview() is not None
    assert made.engine.shown.levels == before
    assert made.ledger == []


def test_user_words_over_their_share_go_to_abstract_with_constraints_kept() -> None:
    made = Session(budget=1500, policy="window")
    for n in range(30):
        filler = "The weather at the berth was fine again and people were talking. " * 4
        made.append([{"role": "user", "content": f"Hello {n}. {filler}Never change rate_{n}_limit. Bye {n}."}])
        made.append([{"role": "assistant", "content": "Noted."}])
    view = made.view()
    text = str(view.messages)
    short = [i for i in made.items() if made.level(i.id) is Level.ABSTRACT and i.kind is Kind.USER]
    assert short
    assert all(f"Never change rate_{n}_limit." in text for n in range(30))
    strict = Session(budget=1500, policy="window", strict=True)
    strict.append(made.engine.log.raws)
    assert strict.view().missing_tokens > 0
    assert not [i for i in strict.items() if i.pinned and strict.level(i.id) < Level.RAW]


@settings(max_examples=200, deadline=None)
@given(sizes=st.lists(st.integers(0, 500), min_size=1, max_size=8), goal=st.integers(0, 2000))
def test_a_cap_cuts_the_largest_down_to_the_goal(sizes: list[int], goal: int) -> None:
    cap = _level_cap(sizes, goal)
    assert sum(min(s, cap) for s in sizes) <= max(goal, 0) or cap == 0
    if sum(sizes) <= goal:
        assert cap == max(sizes)


@pytest.mark.parametrize("giants", [1, 2, 3])
def test_giant_results_of_the_last_turn_share_the_room_there_is(giants: int) -> None:
    from foldaway.testing.histories import Call, Writer

    writer = Writer("openai_chat")
    writer.user("Read all.")
    writer.calls(*(Call(name="cat", arguments={"path": f"{n}.log"}, result=prose(3000, n)) for n in range(giants)))
    made = Session(budget=2500, policy="window")
    made.append(writer.messages)
    view = made.view()
    assert view.tokens <= 2500
    shown = [made.engine.shown.texts[i.id] for i in made.items() if i.name == "cat"]
    assert len(shown) == giants
    lengths = [len(text) for text in shown]
    assert max(lengths) < 1.6 * min(lengths)
