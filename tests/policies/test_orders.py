"""Each policy's own order, on histories small enough to check by hand."""

from __future__ import annotations

from typing import Any

from foldaway import Change, Level, Session
from foldaway.linking.episodes import EpisodeType
from foldaway.policies.relevance import bm25
from foldaway.settings.parts import make_policy
from foldaway.testing.histories import Writer, prose


def opened(writer: Writer, policy: str, budget: int = 100_000, **parameters: Any) -> Session:
    session = Session(budget=budget, policy=policy, policy_parameters=parameters)
    session.append(writer.messages)
    return session


def order(session: Session, policy: str, **parameters: Any) -> list[Change]:
    proposed = make_policy(policy, **parameters)[1].propose(session.engine.snapshot())
    return [c for c in proposed if isinstance(c, Change)]


def reads(count: int, words: int = 80) -> Writer:
    """A task, `count` reads of files of their own, and a closing word."""
    writer = Writer("openai_chat")
    writer.user("Sum up the berth files.")
    for n in range(count):
        writer.call("read_file", f"berth_{n}_table\n{prose(words, n)}", path=f"berth_{n}.md")
    writer.say("I have read them.")
    return writer


def test_window_drops_whole_turns_oldest_first() -> None:
    changes = order(opened(reads(5), "window"), "window")
    assert [c.item for c in changes] == [2, 3, 4, 5, 6]
    assert {c.level for c in changes} == {Level.HIDDEN}


def test_lru_folds_b_first_after_a_b_a() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("read_file", "def load_alpha_rates(): ...", path="a.py")
    writer.call("read_file", "def load_bravo_rates(): ...", path="b.py")
    writer.call("grep", "3 hits", pattern="load_alpha_rates")
    writer.say("Done.")
    assert [c.item for c in order(opened(writer, "lru"), "lru")] == [3, 2, 4]


def test_mask_old_masks_all_but_the_newest_ten_results_in_place() -> None:
    changes = order(opened(reads(14), "mask-old"), "mask-old")
    masked = [c.item for c in changes if c.level is Level.ABSTRACT]
    assert masked == [2, 3, 4, 5]
    kept = opened(reads(10), "mask-old")
    assert not [c for c in order(kept, "mask-old") if c.level is Level.ABSTRACT]


def test_clear_tools_keeps_the_newest_three_and_clears_at_least_what_is_asked() -> None:
    session = opened(reads(7), "clear-tools")
    assert [c.item for c in order(session, "clear-tools") if c.level is Level.ABSTRACT] == [2, 3, 4, 5]
    assert not [c for c in order(session, "clear-tools", clear_at_least=10_000) if c.level is Level.ABSTRACT]
    assert [c.item for c in order(session, "clear-tools", keep=5) if c.level is Level.ABSTRACT] == [2, 3]


def test_near_tail_collapses_at_its_distance_without_any_need_for_room() -> None:
    session = opened(reads(7), "near-tail", distance=3)
    commit = session.view().commit
    assert commit is not None
    assert commit.trigger == "policy"
    last = len(session.engine.log.turns) - 1
    far = [i.id for i in session.items() if i.name and last - i.turn >= 3]
    assert sorted(c.item for c in commit.changes) == far
    session.append(Writer("openai_chat").user("fine"))
    assert {session.level(i) for i in far} == {Level.ABSTRACT}


def test_near_tail_leaves_small_results_alone() -> None:
    assert opened(reads(7, words=8), "near-tail", distance=3).view().commit is None


def test_relevance_folds_first_what_shares_no_word_with_the_step() -> None:
    writer = Writer("openai_chat")
    writer.user("Find the tide gauge drift.")
    writer.call("read_file", "tide gauge drift over night " * 4, path="x1")
    writer.call("read_file", "menu canteen soup bread " * 4, path="x2")
    writer.call("read_file", "tide tables only " * 4, path="x3")
    writer.say("The gauge shows drift with the tide.")
    assert next(c.item for c in order(opened(writer, "relevance"), "relevance")) == 3
    scores = bm25([["tide", "gauge"], ["soup"], ["tide"]], "tide gauge")
    assert scores[0] > scores[2] > scores[1] == 0.0


