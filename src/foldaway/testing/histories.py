"""Made-up agent histories in all three wire formats: what contracts and properties are played on.

Everything is a function of the arguments: no randomness, no clock. Sizes are words, so a test can fill a budget.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.wire import Message

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses")
SYSTEM = "You are a careful engineer. Never touch production."
_WORDS = "rate table harbour loads the berth plan with crane slots while tide gauge reports drift over night".split()


def prose(words: int, seed: int = 0) -> str:
    """`words` words of plain text in lines of twelve; another seed gives another text."""
    said = [_WORDS[(seed * 7 + n * (1 + seed % 5)) % len(_WORDS)] for n in range(words)]
    return "\n".join(" ".join(said[n : n + 12]) for n in range(0, words, 12))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call with what came back."""

    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool = False


@dataclass(slots=True)
class Writer:
    """Writes a history message by message in one format. `messages` is what a client would hold."""

    format: str
    messages: list[Message] = field(default_factory=list)
    id_cycle: int = 1_000_000
    """Call ids repeat after so many calls, as some servers let them."""
    _calls: int = 0

    def user(self, text: str) -> list[Message]:
        return self._add([{"role": "user", "content": text}])

    def say(self, text: str) -> list[Message]:
        """An assistant text without calls."""
        if self.format == "openai_responses":
            block = {"type": "output_text", "text": text, "annotations": []}
            return self._add([{"type": "message", "role": "assistant", "content": [block]}])
        return self._add([{"role": "assistant", "content": text}])

    def calls(self, *calls: Call, thought: str = "") -> list[Message]:
        """Parallel calls and their results: one exchange."""
        ids = [f"call_{(self._calls + n) % self.id_cycle}" for n in range(len(calls))]
        self._calls += len(calls)
        match self.format:
            case "openai_chat":
                return self._add(_chat(ids, calls, thought))
            case "anthropic_messages":
                return self._add(_anthropic(ids, calls, thought))
            case _:
                return self._add(_responses(ids, calls, thought))

    def call(
        self, name: str, result: str, /, *, thought: str = "", failed: bool = False, **arguments: Any
    ) -> list[Message]:
        return self.calls(Call(name=name, arguments=arguments, result=result, failed=failed), thought=thought)

    def _add(self, messages: list[Message]) -> list[Message]:
        self.messages.extend(messages)
        return messages


def _chat(ids: Sequence[str], calls: Sequence[Call], thought: str) -> list[Message]:
    made = [
        {"id": i, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.arguments)}}
        for i, c in zip(ids, calls, strict=True)
    ]
    results = [{"role": "tool", "tool_call_id": i, "content": c.result} for i, c in zip(ids, calls, strict=True)]
    return [{"role": "assistant", "content": thought or None, "tool_calls": made}, *results]


def _anthropic(ids: Sequence[str], calls: Sequence[Call], thought: str) -> list[Message]:
    said = [{"type": "text", "text": thought}] if thought else []
    made = [
        {"type": "tool_use", "id": i, "name": c.name, "input": c.arguments} for i, c in zip(ids, calls, strict=True)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": i, "content": c.result, **({"is_error": True} if c.failed else {})}
        for i, c in zip(ids, calls, strict=True)
    ]
    return [{"role": "assistant", "content": [*said, *made]}, {"role": "user", "content": results}]


def _responses(ids: Sequence[str], calls: Sequence[Call], thought: str) -> list[Message]:
    said = [{"type": "reasoning", "id": f"rs_{ids[0]}", "summary": [{"type": "summary_text", "text": thought}]}]
    made = [
        {"type": "function_call", "call_id": i, "name": c.name, "arguments": json.dumps(c.arguments)}
        for i, c in zip(ids, calls, strict=True)
    ]
    results = [
        {"type": "function_call_output", "call_id": i, "output": c.result} for i, c in zip(ids, calls, strict=True)
    ]
    return [*(said if thought else []), *made, *results]


def working_session(format: str, steps: int, *, words: int = 60) -> list[Message]:
    """A plain agent at work: one task, then reads, searches, edits, runs and failures in turn."""
    writer = Writer(format)
    writer.user("Repair the berth planner in src/plan.py; never change the rates.")
    for n in range(steps):
        file = f"src/part_{n % 9}.py"
        match n % 5:
            case 0:
                writer.call(
                    "read_file", f"def load_part_{n}():\n{prose(words, n)}", path=file, thought=f"Look at {file}."
                )
            case 1:
                writer.call(
                    "grep", f"{file}:{n}: load_part_{n - 1}\n{prose(words // 2, n)}", pattern=f"load_part_{n - 1}"
                )
            case 2:
                writer.call("edit_file", "ok", path=file, text=prose(words // 3, n))
            case 3:
                writer.call(
                    "bash", f"Error: E{4000 + n} in {file}\n{prose(words, n)}", command="pytest -x", failed=True
                )
            case _:
                writer.calls(
                    Call(name="read_file", arguments={"path": f"docs/{n}.md"}, result=prose(words, n)),
                    Call(
                        name="list_files",
                        arguments={"path": f"docs/{n}"},
                        result="\n".join(f"{n}_{k}.md" for k in range(9)),
                    ),
                )
    return writer.messages
