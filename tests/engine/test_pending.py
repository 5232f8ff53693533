from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldaway import Level, Session
from foldaway.engine.pending import MOST_STEPS_LATE, MOST_TARGETS
from foldaway.model.items import Item
from foldaway.model.plan import Action, PlanEntry, PlanVerdict, ProposedPlan
from foldaway.testing.histories import Writer, prose, working_session


def session(**fields: Any) -> Session:
    made = Session(**{"budget": 100_000, "policy": "window", **fields})
    made.append(working_session("openai_chat", 31, words=150))
    return made


def plan(made: Session, *entries: tuple[Action, list[Any]], **fields: Any) -> ProposedPlan:
    said = tuple(PlanEntry(action=action, targets=tuple(targets), reason="done with") for action, targets in entries)
    known = {"summary": "berths", "made_by": "tester", "seen_step": made.engine.log.step}
    return ProposedPlan(entries=said, **{**known, **fields})


def large(made: Session, most: int = 100) -> list[int]:
    """Foldable items worth folding, oldest first."""
    return [i.id for i in made.engine.snapshot().foldable if i.tokens > 80][:most]


def codes(verdict: PlanVerdict) -> dict[int, str]:
    return {refusal.item: refusal.code for refusal in verdict.refused}


def speak(made: Session) -> None:
    made.append([{"role": "user", "content": "Go on with the tide gauge."}])


def test_a_legal_plan_waits_and_changes_nothing_until_it_is_committed() -> None:
    made, twin = session(prices="no-cache"), session(prices="no-cache")
    made.view(), twin.view()
    verdict = made.propose_plan(plan(made, (Action.FOLD, large(made, 5))))
    assert verdict.accepted
    assert verdict.plan == made.pending_plan
    assert made.view().messages == twin.view().messages
    assert [e["type"] for e in made.ledger] == ["plan"]
    speak(made)
    commit = made.view().commit
    assert commit is not None
    assert (commit.trigger, commit.policy) == ("plan of tester", "tester")
    assert commit.benefit is not None
    assert commit.benefit.why.startswith("task boundary, ")
    assert {c.item for c in commit.changes} == set(large(twin, 5))
    assert {c.action for c in commit.changes} == {Action.FOLD}
    assert made.pending_plan is None
    assert [e["type"] for e in made.ledger] == ["plan", "commit", "plan-end"]


def test_a_large_gain_is_taken_at_once() -> None:
    made = session(prices="no-cache")
    verdict = made.propose_plan(plan(made, (Action.ARCHIVE, large(made))))
    assert verdict.commit is not None
    assert verdict.commit.benefit is not None
    assert verdict.commit.benefit.freed_share > 0.3
    commit = made.view().commit
    assert commit is not None
    assert commit.tokens_after == verdict.commit.tokens_after
    assert commit.benefit is not None
    assert commit.benefit.why == "large gain"


def test_a_plan_that_does_not_pay_waits_and_then_lapses() -> None:
    made = session()
    assert made.propose_plan(plan(made, (Action.FOLD, large(made, 3)), cost=10.0**9)).accepted
    writer = Writer("openai_chat")
    for n in range(MOST_STEPS_LATE + 1):
        assert made.pending_plan is not None
        made.append(writer.call("read_file", "ok", path=f"late/{n}"))
        assert made.view().commit is None
    assert made.pending_plan is None
    assert "model calls ago" in made.ledger[-1]["why"]


@pytest.mark.parametrize("action", [Action.FOLD, Action.ARCHIVE, Action.MASK])
def test_each_action_shows_what_it_promises_and_recall_is_exact(action: Action) -> None:
    made = session(prices="no-cache")
    # Large enough for a digest: a mask of less frees nothing.
    writer = Writer("openai_chat")
    for n in range(4):
        made.append(writer.call("read_file", prose(900, n), path=f"large/{n}.md"))
    made.append(writer.call("read_file", "ok", path="small.md"))
    targets = [i.id for i in made.items() if i.tokens > 800]
    raw = {n: made.engine.log.result_text(made.engine.log.items[n]) for n in targets}
    assert made.propose_plan(plan(made, (action, targets))).accepted
    speak(made)
    commit = made.view().commit
    assert commit is not None
    assert {c.item: c.action for c in commit.changes} == dict.fromkeys(targets, action)
    expected = {Action.FOLD: Level.STUB, Action.ARCHIVE: Level.HIDDEN, Action.MASK: Level.ABSTRACT}[action]
    assert {made.level(n) for n in targets} == {expected}
    for number, text in raw.items():
        assert text in made.recall(str(number)).text


