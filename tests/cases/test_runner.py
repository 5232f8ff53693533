"""The runner with stand-in systems, good and bad ones: a judge that never says no is no judge."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from foldaway.errors import FoldawayError, StoreError
from foldaway.protocols import Note, SessionKey
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing import cases
from foldaway.testing.cases.runner import Verdict, load, run_apart, run_case, run_file
from foldaway.testing.cases.system import Clock, Listed, Message, NotApplicable, Proxy, Recalled, Sent, Session, Setup
from foldaway.testing.torn import tear_last_record

FOLDER = Path(cases.__file__).parents[2] / "data" / "cases"


def whole(setup: Setup, messages: list[Message]) -> list[Message]:
    return copy.deepcopy(messages)


class Plain:
    """A system that sends what `show` makes of the history, keeps notes in the real store, and recalls by position."""

    def __init__(self, show: Callable[[Setup, list[Message]], list[Message]] = whole) -> None:
        self.show = show

    def open(self, setup: Setup, root: Path, *, user: str, name: str, clock: Clock) -> Session:
        return PlainSession(self, setup, root, SessionKey(user=user, name=name), clock)

    def fit_once(self, setup: Setup, messages: Sequence[Message]) -> Sent:
        return Sent(messages=self.show(setup, list(messages)), system=setup.system, tools=setup.tools, tokens=1)

    def count_once(self, setup: Setup, messages: Sequence[Message]) -> int:
        return len(json.dumps(messages)) // 4

    def proxy(self, root: Path) -> Proxy:
        raise NotApplicable("no proxy")

    def tear(self, root: Path, keep_fraction: float) -> None:
        tear_last_record(root / "notes.db", keep_fraction)

    def is_own(self, error: BaseException) -> bool:
        return isinstance(error, FoldawayError)

    def is_missing(self, error: BaseException) -> bool:
        return False

    def calls(self, what: str) -> list[int]:
        return []


class PlainSession:
    def __init__(self, system: Plain, setup: Setup, root: Path, key: SessionKey, clock: Clock) -> None:
        self.system, self.setup, self.messages = system, setup, list[Message]()
        self.store = SqliteStore(root / "notes.db", clock=clock)
        self.id = self.store.open(key)

    def append(self, messages: Sequence[Message]) -> None:
        self.messages += messages

    def sync(self, messages: Sequence[Message]) -> None:
        self.messages = list(messages)

    def fit(self) -> Sent:
        return self.system.fit_once(self.setup, self.messages)

    def count(self) -> int:
        return self.system.count_once(self.setup, self.messages)

    def compact(self) -> None: ...

    def set_budget(self, *, budget: int | None, window: int | None) -> None: ...

    def report_usage(self, usage: Mapping[str, Any] | None) -> None: ...

    def handles_of(self, position: int) -> list[str]:
        return [str(position)]

    def stand_in(self, position: int) -> str | None:
        return None

    def recall(self, handles: Sequence[str], find: str | None) -> Recalled:
        return Recalled(text=str(self.messages[int(handles[0])]["content"]))

    def recall_exchange(self, handles: Sequence[str], find: str | None) -> list[Message]:
        call = {"id": "recall", "type": "function", "function": {"name": "recall", "arguments": "{}"}}
        result = {"role": "tool", "tool_call_id": "recall", "content": self.recall(handles, find).text}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]

    def remember(self, text: str, key: str, at: str | None) -> Listed:
        return listed(self.store.put_note(self.id, key=key, text=text, at=at))

    def note(self, *, key: str | None = None, handle: str | None = None) -> Recalled:
        note = self.store.note(self.id, key=key, handle=handle)
        return Recalled(text=note.text) if note else Recalled(found=False)

    def notes(self) -> list[Listed]:
        return [listed(note) for note in self.store.notes(self.id)]

    def search(self, query: str) -> list[Listed]:
        return [Listed(text=hit.text, replaced=hit.superseded) for hit in self.store.search(self.id, query)]

    def warnings(self) -> list[str]:
        return list(self.store.recovered)

    def close(self) -> None:
        self.store.close()


def listed(note: Note) -> Listed:
    return Listed(text=note.text, key=note.key, at=note.at, handle=note.handle, replaced=note.superseded)


def case(**fields: Any) -> dict[str, Any]:
    return {"id": "made", "format": "openai_chat", "operation": "fit", "model_window": 8000, "budget": 1000, **fields}


def written(tmp_path: Path, **fields: Any) -> Path:
    path = tmp_path / "made.json"
    path.write_text(json.dumps(case(**fields)), encoding="utf-8")
    return path


USER = {"role": "user", "content": "hello", "_label": "task"}
TWO = [USER, {"role": "assistant", "content": "hi"}, {"role": "user", "content": "bye"}]
KEPT = {"assert": [{"check": "message_kept", "label": "task", "how": "identical"}]}


@pytest.mark.parametrize(
    "name",
    [
        "last-record-torn",
        "many-writers",
        "newer-fact-wins",
        "search-with-signs",
        "session-names-as-paths",
        "times-with-and-without-zone",
        "users-kept-apart",
    ],
)
def test_the_store_passes_the_cases_on_the_store_alone(name: str) -> None:
    verdict = run_apart(FOLDER / f"{name}.json", Plain())
    assert verdict.status == "passed", verdict.reasons


def test_a_system_that_cuts_nothing_passes_where_all_fits_and_fails_where_it_does_not() -> None:
    assert run_file(FOLDER / "special-token-text.json", Plain()).status == "passed"
    assert run_file(FOLDER / "usage-cached-inside.json", Plain()).status == "passed"
    verdict = run_file(FOLDER / "one-user-message-only.json", Plain())
    assert verdict.status == "failed"
    assert "plain estimate" in verdict.reasons[0]


def test_notes_for_the_runner_do_not_reach_the_system() -> None:
    seen: list[Message] = []

    def look(setup: Setup, messages: list[Message]) -> list[Message]:
        seen.extend(messages)
        return whole(setup, messages)

    assert run_case(case(messages=TWO, expect=KEPT), Plain(look)).status == "passed"
    assert all("_label" not in message for message in seen)


def changed(setup: Setup, messages: list[Message]) -> list[Message]:
    sent = whole(setup, messages)
    messages[0]["content"] += "!"
    return sent


def reversed_order(setup: Setup, messages: list[Message]) -> list[Message]:
    return whole(setup, messages)[::-1]


def never_the_same(setup: Setup, messages: list[Message]) -> list[Message]:
    return [*whole(setup, messages), {"role": "user", "content": str(time.perf_counter_ns())}]


def no_json(setup: Setup, messages: list[Message]) -> list[Message]:
    return [*whole(setup, messages), {"role": "user", "content": ("a", "b")}]


def half_a_character(setup: Setup, messages: list[Message]) -> list[Message]:
    return [*whole(setup, messages), {"role": "user", "content": "\ud83d"}]


def loose_result(setup: Setup, messages: list[Message]) -> list[Message]:
    return [*whole(setup, messages), {"role": "tool", "tool_call_id": "x", "content": "ok"}]


def crash(setup: Setup, messages: list[Message]) -> list[Message]:
    raise KeyError("oh")


@pytest.mark.parametrize(
    ("show", "word"),
    [
        (changed, "changed"),
        (reversed_order, "order"),
        (never_the_same, "twice"),
        (no_json, "not JSON"),
        (half_a_character, "UTF-8"),
        (loose_result, "pairs"),
        (crash, "KeyError"),
    ],
)
def test_what_is_always_judged_is_judged_without_an_assertion(
    show: Callable[[Setup, list[Message]], list[Message]], word: str
) -> None:
    verdict = run_case(case(messages=TWO, expect={"assert": []}), Plain(show))
    assert verdict.status == "failed"
    assert word in " ".join(verdict.reasons)


def refuse(setup: Setup, messages: list[Message]) -> list[Message]:
    raise StoreError("system and tools are over the budget")


def test_an_error_passes_only_where_the_case_wants_one() -> None:
    wanted = {"assert": [{"check": "error", "names": ["tools", "budget"]}]}
    assert run_case(case(messages=TWO, expect=wanted), Plain(refuse)).status == "passed"
    assert run_case(case(messages=TWO, expect={"assert": []}), Plain(refuse)).status == "failed"
    assert run_case(case(messages=TWO, expect=wanted), Plain(crash)).status == "failed"
    assert run_case(case(messages=TWO, expect=wanted), Plain()).status == "failed"


def test_what_is_only_wished_does_not_fail_a_case() -> None:
    wished = {"assert": [{"check": "text_absent", "text": "hello", "level": "should"}]}
    verdict = run_case(case(messages=TWO, expect=wished), Plain())
    assert verdict.status == "passed"
    assert len(verdict.wished) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": TWO, "expect": {"assert": [{"check": "is_nice"}]}},
        {"messages": TWO, "settings": {"be_nice": True}},
        {"messages": [{"role": "user", "content": {"lorem": 3}}]},
        {"messages": TWO, "operation": "guess"},
        {"messages": TWO, "format": "pigeon_post"},
        {"messages": TWO, "temperature": 1},
        {"operation": "sequence", "steps": [{"dance": True}]},
        {"operation": "sequence", "steps": [{"append": [USER], "fit": "one"}]},
        {"operation": "sequence", "steps": [{"append": [USER]}, {"recall": {"of": "nobody"}}]},
        {"operation": "store", "steps": [{"remember": {"text": "a", "key": "k", "mood": "good"}}]},
    ],
)
def test_a_word_that_the_runner_does_not_know_fails_the_case(tmp_path: Path, fields: dict[str, Any]) -> None:
    assert run_file(written(tmp_path, **fields), Plain()).status == "failed"


def test_a_case_that_hangs_is_ended(tmp_path: Path) -> None:
    path = written(tmp_path, operation="sequence", steps=[{"wait": {"seconds": 30}}], expect={"assert": []})
    started = time.monotonic()
    verdict = run_apart(path, Plain(), limit_seconds=0.5)
    assert "not done after 0.5 s" in verdict.line()
    assert time.monotonic() - started < 10


def test_an_adopted_fit_becomes_the_history() -> None:
    steps: list[Any] = [
        {"append": copy.deepcopy(TWO)},
        {"fit": "a"},
        {"adopt": "a"},
        {"append": [{"role": "user", "content": "x"}]},
        {"fit": "b"},
    ]
    expect = {"assert": [{"check": "unchanged", "at": "b"}, {"check": "text_once", "text": "hello", "at": "b"}]}
    made = case(operation="sequence", steps=steps, expect=expect)
    assert run_case(made, Plain()).status == "passed"


def test_an_echo_of_what_was_not_evicted_does_not_apply() -> None:
    steps: list[Any] = [{"append": copy.deepcopy(TWO)}, {"fit": "a"}, {"echo": {"of": "task", "role": "assistant"}}]
    verdict = run_case(case(operation="sequence", steps=steps, expect={"assert": []}), Plain())
    assert verdict.line().startswith("not applicable made: task was not evicted")


def test_a_recall_with_its_exchange_joins_the_session() -> None:
    steps: list[Any] = [
        {"append": copy.deepcopy(TWO)},
        {"recall": {"of": "task"}, "as": "r", "append_exchange": True},
        {"fit": "one"},
    ]
    expect = {"assert": [{"check": "recall_equals", "of": "task", "at": "r"},
                         {"check": "text_present", "text": "hello", "role": "tool", "at": "one"}]}  # fmt: skip
    assert run_case(case(operation="sequence", steps=steps, expect=expect), Plain()).status == "passed"


def test_a_text_in_the_store_is_found_plain_packed_and_indexed(tmp_path: Path) -> None:
    secret = "AKIAMADEUP0MADEUP000"
    steps: list[Any] = [{"remember": {"text": "row " * 200 + secret, "key": "k"}}]
    expect = {"assert": [{"check": "store_absent", "text": secret}]}
    verdict = run_case(case(operation="store", format="store", steps=steps, expect=expect), Plain())
    assert verdict.status == "failed"
    steps = [{"remember": {"text": "row " * 200, "key": "k"}}]
    assert run_case(case(operation="store", format="store", steps=steps, expect=expect), Plain()).status == "passed"


class Careless(Plain):
    """Opens a file named after the session beside the store's folder."""

    def open(self, setup: Setup, root: Path, *, user: str, name: str, clock: Clock) -> Session:
        (root.parent / f"../{name}.txt").write_text("x")
        return super().open(setup, root, user=user, name=name, clock=clock)


def test_a_file_outside_the_folder_of_the_store_is_seen(tmp_path: Path) -> None:
    expect = {"assert": [{"check": "store_inside_root"}]}
    steps = [{"remember": {"text": "a", "key": "k"}}]
    path = written(tmp_path, operation="store", format="store", steps=steps, expect=expect)
    assert run_apart(path, Plain()).status == "passed"
    assert run_apart(path, Careless()).status == "failed"


def test_a_verdict_is_one_line() -> None:
    assert Verdict(id="a", status="passed").line() == "passed a"
    assert Verdict(id="a", status="failed", reasons=("one\ntwo", "three")).line() == "failed a: one two"


def test_a_case_file_that_is_no_json_fails(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("{", encoding="utf-8")
    assert run_file(path, Plain()).line().startswith("failed broken: not a case file")


def test_loading_expands_generators() -> None:
    assert len(load(FOLDER / "parallel-group-live.json")["messages"]) == 25
