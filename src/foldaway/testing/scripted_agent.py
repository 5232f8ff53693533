"""A model that follows a script, whatever framework asks it, and the little world of its one tool.

The framework's fake model hands each request in (`Brain.answer`), translated to a wire format, and gets what to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from foldaway.model.wire import Message
from foldaway.session import Session
from foldaway.testing.histories import prose
from foldaway.testing.replies import Call, Reply

SYSTEM = "You are a harbour clerk. Look up each topic, then answer."
TOOL = "look"
TOOL_DESCRIPTION = "Looks a topic up in the harbour's books."
ARGUMENT = "topic"
FACT = "K-7731-QX"
"""What the book says under topic 5, and nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the framework sent to its model."""

    messages: list[Message]
    """In the contract's wire format, as JSON has them; a system prompt among them or not."""
    tools: tuple[str, ...]
    raw: Any
    """The framework's own messages in a form that compares, without ids made at random."""

    @property
    def text(self) -> str:
        return "\n".join(texts(self.messages))


Script = Callable[[int, Request], Reply]
"""What to say at the n-th call (0 is the first), having seen a request."""


@dataclass(slots=True)
class Brain:
    """The model behind the framework's fake one."""

    script: Script
    seen: list[Request] = field(default_factory=list)

    def answer(self, messages: Sequence[Message], tools: Sequence[str], raw: Any = None) -> Reply:
        request = Request(messages=list(messages), tools=tuple(tools), raw=raw)
        self.seen.append(request)
        return self.script(len(self.seen) - 1, request)


class Agent(Protocol):
    """An agent of the framework with the tool `look`, the prompt `SYSTEM`, a `Brain` and, with a budget, Foldaway."""

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        """The next turn of the conversation `key`, which the framework keeps; what the agent said last.

        `mode`: "sync", "async", "stream" or "astream", as far as the contract lists them.
        """
        ...

    def session(self, key: str = "main") -> Session: ...


def look(topic: str) -> str:
    """What the book says: some lines that hold the topic, other ones for each topic."""
    number = int("".join(re.findall(r"\d+", topic)) or 0)
    fact = f"\nThe code of berth 5 is {FACT}." if topic == "topic-5" else ""
    return f"entry of {topic}\n{prose(150, number)}{fact}\nend of {topic}"


def looking(steps: int, *, prefix: str = "topic", last: str = "All looked up.") -> Script:
    """Looks `steps` topics up, one a call, then says `last`; the same again in each further run."""

    def script(n: int, request: Request) -> Reply:
        at = n % (steps + 1)
        if at == steps:
            return Reply(text=last, id=f"{prefix}{n}")
        return calling(TOOL, n, **{ARGUMENT: f"{prefix}-{n}"})

    return script


def calling(tool: str, n: int, **arguments: Any) -> Reply:
    """One call of a tool at the n-th answer."""
    return Reply(calls=(Call(name=tool, arguments=arguments, id=f"call_{n}"),), id=str(n))


def texts(messages: Sequence[Message]) -> list[str]:
    """Every text in messages of any format, call arguments included."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            for part in value.values():
                walk(part)
        elif isinstance(value, list | tuple):
            for part in value:
                walk(part)

    walk(list(messages))
    return found
