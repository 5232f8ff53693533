"""A session driven by a list of moves, so that a property test can look at it after every one.

A move is a plain tuple of a word and numbers: hypothesis draws them (`MOVES` says which there are), and a failing
walk can be written down as it is. The walk keeps what a client would hold, so any move is legal at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.errors import OverBudget
from foldaway.model.view import View
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.stores.memory import MemoryStore
from foldaway.testing.histories import SYSTEM, Call, Writer, prose, working_session

Move = tuple[str, int]

GROWING = ("user", "say", "read", "search", "edit", "run", "parallel", "giant", "start", "end")
"""Moves that add messages; the number says how much and about what."""
ACTING = ("recall", "pin", "unpin", "undo", "restart", "branch", "directive", "preview", "compact")
"""Moves on the session itself; the number chooses the item or the place."""
MOVES = (*GROWING, *ACTING)


@dataclass(slots=True, kw_only=True)
class Walk:
    """One client with one session. `view()` follows each growing move, as a model call would."""

    format: str
    policy: str
    budget: int = 1500
    settings: dict[str, Any] = field(default_factory=dict)
    store: Store = field(default_factory=MemoryStore)
    warm_steps: int = 0
    """Steps of a working agent that come before the first move, so that a small budget evicts at once."""
    session: Session = field(init=False)
    writer: Writer = field(init=False)
    branches: int = 0
    pins: set[int] = field(default_factory=set)
    """Item ids pinned by a move and not unpinned since."""

    def __post_init__(self) -> None:
        self.writer = Writer(self.format, id_cycle=7)
        self.session = self.open()
        if self.warm_steps:
            self.writer.messages.extend(working_session(self.format, self.warm_steps))
            self.add(self.writer.messages)
        else:
            self.add(self.writer.user("Mend the berth planner in src/plan.py. Never change rate 9731."))

    def open(self) -> Session:
        """A session on the walk's store, as another process would open it."""
        return Session(
            format=self.format, budget=self.budget, policy=self.policy, store=self.store, system=SYSTEM, **self.settings
        )

    def play(self, moves: Sequence[Move]) -> Iterator[tuple[Move, View | None]]:
        """Each move with the view that a model call after it got; None where it could not go out (OverBudget)."""
        for word, number in moves:
            if word in ACTING:
                self._act(word, number)
            else:
                self.add(self._grow(word, number))
            try:
                view = self.session.view()
            except OverBudget:
                yield (word, number), None
            else:
                yield (word, number), view

    def add(self, messages: list[Message]) -> None:
        self.session.append(messages)

    def epoch(self) -> tuple[int, int, int]:
        """Changes whenever the decisions changed: between two views of one epoch the prefix must stand."""
        kinds = [entry["type"] for entry in self.session.ledger]
        return kinds.count("commit"), kinds.count("undo"), self.branches

    def _grow(self, word: str, number: int) -> list[Message]:
        writer, file = self.writer, f"src/part_{number % 6}.py"
        words = 5 + (number * 37) % 180
        match word:
            case "user":
                return writer.user(f"Now look at ticket T-{number}. {prose(words // 6, number)}")
            case "say":
                return writer.say(f"I looked at {file}; load_part_{number} is next. {prose(words // 4, number)}")
            case "read":
                text = f"def load_part_{number}():\n{prose(words, number)}"
                return writer.call("read_file", text, path=file, thought="Look." if number % 2 else "")
            case "search":
                return writer.call(
                    "grep", f"{file}:{number}: load_part_{number}\n{prose(words, number)}", pattern="load"
                )
            case "edit":
                return writer.call("edit_file", "ok", path=file, text=prose(words, number))
            case "run":
                return writer.call("bash", f"Error: E{number}\n{prose(words, number)}", command="make", failed=True)
            case "giant":
                return writer.call("bash", prose(2500 + number, number), command=f"cat big_{number}.log")
            case "start":
                kind = "act" if number % 2 else "explore"
                return writer.call("delimiter", "ok", action="start", name=f"goal {number}", type=kind)
            case "end":
                return writer.call("delimiter", "ok", action="end", description=f"found load_part_{number}")
            case _:
                return writer.calls(
                    *(Call(name="read_file", arguments={"path": f"{n}.md"}, result=prose(words, n)) for n in range(2))
                )

    def _act(self, word: str, number: int) -> None:
        session = self.session
        ids = [item.id for item in session.items()]
        chosen = ids[number % len(ids)]
        match word:
            case "recall":
                session.recall(f"#{chosen}")
            case "pin":
                session.pin(chosen)
                self.pins.add(chosen)
            case "unpin":
                session.unpin(chosen)
                self.pins.discard(chosen)
            case "undo":
                session.undo()
            case "preview":
                session.preview()
            case "compact":
                session.compact()
            case "restart":
                self.session = self.open()
            case "directive":
                self.add(self.writer.say(f"I need it again. [RETRIEVE: #{chosen}]"))
            case _:
                self._branch(number)

    def _branch(self, number: int) -> None:
        """The client rewrites its history from some message on: what it holds now differs from there."""
        keep = 1 + number % len(self.writer.messages)
        while keep < len(self.writer.messages) and not _starts_turn(self.writer.messages[keep]):
            keep += 1
        del self.writer.messages[keep:]
        self.writer.user(f"No, another way: {number}.")
        self.session.sync(self.writer.messages)
        self.branches += 1
        known = {item.id for item in self.session.items()}
        self.pins = {pin for pin in self.pins if pin in known and pin in self.session.engine.pins}


def _starts_turn(message: Message) -> bool:
    """Whether history can be cut in front of this message without parting a call from its result."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else {}
    if message.get("type") in ("function_call", "function_call_output") or first.get("type") == "tool_result":
        return False
    return message.get("role") != "tool"


def dumped(messages: Sequence[Message]) -> list[str]:
    """Each message as the bytes that would be sent."""
    return [json.dumps(message, ensure_ascii=False) for message in messages]
