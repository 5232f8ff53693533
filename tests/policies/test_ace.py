"""Elastic context: levels go down and up again, at commits only, and nothing is ever made from a digest."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway import Session, SettingsError
from foldaway.model.items import Level
from foldaway.policies.ace import Ace
from foldaway.testing.histories import FORMATS, SYSTEM, Writer, prose, working_session
from foldaway.testing.walks import dumped
from foldaway.wire import problems


def log_of(entries: int) -> str:
    """A log without any repeats."""
    return "\n".join(f"{prose(9, n)} entry_{n}_x" for n in range(entries))


def logs(count: int, format: str = "openai_chat") -> Writer:
    writer = Writer(format)
    writer.user("Compare the logs.")
    for n in range(count):
        writer.call("read_file", log_of(50 + n), path=f"src/part_{n}.log")
    writer.say("Compared.")
    return writer


def session_of(writer: Writer, budget: int, **parameters: Any) -> Session:
    session = Session(format=writer.format, budget=budget, policy="ace", policy_parameters=parameters, system=SYSTEM)
    session.append(writer.messages)
    return session


@pytest.mark.parametrize("format", FORMATS)
def test_steps_stand_raw_as_digests_and_hidden_at_once(format: str) -> None:
    session = session_of(logs(30, format), 12_000, chain=["window:0.4", "summaries:0.4", "externalise:0.1"])
    view = session.view()
    levels = {session.level(item.id) for item in session.items()}
    assert levels >= {Level.RAW, Level.ABSTRACT}
    assert levels & {Level.STUB, Level.HIDDEN}
    assert problems(format, view.messages) == []


def test_the_newest_step_is_always_raw() -> None:
    history = logs(60).messages
    session = Session(budget=12_000, policy="ace")
    for at in range(0, len(history), 2):
        session.append(history[at : at + 2])
        if session.engine.log.open:
            continue
        session.view()
        for turn in range(session.engine.log.newest_turn(), len(session.engine.log.turns)):
            assert all(session.level(i) is Level.RAW for i in session.engine.log.turn_items[turn])


def test_a_folded_step_comes_back_when_there_is_room_again() -> None:
    session = session_of(logs(12), 6_000)
    session.view()
    folded = [i.id for i in session.items() if session.level(i.id) <= Level.STUB]
    assert folded
    session.set_budget(budget=60_000)
    commit = session.compact()
    assert commit is not None
    risen = {c.item for c in commit.changes if c.after > c.before}
    assert risen >= set(folded)
    assert {session.level(i) for i in folded} == {Level.RAW}
    view = session.view()
    assert view.messages == logs(12).messages
    assert problems("openai_chat", view.messages) == []


def test_a_digest_may_become_the_original_again_byte_for_byte() -> None:
    session = session_of(logs(12), 9_000, phases={"explore": ["summaries:0.9"], "*": ["window:0.9"]})
    session.view()
    digested = [i.id for i in session.items() if session.level(i.id) is Level.ABSTRACT]
    assert digested
    session.set_budget(budget=60_000)
    for n in range(8):
        session.append(Writer("openai_chat").call("edit_file", "ok", path=f"src/part_{n}.log", text=f"new {n}"))
    commit = session.compact()
    assert commit is not None
    assert commit.remark == "set for phase act -> window:0.9"
    assert {session.level(i) for i in digested} == {Level.RAW}
    messages = session.view().messages
    assert messages[: len(logs(12).messages)] == logs(12).messages


def test_what_recent_actions_rest_on_comes_back_before_the_newest_folded() -> None:
    """Revival after a long idle time: the step of long ago is named again, so it is looked at again."""
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("read_file", f"def load_harbour_rates_7():\n{prose(24, 1)}", path="src/rates.py")
    for n in range(80):
        writer.call("read_file", prose(60, n), path=f"docs/{n}.md")
    session = session_of(writer, 5_000, chain=["importance:0.5"])
    session.append(writer.say("Next."))
    session.view()
    assert session.level(2) <= Level.STUB
    session.append(writer.call("grep", "3 hits", pattern="load_harbour_rates_7"))
    session.append(writer.call("grep", "2 hits", pattern="load_harbour_rates_7"))
    commit = session.compact()
    assert commit is not None
    assert session.level(2) is Level.RAW
    assert session.explain(2).reason == "importance: worth its tokens"


def test_what_a_recall_shows_already_does_not_come_back_beside_it() -> None:
    session = session_of(logs(12), 6_000)
    session.view()
    folded = [i.id for i in session.items() if session.level(i.id) <= Level.STUB and i.name]
    session.set_budget(budget=60_000)
    session.append([{"role": "assistant", "content": f"Again. [RETRIEVE: #{folded[0]}]"}])
    text = dumped(session.view().messages)
    session.append(Writer("openai_chat").user("Go on."))
    for n in range(8):
        session.append(Writer("openai_chat").say(f"Going on {n}."))
    session.compact()
    assert session.level(folded[0]) <= Level.STUB
    assert {session.level(i) for i in folded[1:]} == {Level.RAW}
    assert any("foldaway recall" in message for message in text)


def test_between_commits_nothing_moves_and_each_break_is_a_commit() -> None:
    session = Session(budget=3_000, policy="ace", system=SYSTEM)
    history = working_session("openai_chat", 120)
    before: list[str] = []
    breaks = commits = 0
    for at in range(0, len(history), 3):
        session.append(history[at : at + 3])
        if session.engine.log.open:
            continue
        view = session.view()
        now = dumped(view.messages)
        broken = now[: len(before)] != before
        assert view.commit is not None or not broken
        breaks, commits = breaks + broken, commits + (view.commit is not None)
        before = now
    assert 0 < breaks <= commits


def test_deciding_again_without_anything_new_changes_nothing() -> None:
    session = session_of(logs(20), 12_000)
    session.view()
    first = dumped(session.view().messages)
    session.compact()
    again = dumped(session.view().messages)
    assert session.compact() is None
    assert dumped(session.view().messages) == again
    assert len(again) >= len(first) // 2


def test_the_caller_composes_his_own_by_phase() -> None:
    phases = {"explore": ["window:0.5"], "*": ["importance:0.5"]}
    commit = session_of(logs(20), 12_000, phases=phases).view().commit
    assert commit is not None
    assert commit.remark == "set for phase explore -> window:0.5"


def test_an_agent_has_strategies_of_its_own() -> None:
    agents = {"coder": {"*": ["window:0.6"]}, "*": {"*": ["extraction:0.5"]}}
    told = [session_of(logs(20), 12_000, agents=agents, agent=name).view().commit for name in ("coder", "critic")]
    assert [c.remark for c in told if c is not None] == [
        "agent coder for phase explore -> window:0.6", "agent critic for phase explore -> extraction:0.5",
    ]  # fmt: skip


def test_a_phase_without_a_chain_falls_to_the_rules() -> None:
    commit = session_of(logs(20), 12_000, phases={"converse": ["window:1"]}).view().commit
    assert commit is not None
    assert commit.remark.startswith("rule ")


@pytest.mark.parametrize("parameters", [{"phases": {"explore": ["windo:1"]}}, {"chain": ["window:3"]}, {"rules": []}])
def test_settings_that_make_no_sense_are_refused_before_anything_runs(parameters: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="ace "):
        Session(budget=1000, policy="ace", policy_parameters=parameters)


def test_masked_text_is_what_the_registered_compressor_makes_and_an_unknown_one_is_refused() -> None:
    from collections.abc import Iterator

    from foldaway.engine.snapshot import Snapshot
    from foldaway.model.plan import Change

    class Masks:
        def __init__(self, by: str) -> None:
            self.by = by

        def propose(self, snapshot: Snapshot) -> Iterator[Change]:
            yield Change(item=2, level=Level.MASKED, reason="repeats", by=self.by)

    writer = Writer("openai_chat")
    writer.user("Install it.")
    writer.call("bash", "\n".join(f"Downloading part {n} of 400" for n in range(400)), command="make")
    writer.say("Installed.")
    seen = {}
    for by in ("clean", "cleaner"):
        session = Session(budget=2_500, policy=Masks(by))
        session.append(writer.messages)
        seen[by] = session.view().commit, session.level(2), session.stand_in(2)
    _, level, text = seen["clean"]
    assert level is Level.MASKED
    assert text is not None
    assert "Downloading part 0 of 400\n[× 398 lines alike]\nDownloading part 399 of 400" in text
    refused = seen["cleaner"][0]
    assert refused is not None
    assert [(r.item, r.code) for r in refused.refused] == [(2, "unknown-compressor")]


def test_its_defaults_are_the_preset() -> None:
    assert Ace() == Ace(rules=Ace().rules)
    session = Session(budget=1500, policy="ace")
    session.append(working_session("openai_chat", 20))
    commit = session.view().commit
    assert commit is not None
    assert commit.policy == "ace"
