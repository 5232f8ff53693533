from __future__ import annotations

from foldaway import Session
from foldaway.linking.graph import Provenance
from foldaway.linking.index import SUPPLIERS
from foldaway.linking.reuse import COMMON
from foldaway.testing.histories import Writer


def linked(writer: Writer) -> Session:
    session = Session(budget=1_000_000, policy="window")
    session.append(writer.messages)
    return session


def test_an_action_rests_on_the_one_observation_that_supplied_its_value() -> None:
    writer = Writer("openai_chat")
    writer.user("Go.")
    writer.call("grep", "src/deep/rates_core.py:7", pattern="x")
    writer.call("grep", "nothing", pattern="y")
    writer.call("read_file", "ok", path="src/deep/rates_core.py")
    [link] = linked(writer).engine.log.graph.needs(4)
    assert (link.target, link.weight, link.provenance) == (2, 1.0, Provenance.OBSERVED)
    assert "src/deep/rates_core.py" in link.why


def test_a_value_seen_in_many_places_says_little_and_one_seen_everywhere_nothing() -> None:
    weights = []
    for copies in (1, 2, COMMON, COMMON + 1):
        writer = Writer("openai_chat")
        writer.user("Go.")
        for n in range(copies):
            writer.call("grep", "berth_table_77", pattern=str(n))
        writer.call("read_file", "ok", path="berth_table_77")
        needs = linked(writer).engine.log.graph.needs(copies + 2)
        assert len(needs) <= SUPPLIERS
        weights.append(max((link.weight for link in needs), default=0.0))
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0
    assert weights[-1] == 0.0


def test_what_the_user_said_is_no_supplier() -> None:
    writer = Writer("openai_chat")
    writer.user("Read src/deep/rates_core.py.")
    writer.call("read_file", "ok", path="src/deep/rates_core.py")
    assert linked(writer).engine.log.graph.links() == ()


def test_links_never_point_forward() -> None:
    from foldaway.testing.histories import working_session

    session = Session(budget=1_000_000, policy="window")
    session.append(working_session("openai_chat", 40))
    links = session.engine.log.graph.links()
    assert links
    assert all(link.target < link.source for link in links)
    assert all(0 < link.weight <= 1 for link in links)
