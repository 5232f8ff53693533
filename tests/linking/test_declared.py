"""Declared links between calls, over the items of a real log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foldaway.engine.log import Log
from foldaway.linking.declared import Declaration, Declared
from foldaway.linking.graph import Provenance
from foldaway.linking.kinds import Kinds
from foldaway.tokens import RequestCounter, get_counter
from foldaway.wire import get_wire

FORMAT = "openai_chat"
FIND = Declaration(tool="find_order", reads=("customer",), produces=("order_id",))
CANCEL = Declaration(tool="cancel", reads=("order",))
WRITE = Declaration(tool="write", reads=(), produces=("path",))
RUN = Declaration(tool="run", reads=("path",), produces=("result",))


def calls(*asked: tuple[str, dict[str, Any], str]) -> list[dict[str, Any]]:
    """One assistant message with these calls, and their results."""
    made = [
        {"id": f"{name}{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments, _) in enumerate(asked)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"{name}{n}", "content": result} for n, (name, _, result) in enumerate(asked)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": made}, *results]


def log_of(*turns: list[dict[str, Any]]) -> Log:
    log = Log(wire=get_wire(FORMAT), counter=RequestCounter(get_counter("", FORMAT), FORMAT), kinds=Kinds())
    for turn in turns:
        log.append(turn)
    return log


def links(log: Log, *declarations: Declaration) -> set[tuple[int, int, float]]:
    declared = Declared()
    for declaration in declarations:
        declared.declare(declaration)
    for index in range(log.settled):
        declared.observe(log.graph, log.turns[index], log.items_of_turn(index))
    return {(k.source, k.target, k.weight) for k in log.graph.links() if k.provenance is Provenance.DECLARED}


def test_a_call_must_have_the_call_that_produced_what_it_reads() -> None:
    log = log_of(
        calls(("find_order", {"customer": "ann"}, '{"order_id": 42, "total": 7}')),
        calls(("find_order", {"customer": "bob"}, '{"order_id": 43, "total": 42}')),
        calls(("cancel", {"order": "42"}, "ok")),
    )
    assert links(log, FIND, CANCEL) == {(3, 1, 1.0)}
    (link,) = [k for k in log.graph.needs(3) if k.provenance is Provenance.DECLARED]
    assert link.why == "cancel reads 42, produced there"


def test_without_the_producers_declaration_there_is_no_link() -> None:
    log = log_of(
        calls(("find_order", {"customer": "ann"}, '{"order_id": 42}')), calls(("cancel", {"order": "42"}, "ok"))
    )
    assert links(log, CANCEL) == set()


def test_the_newest_producer_is_needed_and_older_ones_may_help() -> None:
    log = log_of(
        calls(("write", {"path": "a.py"}, "done")),
        calls(("write", {"path": "a.py"}, "done")),
        calls(("write", {"path": "b.py"}, "done")),
        calls(("run", {"path": "a.py"}, "1 failed")),
        calls(("run", {"path": "a.py"}, "passed")),
    )
    assert links(log, WRITE, RUN) == {(4, 2, 1.0), (4, 1, 0.3), (5, 2, 1.0), (5, 1, 0.3), (5, 4, 0.3)}


def test_parallel_calls_do_not_depend_on_each_others_results() -> None:
    log = log_of(calls(("find_order", {"customer": "ann"}, '{"order_id": 42}'), ("cancel", {"order": "42"}, "ok")))
    assert links(log, FIND, CANCEL) == set()


@pytest.mark.parametrize(
    ("result", "produces"),
    [
        ('[{"order_id": "A-1"}, {"order_id": "A-2"}]', "order_id"),
        ('{"order_id": ["A-0", "A-2"]}', "order_id"),
        (" A-2\n", "result"),
        ('["A-2"]', "result"),
    ],
)
def test_values_are_found_in_each_shape_of_a_result(result: str, produces: str) -> None:
    log = log_of(calls(("find", {}, result)), calls(("cancel", {"order": "A-2"}, "ok")))
    assert links(log, Declaration(tool="find", produces=(produces,)), CANCEL) == {(2, 1, 1.0)}


@pytest.mark.parametrize("value", ["", "  ", None, True, [], {}, {"a": 1}])
def test_values_that_identify_nothing_link_nothing(value: Any) -> None:
    log = log_of(
        calls(("find", {}, json.dumps({"order": value}))), calls(("cancel", {"order": value}, "ok")),
    )  # fmt: skip
    assert links(log, Declaration(tool="find", produces=("order",)), CANCEL) == set()


def test_damaged_results_and_arguments_are_passed_over() -> None:
    broken = calls(("cancel", {}, "[" * 100_000))
    broken[0]["tool_calls"][0]["function"]["arguments"] = "{not json"
    log = log_of(broken, calls(("cancel", {"order": "42"}, "ok")))
    assert links(log, Declaration(tool="cancel", reads=("order",), produces=("order_id",))) == set()


def test_a_hint_does_not_weaken_an_observed_link() -> None:
    look = Declaration(tool="look", reads=("order",))
    log = log_of(
        calls(("look", {"order": "ORD-77123"}, "ORD-77123 is open, ticket TCK-99871")),
        calls(("look", {"order": "ORD-77123", "ticket": "TCK-99871"}, "closed")),
    )
    assert links(log, look) == set()
    assert [(k.target, k.weight, k.provenance) for k in log.graph.needs(2)] == [(1, 1.0, Provenance.OBSERVED)]


def test_declaring_the_same_again_looks_at_nothing_again() -> None:
    declared = Declared()
    assert declared.declare(FIND)
    declared.upto = 5
    assert not declared.declare(Declaration(tool="find_order", reads=("customer",), produces=("order_id",)))
    assert declared.upto == 5
    assert declared.declare(CANCEL)
    assert declared.upto == 0
