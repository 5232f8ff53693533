"""Where a sub-goal ends, what was observed on the way is looked at again."""

from __future__ import annotations

import pytest

from foldaway import Session
from foldaway.engine.log import Log
from foldaway.linking.graph import Graph, Link, Provenance
from foldaway.linking.index import AnchorIndex
from foldaway.linking.reuse import COMMON, observed
from foldaway.linking.verify import TOGETHER_WEIGHT, Corrections, verify
from foldaway.testing.histories import FORMATS, Writer, prose, working_session

BODY = "def load_special_rates():\n" + prose(60, 3)


def grown(messages: list[dict[str, object]], format: str = "openai_chat", by: int = 10_000) -> Session:
    session = Session(format=format, budget=1_000_000, policy="window")
    for at in range(0, len(messages), by):
        session.append(messages[at : at + by])
    return session


def log_of(writer: Writer) -> Log:
    return grown(writer.messages, writer.format).engine.log


def needs(log: Log, item: int) -> dict[int, float]:
    return {link.target: round(link.weight, 3) for link in log.graph.needs(item)}


def read_thrice(format: str) -> Writer:
    """The same file read three times, a search that uses a name of it, and user words that end the work."""
    writer = Writer(format)
    writer.user("Mend it.")
    for _ in range(3):
        writer.call("read_file", BODY, path="a.py")
    writer.call("grep", "nothing", pattern="load_special_rates")
    return writer


@pytest.mark.parametrize("format", FORMATS)
def test_readings_of_the_same_count_once_and_the_newest_is_what_the_action_rests_on(format: str) -> None:
    writer = read_thrice(format)
    open_log = log_of(writer)
    action = max(open_log.items)
    before = needs(open_log, action)
    newest = max(before)
    assert sorted(before.values()) == [0.333, 0.333, 0.333]
    writer.user("Thanks. And now?")
    log = log_of(writer)
    assert needs(log, action) == {newest: 1.0}
    [corrections] = log.verification.history
    assert {link.target for link in corrections.withdrawn} == set(before) - {newest}
    assert [link.target for link in corrections.reweighed] == [newest]


def test_a_newer_reading_that_came_after_the_action_changes_nothing() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend it.")
    writer.call("read_file", BODY, path="a.py")
    writer.call("grep", "nothing", pattern="load_special_rates")
    writer.call("read_file", BODY, path="a.py")
    writer.user("Thanks.")
    log = log_of(writer)
    assert log.obsolete.of[2].by == 4
    assert needs(log, 3) == {2: 1.0}


NAMES = ["berth_alpha_1", "crane_bravo_2", "gauge_delta_3"]


def commonplace(holders: int) -> tuple[Writer, int]:
    """Three names that stand everywhere, and together in so many results; a command uses all three. Its item, too."""
    writer = Writer("openai_chat")
    writer.user("Go.")
    writer.call("read_file", " ".join(NAMES), path="all.md")
    for n in range(COMMON + 2):
        for name in NAMES:
            writer.call("grep", f"{name} again {n}", pattern=f"x{n}")
    for n in range(1, holders):
        writer.call("read_file", " ".join((*NAMES, f"in {n}")), path=f"all_{n}.md")
    writer.call("bash", "ok", command="join " + " ".join(NAMES))
    return writer, holders + 3 * (COMMON + 2) + 2


def test_common_values_that_stand_together_in_one_observation_only_make_a_link() -> None:
    writer, action = commonplace(1)
    assert needs(log_of(writer), action) == {}
    writer.user("Thanks.")
    log = log_of(writer)
    assert needs(log, action) == {2: TOGETHER_WEIGHT}
    assert log.graph.needs(action)[0].why == "uses together " + ", ".join(NAMES)
    # Asked again, nothing is found that is not there.
    assert not verify(99, log.graph, log.anchors, {action: NAMES}, lambda item: 0)


def test_in_two_observations_they_tell_nothing() -> None:
    writer, action = commonplace(2)
    writer.user("Thanks.")
    assert needs(log_of(writer), action) == {}


def test_a_value_that_the_index_does_not_find_in_both_is_no_reason() -> None:
    index, graph = AnchorIndex(), Graph()
    index.observe(1, 0, {})
    graph.add(observed(2, 1, {"berth_7": 1}))
    found = verify(5, graph, index, {2: ["berth_7"]}, lambda item: 0)
    assert [(k.source, k.target) for k in found.withdrawn] == [(2, 1)]
    found.apply(graph)
    assert graph.links() == ()


def test_what_was_declared_or_inferred_is_not_touched() -> None:
    index, graph = AnchorIndex(), Graph()
    for provenance, target in ((Provenance.DECLARED, 1), (Provenance.INFERRED, 2)):
        graph.add(Link(source=3, target=target, weight=0.9, provenance=provenance))
    assert not verify(5, graph, index, {3: ["berth_7"]}, lambda item: 0)
    assert len(graph.links()) == 2


@pytest.mark.parametrize("format", FORMATS)
def test_the_graph_is_the_same_however_the_history_came_in(format: str) -> None:
    messages = [*working_session(format, 60), *read_thrice(format).messages, *working_session(format, 9)]
    whole = grown(messages, format).engine.log
    assert any(whole.verification.history)
    for by in (1, 7):
        pieces = grown(messages, format, by).engine.log
        assert pieces.graph.links() == whole.graph.links()
        assert pieces.verification.history == whole.verification.history


def test_the_graph_is_the_same_after_a_restart_whatever_was_said_of_it(tmp_path: object) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    writer = read_thrice("openai_chat")
    with Session(store=store, budget=100_000) as session:
        session.append(writer.messages)
        # Said while the work goes on, of pairs that are corrected when it ends, and of others.
        session.link(5, [2], weight=0.4)
        session.infer_link(5, 3, 0.9, "the model says so")
        session.infer_link(5, 4, 0.95)
        session.append(writer.user("Thanks. And now?"))
        links = session.engine.log.graph.links()
        assert {(k.target, k.provenance.value) for k in links if k.source == 5} == {
            (2, "declared"), (3, "inferred"), (4, "observed"),
        }  # fmt: skip
    with Session(store=store, budget=100_000) as session:
        assert session.engine.log.graph.links() == links


def test_what_stands_still_is_not_verified_again() -> None:
    writer = read_thrice("openai_chat")
    writer.user("One.")
    writer.user("Two.")
    writer.call("read_file", "other", path="b.py")
    writer.user("Three.")
    log = log_of(writer)
    assert [c.turn for c in log.verification.history] == [5]


def test_a_finished_entry_of_the_plan_is_a_boundary_too() -> None:
    writer = read_thrice("openai_chat")
    todo = [{"content": "look at a.py", "status": "in_progress", "id": "1"}]
    head = Writer("openai_chat")
    head.user("Mend it.")
    head.call("TodoWrite", "ok", todos=todo)
    messages = [*head.messages, *writer.messages[1:]]
    log = grown(messages).engine.log
    assert not log.verification.history
    head.messages = messages
    head.call("TodoWrite", "ok", todos=[{**todo[0], "status": "completed"}])
    assert len(grown(messages).engine.log.verification.history) == 1


def test_nothing_to_correct_is_falsy() -> None:
    assert not Corrections(turn=3)
