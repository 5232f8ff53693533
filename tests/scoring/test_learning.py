from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from foldaway import Session
from foldaway.model.items import Level
from foldaway.scoring.learning import CARRIED, LEAST, MOST, QUIET_STEPS, Experience, learn
from foldaway.scoring.value import Weights
from foldaway.testing.histories import working_session

KINDS = {1: "read", 2: "read", 3: "error", 4: "search"}


def commit(step: int, *items: int, after: Level = Level.HIDDEN) -> dict[str, Any]:
    return {"type": "commit", "step": step, "changes": [[i, int(Level.RAW), int(after), "why", 100, 0] for i in items]}


def kind_of(item: int) -> str:
    return KINDS.get(item, "")


def taught(entries: Sequence[Mapping[str, Any]], step: int, **more: Any) -> Experience:
    return learn(entries, kind_of, step, **more)


def test_a_miss_makes_its_kind_worth_more_and_a_quiet_fold_a_little_less() -> None:
    entries: list[dict[str, Any]] = [commit(5, 1, 3, 4), {"type": "fault", "step": 8, "items": [3], "below": [3]}]
    found = taught(entries, 5 + QUIET_STEPS)
    assert found.factors["error"] > 1.1
    assert 0.99 < found.factors["read"] < 1.0
    assert found.faults == {"error": 1}
    assert found.folds == {"read": 1, "search": 1}


def test_a_fold_says_nothing_before_its_time_is_up() -> None:
    assert taught([commit(5, 1)], 5 + QUIET_STEPS - 1).factors == {}


def test_the_agent_fetching_again_is_a_miss_too() -> None:
    entries = [commit(5, 1), {"type": "refetch", "step": 9, "item": 2, "earlier": 1}]
    assert taught(entries, 9).faults == {"read": 1}


def test_a_digest_in_place_is_no_fold() -> None:
    assert taught([commit(5, 1, after=Level.ABSTRACT)], 500).folds == {}


def test_factors_stay_within_bounds_however_much_there_is_to_learn() -> None:
    miss = {"type": "fault", "step": 1, "items": [1], "below": [1]}
    assert taught([miss] * 1000, 2).factors["read"] <= MOST
    folds = [commit(1, 4)] * 1000
    many = Experience(factors={"search": LEAST})
    assert taught(folds, 500, start=many).factors["search"] >= LEAST


def test_it_is_a_pure_function_of_the_ledger() -> None:
    entries = [commit(5, 1, 3), {"type": "fault", "step": 8, "items": [3, 1], "below": [3, 1]}, commit(9, 4)]
    assert taught(entries, 99).to_json() == taught(list(entries), 99).to_json()


def test_factors_are_kept_by_phase_where_phases_are_known() -> None:
    entries = [{"type": "fault", "step": 8, "items": [3], "below": [3]}]
    found = taught(entries, 9, phase_of=lambda step: "verify" if step > 4 else "")
    assert set(found.factors) == {"error", "error/verify"}


def test_a_later_session_starts_half_as_sure() -> None:
    first = Experience(factors={"read": 1.44, "error": 0.81})
    start = Experience.from_json(first.to_json()).carried()
    assert start.factors == pytest.approx({"read": 1.44**CARRIED, "error": 0.81**CARRIED})
    assert taught([], 0, start=start).factors == pytest.approx(start.factors)


def test_experience_scales_the_weights() -> None:
    weights = Experience(factors={"read": 1.5}).applied(Weights(learned={"read": 0.5}))
    assert weights.learned == {"read": 0.75}


@pytest.mark.parametrize(
    "text", ["[]", '{"factors": 3}', '{"factors": {"read": "x"}}', '{"faults": {"read": NaN}}', "{"]
)
def test_what_is_no_experience_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Experience.from_json(text)


def test_a_real_ledger_teaches() -> None:
    session = Session(budget=1500, policy="window")
    history = working_session("openai_chat", 60)
    for at in range(0, len(history), 3):
        session.append(history[at : at + 3])
        if not session.engine.log.open:
            session.view()
    log = session.engine.log
    found = learn(session.engine.entries, lambda i: log.items[i].kind.value if i in log.items else "", log.step)
    assert found.folds
    assert all(LEAST <= f <= MOST for f in found.factors.values())