def episodes() -> Writer:
    """Two explorations, then an act that rests on the first, each closed by the agent; then plain work."""
    writer = Writer("openai_chat")
    writer.user("Mend the planner.")
    writer.call("delimiter", "ok", action="start", name="scout", type="explore")
    writer.call("read_file", prose(80, 1), path="a.py")
    writer.call("delimiter", "ok", action="end", description="scout saw crane_limit 12")
    writer.call("delimiter", "ok", action="start", name="mend", type="act", dependencies=["scout"])
    writer.call("edit_file", "ok", path="a.py", text=prose(80, 2))
    writer.call("delimiter", "ok", action="end", description="mended")
    writer.user("Thanks. And then?")
    writer.call("read_file", prose(30, 3), path="c.py")
    writer.say("That is all.")
    return writer


def test_cwl_folds_acts_before_the_explorations_they_rest_on() -> None:
    session = opened(episodes(), "cwl")
    named = {e.name: e for e in session.engine.log.episodes.all}
    assert named["mend"].type is EpisodeType.ACT
    assert named["mend"].depends_on == (named["scout"].number,)
    reasons = [c.reason for c in order(session, "cwl")]
    act = [n for n, r in enumerate(reasons) if r.startswith("mend")]
    explore = [n for n, r in enumerate(reasons) if r.startswith("scout")]
    assert act
    assert explore
    assert max(act) < min(explore)
    assert all("nothing in sight rests on it" in reasons[n] for n in (*act, *explore))


def test_cwl_calls_nothing_safe_that_open_work_rests_on() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend the planner.")
    writer.call("delimiter", "ok", action="start", name="scout", type="explore")
    writer.call("read_file", prose(80, 1), path="a.py")
    writer.call("delimiter", "ok", action="end", description="seen")
    writer.call("delimiter", "ok", action="start", name="mend", type="act", dependencies=["scout"])
    writer.call("edit_file", "ok", path="a.py", text="x")
    session = opened(writer, "cwl")
    assert all("nothing is safe" in c.reason for c in order(session, "cwl") if c.reason.startswith("scout"))


def test_cwl_keeps_the_agents_description_of_an_exploration() -> None:
    writer = episodes()
    session = opened(writer, "cwl", budget=900)
    for n in range(4):
        session.append(writer.call("read_file", prose(100, n), path=f"d{n}.py"))
        view = session.view()
    read = next(i for i in session.items() if i.kind.value == "read")
    assert session.level(read.id) < Level.RAW
    assert any("scout saw crane_limit 12" in str(m) for m in view.messages)


def test_cwl_finds_room_without_any_annotation() -> None:
    session = opened(reads(12, words=150), "cwl", budget=900)
    assert session.view().tokens <= 900


def test_auto_keeps_the_newest_turns_raw_and_folds_from_the_old_end() -> None:
    session = opened(reads(20, words=100), "auto", budget=2500)
    session.view()
    raw = [i.id for i in session.items() if i.name and session.level(i.id) is Level.RAW]
    folded = [i.id for i in session.items() if i.name and session.level(i.id) is not Level.RAW]
    assert raw
    assert folded
    assert max(folded) < min(raw)


def test_auto_keeps_wanted_anchors_of_folded_items_in_sight() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend the planner.")
    writer.call("grep", f"src/deep/rates_core.py:12: load_special_rates\n{prose(60, 1)}", pattern="rates")
    for n in range(3):
        writer.call("bash", prose(60, n), command="pytest src/deep/rates_core.py -k load_special_rates")
    for n in range(12):
        writer.call("bash", prose(120, n + 5), command=f"make step{n}")
    session = opened(writer, "auto", budget=2000)
    view = session.view()
    assert session.level(2) < Level.RAW
    text = str(view.messages)
    assert "src/deep/rates_core.py" in text
    assert "load_special_rates" in text
