"""S4.4: each strategy by itself, and how they are put together as plain data."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway import Session, SettingsError
from foldaway.engine.snapshot import Snapshot
from foldaway.model.items import Level
from foldaway.model.plan import Change, Mention, Section
from foldaway.policies.ace import Ace
from foldaway.policies.strategies.chain import STRATEGIES, Chain, agents_from, chain_from, phases_from
from foldaway.testing.histories import Call, Writer, prose

BAR = "\n".join(f"Downloading part {n} of 400" for n in range(400))


def log_of(entries: int) -> str:
    """A log without any repeats."""
    return "\n".join(f"{prose(9, n)} entry_{n}_x" for n in range(entries))


def session_of(writer: Writer, budget: int = 3000, **settings: Any) -> Session:
    session = Session(budget=budget, policy="window", **settings)
    session.append(writer.messages)
    return session


def reads(count: int, words: int = 80) -> Writer:
    writer = Writer("openai_chat")
    writer.user("Sum up the berth files.")
    for n in range(count):
        writer.call("read_file", f"berth_{n}_table\n{prose(words, n)}", path=f"berth_{n}.md")
    writer.say("I have read them.")
    return writer


def proposed(snapshot: Snapshot, *links: Any) -> dict[int, Change]:
    """Item -> the change that a chain of these links proposes for it."""
    changes = [c for c in chain_from(list(links), "test").propose(snapshot) if isinstance(c, Change)]
    assert len({c.item for c in changes}) == len(changes), "an item is decided once"
    return {c.item: c for c in changes}


def at(changes: dict[int, Change], level: Level) -> list[int]:
    return sorted(i for i, c in changes.items() if c.level is level)


def test_window_keeps_the_newest_that_fit_and_folds_the_rest() -> None:
    snapshot = session_of(reads(20)).engine.snapshot()
    changes = proposed(snapshot, "window:1")
    kept = at(changes, Level.RAW)
    assert kept == list(range(kept[0], 22))
    assert at(changes, Level.HIDDEN) == list(range(2, kept[0]))
    assert sum(snapshot.turn_tokens(snapshot.item(i).turn) for i in kept) <= snapshot.target_tokens


def test_window_may_be_bounded_in_steps() -> None:
    changes = proposed(session_of(reads(20)).engine.snapshot(), {"strategy": "window", "share": 1, "newest": 2})
    assert at(changes, Level.RAW) == [20, 21]


def test_importance_keeps_a_read_before_a_newer_search_of_the_same_size() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    writer.call("read_file", prose(300, 1), path="a.py")
    for n in range(2, 6):
        writer.call("grep", prose(300, n), pattern=f"p{n}")
    writer.say("Done.")
    changes = proposed(session_of(writer, 2000).engine.snapshot(), "importance:0.6")
    assert changes[2].level is Level.RAW
    assert Level.HIDDEN in {changes[i].level for i in range(3, 7)}


def test_summaries_show_large_results_by_their_digest_and_leave_the_newest_alone() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    for n in range(8):
        writer.call("read_file", log_of(60 + n), path=f"{n}.log")
    writer.say("Done.")
    changes = proposed(session_of(writer, 9000).engine.snapshot(), "summaries:0.7")
    assert at(changes, Level.ABSTRACT)
    assert {changes[8].level, changes[9].level} == {Level.HIDDEN}


def test_cleanup_masks_what_repeats_and_leaves_what_does_not() -> None:
    writer = Writer("openai_chat")
    writer.user("Install it.")
    writer.call("bash", BAR, command="make install")
    writer.call("bash", log_of(80), command="cat it.log")
    writer.say("Installed.")
    session = session_of(writer, 6000)
    changes = proposed(session.engine.snapshot(), "cleanup:0.9")
    assert at(changes, Level.MASKED) == [2]
    assert changes[2].by == "clean"
    assert changes[3].level is Level.HIDDEN


def test_externalise_gives_the_newest_leaving_items_a_line() -> None:
    snapshot = session_of(reads(40)).engine.snapshot()
    changes = proposed(snapshot, "window:0.3", "externalise:0.1", "extraction:0.6")
    stubs, hidden = at(changes, Level.STUB), at(changes, Level.HIDDEN)
    assert stubs
    assert max(hidden) < min(stubs) <= max(stubs) < min(at(changes, Level.RAW))


def test_extraction_names_literals_that_nothing_else_shows() -> None:
    snapshot = session_of(reads(20)).engine.snapshot()
    chain = chain_from(["window:0.3", "extraction:0.3"], "test")
    made = list(chain.propose(snapshot))
    (mention,) = [p for p in made if isinstance(p, Mention)]
    kept = {c.item for c in made if isinstance(c, Change) and c.level is Level.RAW}
    shown = " ".join(snapshot.text(snapshot.item(i)) for i in kept)
    assert mention.anchors
    assert all(anchor not in shown for anchor in mention.anchors)
    assert any(anchor.startswith("berth_") for anchor in mention.anchors)


def test_structuring_tells_what_was_read_edited_and_run_with_ids() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("read_file", prose(200, 1), path="src/a.py")
    writer.call("edit_file", "ok", path="src/a.py", text="x")
    writer.call("bash", "Error: E1", command="pytest -x", failed=True)
    writer.call("read_file", prose(200, 2), path="src/a.py")
    writer.say("Done.")
    made = list(chain_from(["structuring:0.5"], "test").propose(session_of(writer, 2000).engine.snapshot()))
    (section,) = [p for p in made if isinstance(p, Section)]
    assert "src/a.py: read #2, #5; edited #3" in section.text.split("\n")
    assert section.sources[:2] == (2, 3)


def test_a_chain_hands_what_one_strategy_leaves_to_the_next() -> None:
    snapshot = session_of(reads(20)).engine.snapshot()
    alone = at(proposed(snapshot, "importance:0.3"), Level.RAW)
    behind = at(proposed(snapshot, {"strategy": "window", "share": 0.6, "newest": 1}, "importance:0.3"), Level.RAW)
    assert len(behind) > len(alone) + 1


def test_the_first_strategy_to_want_a_step_decides_its_level() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    for n in range(6):
        writer.call("read_file", log_of(60 + n), path=f"{n}.log")
    writer.say("Done.")
    snapshot = session_of(writer, 9_000).engine.snapshot()
    first = proposed(snapshot, "summaries:0.5", "window:0.5")
    other = proposed(snapshot, "window:0.5", "summaries:0.5")
    assert first[2].level is Level.ABSTRACT
    assert other[7].level is Level.RAW
    assert len(at(other, Level.RAW)) > len(at(first, Level.RAW))


def test_a_step_of_several_calls_is_shown_at_one_level_its_small_parts_whole() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    writer.calls(
        Call(name="read_file", arguments={"path": "a.log"}, result=log_of(70)),
        Call(name="list_files", arguments={"path": "."}, result="a.log"),
        thought="Both.",
    )
    for n in range(3):
        writer.call("read_file", prose(20, n), path=f"{n}.md")
    writer.say("Done.")
    changes = proposed(session_of(writer, 2_000).engine.snapshot(), "summaries:1")
    assert [changes[i].level for i in (2, 3, 4)] == [Level.RAW, Level.ABSTRACT, Level.RAW]
    roomy = proposed(session_of(writer, 20_000).engine.snapshot(), "summaries:1")
    assert {roomy[i].level for i in (2, 3, 4)} == {Level.RAW}
    assert roomy[3].reason == "room enough for the original"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (["windows:0.4"], "no strategy 'windows'; there are cleanup, externalise"),
        (["window"], "has no share; write it as window:0.4"),
        (["window:0.7", "importance:0.4"], "the shares sum up to 1.1"),
        (["window:0"], "expected a number above 0"),
        ([{"strategy": "window", "share": 0.4, "oldest": 3}], "window has no parameter 'oldest'; it has newest"),
        ([{"strategy": "window", "share": True}], "share True of window"),
        ([{"strategy": "window", "share": 0.5, "newest": -1}], "newest -1 of window; expected a number, 0 or above"),
        ([7], "7 is neither"),
        ([], "expected a list of strategies"),
        ("window:1", "expected a list of strategies"),
    ],
)
def test_a_chain_that_makes_no_sense_is_refused_with_what_would(data: Any, said: str) -> None:
    with pytest.raises(SettingsError, match="mine") as caught:
        chain_from(data, "mine")
    assert said in str(caught.value)


def test_phases_and_agents_are_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="no phase 'explores'"):
        phases_from({"explores": ["window:1"]}, "mine")
    with pytest.raises(SettingsError, match="agent 'coder', phase 'act', entry 1: no strategy 'x'"):
        agents_from({"coder": {"act": ["x:1"]}}, "mine")
    with pytest.raises(SettingsError, match="expected an object"):
        phases_from(["window:1"], "mine")


def test_star_serves_every_phase_that_has_none_of_its_own() -> None:
    plan = phases_from({"act": ["window:1"], "*": ["importance:1"]}, "mine")
    chains = [plan.chain(phase) for phase in ("act", "verify", "")]
    assert [c.text for c in chains if c is not None] == ["window:1", "importance:1", "importance:1"]
    assert phases_from({"act": ["window:1"]}, "mine").chain("explore") is None


def test_the_library_is_what_the_design_asks_for() -> None:
    assert sorted(STRATEGIES) == [
        "cleanup", "externalise", "extraction", "importance", "structuring", "summaries", "window",
    ]  # fmt: skip


def test_a_caller_may_bring_a_chain_of_its_own_objects() -> None:
    chain = chain_from(["window:1"], "mine")
    assert isinstance(chain, Chain)
    assert chain_from(chain, "again") is chain
    assert Ace(chain=chain.links).chain is chain.links
