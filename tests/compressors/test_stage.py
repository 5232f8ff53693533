from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.compressors.checker import unsupported
from foldaway.compressors.stage import Call, digest
from foldaway.linking.kinds import Kinds
from foldaway.model.items import Kind

CALLS = (
    Call(item=12, tool="read_file", arguments={"path": "src/plan/table.py"}, text="class RateTable: ..."),
    Call(item=13, tool="read_file", arguments={"path": "src/plan/rates.py"}, text="def load_rates(): ..."),
    Call(item=14, tool="grep", arguments={"pattern": "load_rates"}, text="src/plan/rates.py:1:def load_rates()"),
    Call(item=15, tool="edit", arguments={"path": "src/plan/rates.py", "old": "a", "new": "b"}, text="ok"),
    Call(item=16, tool="read_file", arguments={"path": "src/plan/table.py"}, text="class RateTable: ..."),
    Call(item=17, tool="run_command", arguments={"command": "pytest -q"}, text="212 passed in 3.1s"),
    Call(
        item=18,
        tool="run_command",
        arguments={"command": "pytest -q tests/x.py"},
        text="E\nAssertionError: 3 != 4",
        error=True,
    ),
    Call(item=19, tool="get_user", arguments={"user_id": "mia_li_3668"}, text='{"name": "Mia"}'),
)  # fmt: skip


def _source(calls: tuple[Call, ...]) -> str:
    return "\n".join(f"{c.tool}\n{json.dumps(c.arguments)}\n{c.text}" for c in calls)


def test_a_stage_says_what_was_done_to_what() -> None:
    assert digest(CALLS, 2_000).text.split("\n")[:7] == [
        "[#12–#19: 8 calls in src/plan: 1 edit, 2 commands, 1 × get_user, 1 search, 3 reads; 1 failed]",
        "failed: #18 pytest -q tests/x.py: AssertionError: 3 != 4",
        "edited: rates.py (#15)",
        "ran: pytest -q (#17: 212 passed), pytest -q tests/x.py (#18)",
        "get_user: mia_li_3668 (#19)",
        "searched: load_rates (#14)",
        "read: table.py (#12, #16), rates.py (#13)",
    ]


def test_names_out_of_the_results_follow() -> None:
    assert digest(CALLS, 2_000).text.split("\n")[-1].startswith("also named: RateTable")


def test_figures_come_from_the_results() -> None:
    queries = tuple(
        Call(item=n, tool="sql", arguments={"query": f"select * from users_{n}"}, text=f"{n},234,567 rows")
        for n in (1, 2)
    )
    assert "(#1: 1,234,567 rows)" in digest(queries, 400).text


def test_tools_can_be_given_a_kind() -> None:
    kinds = Kinds({"peek": Kind.READ})
    assert "[#1: 1 calls: 1 read]" in digest([Call(item=1, tool="peek", arguments={"path": "a.py"})], 200, kinds).text


@pytest.mark.parametrize("room", [0, 10, 60, 100, 200, 400])
def test_the_most_important_lines_stay_in_a_small_room(room: int) -> None:
    text = digest(CALLS, room).text
    assert len(text) <= room
    assert ("8 calls" in text) == (room >= 100)
    assert ("failed: #18" in text) == (room >= 60 and room != 100)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.builds(
            Call,
            item=st.integers(1, 99),
            tool=st.sampled_from(["bash", "read", "grep", "get_thing", ""]),
            arguments=st.none()
            | st.dictionaries(st.sampled_from(["path", "command", "id", "n"]), st.text(max_size=20)),
            text=st.text(max_size=60),
            error=st.booleans(),
        ),
        max_size=6,
    ),
    st.integers(-1, 500),
)
def test_any_calls_give_a_stage_that_fits(calls: list[Call], room: int) -> None:
    assert len(digest(calls, room).text) <= max(0, room)


def test_a_stage_makes_nothing_up() -> None:
    assert unsupported(digest(CALLS, 2_000).text, _source(CALLS)) == ()
