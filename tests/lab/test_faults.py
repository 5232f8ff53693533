from __future__ import annotations

from dataclasses import replace
from typing import Any

from foldaway.lab.faults import thrash_index
from foldaway.lab.replay import FULL, gaps_of, replay
from foldaway.lab.timeline import steps_of
from foldaway.model.recorded import Recorded


def call(number: int, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def result(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def session(*pairs: tuple[str, str, str]) -> Recorded:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Never touch the vendored folder. Begin."}]
    for number, (name, arguments, text) in enumerate(pairs):
        messages += [call(number, name, arguments), result(number, text)]
    messages.append({"role": "assistant", "content": "done"})
    return Recorded(name="s", source_format="plain", format="openai_chat", messages=messages)


FILLER = "nothing of note here, line after line. " * 120
READ = ("read", '{"path": "src/a_module.py"}', "def some_function(): pass\n" * 20)


def test_a_call_made_again_with_its_result_in_view_is_a_duplicate() -> None:
    found = replay(session(READ, READ), FULL, 0)
    assert (found.faults["duplicate"], found.faults["refetch"]) == (1, 0)


def test_a_call_made_again_after_its_result_was_folded_is_a_refetch() -> None:
    fillers = [("look", f'{{"n": {n}}}', FILLER) for n in range(6)]
    found = replay(session(READ, *fillers, READ), "window", 2_500)
    assert (found.faults["duplicate"], found.faults["refetch"]) == (0, 1)


def test_a_call_whose_result_changed_is_neither() -> None:
    changed = (READ[0], READ[1], "def other(): pass\n" * 20)
    found = replay(session(READ, changed), FULL, 0)
    assert (found.faults["duplicate"], found.faults["refetch"]) == (0, 0)


def test_a_view_without_a_persons_words_is_a_pin_fault_at_each_call() -> None:
    class Forgetful:
        missing_tokens = 0
        commit = None
        system = None
        tools = None

        def __init__(self) -> None:
            self.messages: list[Any] = []

        def append(self, messages: Any, origins: Any = ()) -> None:
            self.messages.extend(m for m in messages if m["role"] != "user")

        def view(self) -> Forgetful:
            return self

        def items_of(self, position: int) -> tuple[int, ...]:
            return ()

        def covers(self, item: int) -> bool:
            return False

    recorded = session(READ, READ)
    found = replay(recorded, "forgetful", 10_000, make=lambda *_: Forgetful())
    assert found.faults["pin"] == found.calls == 3
    assert replay(recorded, "auto", 10_000).faults["pin"] == 0


def test_a_need_out_of_view_is_a_recall_fault_where_a_stub_leads_to_it_and_faults_again_when_missed_twice() -> None:
    wanted = ("list", "{}", "the record is ORDER_88213_X and nothing else\n" + FILLER)
    fillers = [("look", f'{{"n": {n}}}', FILLER) for n in range(6)]
    use = ("open", '{"id": "ORDER_88213_X"}', "ok")
    found = replay(session(wanted, *fillers, use, ("close", '{"id": "ORDER_88213_X"}', "ok")), "window", 2_500)
    assert found.faults["recall"] == 2
    assert found.faults["silent"] == 0
    assert found.faults["again"] == 1
    assert found.thrash_index == 1.0


def test_thrash_index_is_repeated_faults_over_hits_plus_one() -> None:
    assert thrash_index({"again": 6}, 2) == 2.0


def test_gaps_are_the_seconds_between_the_starts_of_calls() -> None:
    recorded = session(READ, READ)
    timed = replace(recorded, times=(0.0, 10.0, 11.0, 400.0, 401.0, 402.0))
    assert gaps_of(timed, steps_of(timed)) == (None, 390.0, 2.0)
    assert gaps_of(recorded, steps_of(recorded)) == (None, None, None)