def test_every_illegal_target_is_refused_with_its_code_and_the_rest_is_taken() -> None:
    made = session()
    pinned, *legal = large(made, 9)
    made.pin(pinned)
    last = made.items()[-1].id
    twice = legal[0]
    verdict = made.propose_plan(
        plan(made, (Action.FOLD, [9_999, "x", True, None, 1, pinned, last, *legal]), (Action.PRUNE, [twice]))
    )
    assert verdict.accepted
    assert codes(verdict) == {
        9_999: "unknown-item", 0: "unknown-item", 1: "pinned", pinned: "pinned", last: "last-turn", twice: "duplicate",
    }  # fmt: skip
    assert made.pending_plan is not None
    assert made.pending_plan.entries == (PlanEntry(action=Action.FOLD, targets=tuple(legal), reason="done with"),)


def test_an_open_call_is_no_target() -> None:
    made = session()
    call = {"id": "open", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    made.append([{"role": "assistant", "content": None, "tool_calls": [call]}])
    verdict = made.propose_plan(plan(made, (Action.FOLD, [made.items()[-1].id])))
    assert (verdict.code, [r.code for r in verdict.refused]) == ("nothing-legal", ["open-call"])


def test_a_plan_is_not_committed_while_a_call_waits_for_its_result() -> None:
    made = session(prices="no-cache")
    assert made.propose_plan(plan(made, (Action.ARCHIVE, large(made)))).accepted
    call = {"id": "open", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    made.append([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert made.view().commit is None
    made.append([{"role": "tool", "tool_call_id": "open", "content": "ok"}])
    assert made.view().commit is not None


def test_only_what_is_provably_obsolete_may_be_pruned() -> None:
    writer = Writer("openai_chat")
    writer.user("Look twice.")
    for n in (1, 2, 3, 1):
        writer.call("read_file", prose(300, n), path=f"src/{n}.py")
    writer.call("bash", "ok", command="true")
    made = Session(budget=100_000, policy="window", prices="no-cache")
    made.append(writer.messages)
    old, other, *_ = [i.id for i in made.items() if i.name == "read_file"]
    verdict = made.propose_plan(plan(made, (Action.PRUNE, [old, other])))
    assert codes(verdict) == {other: "not-obsolete"}
    speak(made)
    commit = made.view().commit
    assert commit is not None
    assert [(c.item, c.action, c.after) for c in commit.changes] == [(old, Action.PRUNE, Level.HIDDEN)]
    assert prose(300, 1) in made.recall(str(old)).text


def test_what_costs_as_much_folded_as_whole_is_refused() -> None:
    made = session()
    small = next(i.id for i in made.engine.snapshot().foldable if 0 < i.tokens < 15 and i.kind.value == "thought")
    verdict = made.propose_plan(plan(made, (Action.FOLD, [small, *large(made, 9)[4:]])))
    assert verdict.accepted
    assert codes(verdict) == {small: "raises-cost"}


def test_what_is_folded_already_is_no_target() -> None:
    made = session(prices="no-cache")
    targets = large(made, 6)
    assert made.propose_plan(plan(made, (Action.FOLD, targets))).accepted
    speak(made)
    assert made.view().commit is not None
    again = made.propose_plan(plan(made, (Action.FOLD, targets[:3]), (Action.MASK, targets[3:])))
    assert not again.accepted
    assert set(codes(again).values()) == {"no-change", "raises-cost"}


def test_to_keep_is_legal_and_bars_a_later_entry() -> None:
    made = session()
    kept, *rest = large(made, 6)
    verdict = made.propose_plan(plan(made, (Action.KEEP, [kept]), (Action.FOLD, [kept, *rest])))
    assert verdict.accepted
    assert codes(verdict) == {kept: "duplicate"}
    assert made.pending_plan is not None
    assert [e.targets for e in made.pending_plan.entries] == [(kept,), tuple(rest)]


@pytest.mark.parametrize(
    ("entries", "fields", "code"),
    [
        ((), {}, "nothing-legal"),
        (((Action.KEEP, [3, 4]),), {}, "nothing-legal"),
        (((Action.FOLD, [1, 9_999]),), {}, "nothing-legal"),
        (((Action.FOLD, list(range(MOST_TARGETS + 1))),), {}, "too-large"),
        (((Action.FOLD, [3]),), {"seen_step": 10_000}, "late"),
        (((Action.FOLD, [3]),), {"seen_step": -1}, "late"),
    ],
)
def test_a_plan_of_no_use_is_refused_whole_and_the_ledger_tells(entries: Any, fields: Any, code: str) -> None:
    made = session()
    verdict = made.propose_plan(plan(made, *entries, **fields))
    assert (verdict.accepted, verdict.code, verdict.plan) == (False, code, None)
    assert verdict.why
    assert made.pending_plan is None
    assert (made.ledger[-1]["type"], made.ledger[-1]["code"]) == ("plan-refused", code)


def test_a_plan_that_frees_next_to_nothing_is_refused() -> None:
    made = session()
    target = min(made.engine.snapshot().foldable, key=lambda i: abs(i.tokens - 120)).id
    assert made.propose_plan(plan(made, (Action.FOLD, [target]))).code in ("frees-too-little", "nothing-legal")


def test_what_changed_or_came_under_protection_meanwhile_drops_out() -> None:
    made = session(prices="no-cache")
    pinned, recalled, *rest = large(made, 10)
    assert made.propose_plan(plan(made, (Action.FOLD, [pinned, recalled, *rest]))).accepted
    made.pin(pinned)
    made.recall(str(recalled))
    speak(made)
    commit = made.view().commit
    assert commit is not None
    assert {c.item for c in commit.changes} == set(rest)
    assert {r.item: r.code for r in commit.refused} == {pinned: "pinned", recalled: "protected"}


def test_a_plan_of_which_nothing_is_left_ends() -> None:
    made = session(prices="no-cache")
    targets = large(made, 3)
    assert made.propose_plan(plan(made, (Action.FOLD, targets))).accepted
    for target in targets:
        made.pin(target)
    speak(made)
    assert made.view().commit is None
    assert made.pending_plan is None
    assert made.ledger[-1]["why"] == "nothing of it is left"


def test_a_forced_commit_takes_the_plan_along_and_the_policy_does_the_rest() -> None:
    made = session(budget=6_000)
    targets = large(made, 4)[2:]
    assert made.propose_plan(plan(made, (Action.ARCHIVE, targets))).accepted
    preview = made.preview()
    commit = made.view().commit
    assert commit is not None
    assert preview is not None
    assert preview.changes == commit.changes
    assert commit.trigger == "high-watermark, with the plan of tester"
    assert {c.item for c in commit.changes if c.reason == "done with"} == set(targets)
    assert len(commit.changes) > len(targets)
    assert made.pending_plan is None


def test_a_plan_that_frees_enough_spares_the_policy() -> None:
    made = session(budget=6_000)
    assert made.propose_plan(plan(made, (Action.ARCHIVE, large(made)[:-2]))).accepted
    commit = made.view().commit
    assert commit is not None
    assert {c.reason for c in commit.changes} == {"done with"}


def test_a_later_plan_takes_the_place_of_the_one_that_waits_and_a_refused_one_does_not() -> None:
    made = session()
    assert made.propose_plan(plan(made, (Action.FOLD, large(made, 4)))).accepted
    first = made.pending_plan
    assert not made.propose_plan(plan(made, (Action.FOLD, [1]))).accepted
    assert made.pending_plan == first
    assert made.propose_plan(plan(made, (Action.FOLD, large(made, 6)), made_by="other")).accepted
    assert made.pending_plan is not None
    assert made.pending_plan.made_by == "other"


def test_a_plan_can_be_dropped() -> None:
    made = session()
    assert not made.drop_plan()
    made.propose_plan(plan(made, (Action.FOLD, large(made, 4))))
    assert made.drop_plan("changed my mind")
    assert made.pending_plan is None
    speak(made)
    assert made.view().commit is None
    assert made.ledger[-1]["why"] == "changed my mind"


def test_what_the_note_told_besides_its_lines_stays_told_when_a_plan_is_committed() -> None:
    made = session(budget=5_000, policy="auto", prices="no-cache")
    made.set_section("State", "All berths are open.")
    assert made.view().commit is not None
    before = made.engine.shown.mention
    assert before
    writer = Writer("openai_chat")
    for n in range(3):
        made.append(writer.call("read_file", prose(300, n), path=f"large/{n}.md"))
    made.append(writer.call("read_file", "ok", path="small.md"))
    assert made.view().commit is None
    fresh = [i.id for i in made.items() if "large/" in i.title]
    assert made.propose_plan(plan(made, (Action.ARCHIVE, fresh))).accepted
    speak(made)
    commit = made.view().commit
    assert commit is not None
    assert commit.trigger == "plan of tester"
    assert made.engine.shown.mention == before
    assert made.engine.shown.note is not None
    assert "All berths are open." in made.engine.shown.note.text


def test_a_pending_plan_survives_a_restart_and_decides_the_same(tmp_path: Path) -> None:
    def opened(name: str) -> Session:
        return Session(budget=100_000, policy="window", prices="no-cache", store=f"sqlite:///{tmp_path / name}")

    views = []
    for restart in (False, True):
        made = opened(f"{restart}.db")
        made.append(working_session("openai_chat", 31, words=150))
        made.view()
        made.propose_plan(plan(made, (Action.FOLD, large(made, 8))))
        pending = made.pending_plan
        if restart:
            made.close()
            made = opened(f"{restart}.db")
        assert made.pending_plan == pending
        speak(made)
        view = made.view()
        assert view.commit is not None
        views.append(view.messages)
        made.close()
        with opened(f"{restart}.db") as again:
            assert again.pending_plan is None
            assert again.view().messages == views[-1]
    assert views[0] == views[1]


def test_a_branch_from_before_the_plan_knows_nothing_of_it_and_a_later_one_keeps_it() -> None:
    history = working_session("openai_chat", 31, words=150)
    for cut, kept in ((10, False), (len(history), True)):
        made = Session(budget=100_000, policy="window")
        made.sync(history)
        made.view()
        assert made.propose_plan(plan(made, (Action.FOLD, large(made, 8)))).accepted
        made.sync([*history, {"role": "user", "content": "One."}])
        made.sync([*history[:cut], {"role": "user", "content": "Two."}])
        assert (made.pending_plan is not None) is kept


def test_every_wire_format_takes_plans(tmp_path: Path) -> None:
    for format in ("openai_chat", "anthropic_messages", "openai_responses"):
        made = Session(budget=100_000, policy="window", format=format, prices="no-cache")
        made.append(working_session(format, 31, words=150))
        assert made.propose_plan(plan(made, (Action.ARCHIVE, large(made)))).accepted
        commit = made.view().commit
        assert commit is not None
        assert commit.trigger == "plan of tester"


def test_long_words_of_a_planner_are_cut_to_one_line() -> None:
    made = session()
    entry = PlanEntry(action=Action.FOLD, targets=tuple(large(made, 6)), reason=f"a\nb {'c' * 9_000}")
    proposed = ProposedPlan(summary="s\n" * 9_000, entries=(entry,), made_by="m\nn", seen_step=made.engine.log.step)
    assert made.propose_plan(proposed).accepted
    assert made.pending_plan is not None
    assert made.pending_plan.made_by == "m n"
    assert len(made.pending_plan.summary) == 500
    assert len(made.pending_plan.entries[0].reason) == 200


TARGETS = st.one_of(st.integers(-5, 60), st.integers(), st.booleans(), st.none(), st.text(max_size=3), st.floats())
ACTIONS = st.one_of(st.sampled_from(list(Action)), st.sampled_from(["fold", "explode"]), st.none())
ENTRIES = st.builds(
    PlanEntry, action=ACTIONS, targets=st.lists(TARGETS, max_size=12).map(tuple), reason=st.text(max_size=20)
)
PLANS = st.builds(
    ProposedPlan, summary=st.text(max_size=20), entries=st.lists(ENTRIES, max_size=6).map(tuple),
    made_by=st.text(max_size=5), seen_step=st.integers(-3, 60), cost=st.floats(0, 1e9),
)  # fmt: skip
_made: list[Session] = []


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PLANS)
def test_no_plan_whatever_it_says_raises_or_changes_what_is_shown(proposed: ProposedPlan) -> None:
    if not _made:
        _made.append(session())
    made = _made[0]
    before = made.view().messages
    shown = dict(made.engine.shown.levels)
    verdict = made.propose_plan(proposed)
    assert verdict.accepted == (verdict.plan is not None)
    assert made.engine.shown.levels == shown
    for refusal in verdict.refused:
        assert refusal.code
    if verdict.plan is not None:
        named = [t for e in verdict.plan.entries for t in e.targets]
        items = [made.engine.log.item_at(t) for t in named]
        assert all(isinstance(item, Item) for item in items)
        assert len(named) == len(set(named))
    made.drop_plan()
    assert made.view().messages == before


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(Action)), st.lists(st.integers(1, 45), max_size=20)), max_size=5))
def test_whatever_is_committed_of_a_plan_is_a_valid_view_that_costs_less(said: list[tuple[Action, list[int]]]) -> None:
    made = session(prices="no-cache")
    tokens = made.view().tokens
    made.propose_plan(plan(made, *said))
    view = made.view(cache_cold=True)
    assert not made.engine.failures
    if view.commit is not None:
        assert view.commit.trigger == "plan of tester"
        assert view.tokens < tokens
    made.engine.log.wire.parse(view.messages, origins=[""] * len(view.messages))
