"""Declared tools in a session: linked, kept over a restart, and told anew on a branch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldaway import Session, tool


@tool(reads=["customer"], produces=["order_id"])
def find_order(customer: str) -> str:
    return customer


@tool(reads=["order"])
async def cancel(order: str) -> str:
    return order


def call(number: int, name: str, arguments: dict[str, Any], result: str) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    asked = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


HISTORY = [
    {"role": "user", "content": "Cancel the order of a."},
    *call(1, "find_order", {"customer": "a"}, '{"order_id": 77123}'),
    *call(2, "cancel", {"order": "77123"}, "ok"),
]


def declared(session: Session, item: int) -> list[tuple[int, float]]:
    return [(target, weight) for target, weight, said_by, _ in session.explain(item).needs if said_by == "declared"]


@pytest.mark.parametrize("told_after", [0, 3, 5])
def test_links_are_the_same_whenever_the_tools_are_told(told_after: int) -> None:
    with Session() as session:
        session.append(HISTORY[:told_after])
        session.use_tools(find_order, cancel)
        session.append(HISTORY[told_after:])
        assert declared(session, 3) == [(2, 1.0)]


def test_a_session_that_is_opened_again_knows_its_tools(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 's.db'}"
    with Session(store=store) as session:
        session.use_tools(find_order, cancel)
        session.append(HISTORY)
        session.use_tools(find_order, cancel)
        assert sum(entry["type"] == "declare" for entry in session.ledger) == 2
    with Session(store=store) as session:
        assert declared(session, 3) == [(2, 1.0)]
        session.append(call(3, "cancel", {"order": "77123"}, "again"))
        assert declared(session, 4) == [(2, 1.0), (3, 0.3)]


def test_a_branch_knows_the_tools_told_before_it() -> None:
    with Session() as session:
        session.use_tools(find_order, cancel)
        session.append(HISTORY)
        session.sync([*HISTORY[:3], *call(4, "cancel", {"order": "77123"}, "other")])
        assert declared(session, 3) == [(2, 1.0)]


def test_undeclared_functions_are_refused() -> None:
    with Session() as session, pytest.raises(TypeError, match="declares nothing"):
        session.use_tools(len)


@pytest.mark.parametrize(
    ("needs", "weight", "why"), [([1], float("nan"), "weight"), ([1], -5.0, "weight"), ([3], 1.0, "#2")]
)
def test_a_declared_link_that_makes_no_sense_is_refused(needs: list[int], weight: float, why: str) -> None:
    with Session(budget=1_000) as session:
        session.append([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}])
        session.append([{"role": "user", "content": "three"}])
        with pytest.raises(ValueError, match=why):
            session.link(2, needs, weight=weight)
        assert session.ledger == []
