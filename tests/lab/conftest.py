"""A small recorded session, and a session to replay it on that shows only the newest messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message


def call(number: int, **arguments: object) -> Message:
    import json

    function = {"name": "run", "arguments": json.dumps(arguments)}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(number: int, text: str) -> Message:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def chat(*messages: Message, **fields: Any) -> Recorded:
    return Recorded(name="small", source_format="test", format="openai_chat", messages=messages, **fields)


@dataclass(frozen=True)
class NewestView:
    messages: Sequence[Message]
    system: Any = None
    tools: Sequence[Mapping[str, Any]] | None = None
    missing_tokens: int = 0
    commit: Any = None
    shown: range = range(0)
    stubs: bool = False

    def covers(self, item: int) -> bool:
        return self.stubs or item in self.shown


@dataclass
class Newest:
    """System, task and the newest `keep` messages. Item ids are positions; with `stubs`, all can be recalled."""

    keep: int
    stubs: bool = False
    missing_tokens: int = 0
    seen: list[Message] = field(default_factory=list)

    def append(self, messages: Sequence[Message], origins: Sequence[str] = ()) -> None:
        self.seen.extend(messages)

    def items_of(self, position: int) -> Sequence[int]:
        return [position]

    def view(self) -> NewestView:
        first = max(2, len(self.seen) - self.keep)
        commit = first if first > 2 else None
        messages = self.seen[:2] + self.seen[first:]
        shown = range(first, len(self.seen))
        return NewestView(messages, missing_tokens=self.missing_tokens, commit=commit, shown=shown, stubs=self.stubs)


@pytest.fixture
def small() -> Recorded:
    """Five steps; the third needs what the first call returned, the fourth what the second did, the fifth nothing."""
    return chat(
        {"role": "system", "content": "You fix_things."},
        {"role": "user", "content": "Look at main_entry."},
        call(0, command="ls"),
        result(0, "src/tool_box.py\nsrc/other_file.py"),
        call(1, command="git log"),
        result(1, "9f2ac6f3aa first commit"),
        call(2, command="cat src/tool_box.py"),
        result(2, "def open_box(): pass"),
        call(3, command="git show 9f2ac6f3aa"),
        result(3, "diff"),
        call(4, command="echo done"),
    )


@pytest.fixture
def newest() -> Callable[..., Newest]:
    return Newest


@pytest.fixture
def build() -> Callable[..., Recorded]:
    return chat


@pytest.fixture
def tool() -> tuple[Callable[..., Message], Callable[[int, str], Message]]:
    """Makers of a call and of its result."""
    return call, result
