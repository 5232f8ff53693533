from __future__ import annotations

import json

import pytest

from foldaway import Session
from foldaway.model.items import Item, Kind
from foldaway.scoring.value import GOALS, Curve, Relation, Standing, Weights
from foldaway.testing.histories import Writer, prose

WEIGHTS = Weights()


def value(step: int = 10, phase: str = "", weights: Weights = WEIGHTS, **standing: object) -> float:
    given: dict[str, object] = {"kind": Kind.READ, "made_step": 0, **standing}
    return weights.value(Standing(**given), step, phase)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", sorted(GOALS))
def test_the_users_own_words_never_decay(kind: Kind) -> None:
    assert [value(step, kind=kind) for step in (0, 10, 100_000)] == [1.0, 1.0, 1.0]


def test_half_of_the_value_above_the_floor_is_gone_after_the_half_life() -> None:
    curve = WEIGHTS.curve(Kind.READ)
    half = WEIGHTS.floor + (curve.base - WEIGHTS.floor) / 2
    assert value(0) == pytest.approx(curve.base)
    assert value(int(curve.half_life_steps)) == pytest.approx(half)
    assert value(100_000) == pytest.approx(WEIGHTS.floor)


def test_active_work_is_worth_more_than_open_than_none_than_finished() -> None:
    by_relation = [value(relation=r) for r in (Relation.ACTIVE, Relation.OPEN, Relation.NONE, Relation.FINISHED)]
    assert by_relation == sorted(by_relation, reverse=True)
    assert len(set(by_relation)) == 4


def test_use_makes_an_item_worth_more_and_young_again() -> None:
    assert value(20) < value(20, uses=1, used_step=0) < value(20, uses=4, used_step=0) < value(20, uses=4, used_step=18)


def test_an_error_nobody_answered_is_worth_more_and_for_long() -> None:
    def error(step: int, unresolved: bool) -> float:
        return value(step, kind=Kind.ERROR, unresolved=unresolved)

    assert error(0, True) > error(0, False)
    assert error(30, True) > error(0, True) / 2
    assert error(30, False) < error(0, False) / 10


def test_what_is_obsolete_is_worth_nothing() -> None:
    assert value(0, obsolete=True, uses=9, relation=Relation.ACTIVE) == 0.0


def test_values_stay_between_nothing_and_one() -> None:
    learned = Weights(learned={"read": 50.0, "error": 0.0})
    assert value(0, weights=learned, uses=1000, used_step=0) == 1.0
    assert value(0, weights=learned, kind=Kind.ERROR) == 0.0


def test_learned_factors_go_by_phase_first_and_by_kind_else() -> None:
    learned = Weights(learned={"read": 0.5, "read/verify": 2.0})
    assert value(weights=learned) == pytest.approx(value() * 0.5, abs=1e-6)
    assert value(phase="verify", weights=learned) == pytest.approx(min(1.0, value() * 2.0), abs=1e-6)


def test_weights_come_back_from_json_as_they_were() -> None:
    made = Weights(curves={Kind.READ: Curve(base=0.3, half_life_steps=2)}, use=0.5, learned={"read": 1.5})
    back = Weights.from_json(made.to_json())
    assert back.curve(Kind.READ) == Curve(base=0.3, half_life_steps=2)
    assert (back.use, back.learned) == (0.5, {"read": 1.5})
    # Kinds left out keep their defaults.
    assert back.curve(Kind.ERROR) == WEIGHTS.curve(Kind.ERROR)
    assert Weights.from_json(WEIGHTS.to_json()).to_json() == WEIGHTS.to_json()


@pytest.mark.parametrize(
    "text",
    ["[]", "7", '{"use": "much"}', '{"unknown": 1}', '{"curves": {"read": {"base": 1}}}', '{"curves": 3}',
     '{"curves": {"nothing": {"base": 1, "half_life_steps": 2}}}', '{"use": NaN}', "{"],
)  # fmt: skip
def test_what_is_no_weights_is_refused_with_a_plain_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Weights.from_json(text)


def test_weights_are_plain_json() -> None:
    assert set(json.loads(WEIGHTS.to_json())) >= {"curves", "learned", "active", "finished", "use", "floor"}


# -- in a session


def session_of(writer: Writer) -> Session:
    session = Session(format=writer.format, budget=1_000_000, policy="window")
    session.append(writer.messages)
    return session


def item(session: Session, title: str) -> Item:
    return next(i for i in session.engine.log.items.values() if i.title == title)


def plan(writer: Writer, *states: str) -> list[dict[str, object]]:
    rows = [{"content": f"part {n}", "status": s} for n, s in enumerate(states)]
    return writer.call("TodoWrite", "ok", todos=rows)


def test_the_standing_of_an_item_follows_the_plan() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    plan(writer, "in_progress", "pending")
    writer.call("read_file", prose(40), path="a.py")
    session = session_of(writer)
    snapshot = session.engine.snapshot()
    read = item(session, "read_file a.py")
    assert snapshot.standing(read).relation is Relation.ACTIVE
    before = snapshot.value(read, WEIGHTS)
    session.append(plan(writer, "completed", "in_progress"))
    after = session.engine.snapshot()
    assert after.standing(read).relation is Relation.FINISHED
    assert after.value(read, WEIGHTS) < before


def test_only_what_changed_is_worked_out_again() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    for n in range(40):
        writer.call("read_file", f"def berth_{n}():\n{prose(40, n)}", path=f"src/part_{n}.py")
    session = session_of(writer)
    log = session.engine.log

    def asked() -> int:
        before = log.standings.found
        snapshot = session.engine.snapshot()
        for found in log.items.values():
            snapshot.standing(found)
        return log.standings.found - before

    assert asked() == len(log.items)
    assert asked() == 0
    session.append(writer.call("edit_file", "ok", path="src/part_3.py", text="berth_3 crane"))
    # The new item, what it uses, and what its episode's end changes: not the whole session.
    assert 1 <= asked() < len(log.items)
    session.append(writer.call("bash", "fine", command="true"))
    assert 1 <= asked() <= 3


def test_an_obsolete_item_and_an_answered_error_are_worth_less_at_once() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("bash", f"Error: E1\n{prose(30)}", command="pytest -x", failed=True)
    session = session_of(writer)
    failed = item(session, "pytest -x")
    assert session.engine.snapshot().standing(failed).unresolved
    session.append(writer.call("bash", "3 passed", command="pytest -x"))
    snapshot = session.engine.snapshot()
    proof = snapshot.obsolete(failed)
    assert proof is not None
    assert proof.by > failed.id
    assert snapshot.value(failed, WEIGHTS) == 0.0
