"""The model behind a framework's fake one: it follows a script, and keeps what it was sent."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters_bench_scripts import Need, Script, Step, Turn

from foldaway.lab.finder import normalise
from foldaway.lab.prices import PriceList
from foldaway.testing.replies import Call, Reply
from foldaway.testing.scripted_agent import texts
from foldaway.tokens import RequestCounter, get_counter
from foldaway.wire import problems

MODEL = "gpt-4o"
"""Whose tokenizer counts, in the table and in Foldaway, whatever the format."""
WRITTEN = 5 * 25
"""What the words of one more call cost, in prompt tokens: about 25, at five times the price of input."""
MOST_ASKED = 3
"""Recalls before one step at most."""
COUNTER = get_counter(MODEL)


@dataclass(slots=True)
class Recorder:
    """Follows a script. Where it is offered a tool to recall with, it asks for what it needs and does not see."""

    script: Script
    format: str
    needed: list[tuple[bool, bool, bool]] = field(default_factory=list)
    """For each step that needs something: all stood in its first request with the words that say what it is; all stood
    there barely; all stood there with the words after recalls."""
    tokens: list[int] = field(default_factory=list)
    prefixes: list[int] = field(default_factory=list)
    """Of each request: its tokens, and those that the one before had sent as well."""
    extra_tokens: int = 0
    """Sent to other models than the agent's: for summaries."""
    invalid: int = 0
    recalls: int = 0
    cpu_ms: list[float] = field(default_factory=list)
    """Between two calls of the model, of all threads: the framework, the tool, what manages the context."""
    done: int = 0
    _plan: list[Step | Turn] = field(init=False)
    _asked: set[str] = field(default_factory=set)
    _first: tuple[bool, bool] | None = None
    _left: float | None = None
    _counted: dict[str, int] = field(default_factory=dict)
    _before: tuple[list[str], tuple[str, ...]] = ([], ())

    def __post_init__(self) -> None:
        self._plan = [one for turn in self.script.turns for one in (*turn.steps, turn)]

    @property
    def finished(self) -> bool:
        return self.done == len(self._plan)

    def call(self, tool: str = "", arguments: Any = None) -> str:
        """The tool: what comes back for the step that was replied last."""
        step = self._plan[self.done - 1]
        assert isinstance(step, Step)
        return step.result

    def arrive(self) -> None:
        """The framework calls its model: before anything is translated."""
        if self._left is not None:
            self.cpu_ms.append(1000 * (time.process_time() - self._left))

    def answer(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> Reply:
        wire = [json.loads(json.dumps(message)) for message in messages]
        self._measure(wire, tuple(tools))
        reply = self._say(normalise("\n".join(texts(wire))), "recall" in tools)
        # Else the collector runs at a time of its own choosing, within somebody's measure.
        gc.collect(1)
        self._left = time.process_time()
        return reply

    def summarise(self, text: str) -> str:
        """A stand-in for a model that summarises: the first and the last line of each paragraph, cut to 500 words.

        What a real one would keep nobody can tell here; the price of the call is told all the same.
        """
        self.extra_tokens += COUNTER.count(text)
        kept = [f"{part.splitlines()[0]} … {part.splitlines()[-1]}" for part in text.split("\n\n") if part.strip()]
        words = " ".join(kept).split()
        return " ".join(words[-500:])

    def _measure(self, wire: list[dict[str, Any]], tools: tuple[str, ...]) -> None:
        self.invalid += bool(problems(self.format, wire))
        counter = RequestCounter(COUNTER, self.format)
        keys = [json.dumps(message) for message in wire]
        for key, message in zip(keys, wire, strict=True):
            if key not in self._counted:
                self._counted[key] = counter.message(message)
        before, had = self._before
        same = 0
        # Definitions of tools stand before the messages: other tools, nothing is read from the cache.
        while tools == had and same < min(len(before), len(keys)) and before[same] == keys[same]:
            same += 1
        self.prefixes.append(sum(self._counted[key] for key in keys[:same]))
        self.tokens.append(sum(self._counted[key] for key in keys))
        self._before = (keys, tools)

    def _say(self, text: str, can_recall: bool) -> Reply:
        number, at = len(self.tokens), self._plan[self.done]
        missing = [need for need in at.needs if normalise(need.line) not in text]
        if self._first is None:
            self._first = not missing, all(normalise(need.text) in text for need in at.needs)
        asked = self._ask_for(missing) if can_recall else ""
        if asked:
            self.recalls += 1
            return _calling(number, "recall", {"ids": asked})
        if at.needs:
            self.needed.append((*self._first, not missing))
        self.done += 1
        self._asked, self._first = set(), None
        if isinstance(at, Turn):
            return Reply(text=at.answer, id=str(number))
        return _calling(number, at.tool, at.arguments)

    def _ask_for(self, missing: Sequence[Need]) -> str:
        words = next((need.words for need in missing if need.words and need.words not in self._asked), "")
        if not words or len(self._asked) >= MOST_ASKED:
            return ""
        self._asked.add(words)
        return words

    def bill(self, prices: PriceList) -> float:
        """All prompts and the words of recalls, in thousand tokens at the base price of input.

        What the model writes besides is the same for all.
        """
        prompts = sum(prices.cost(p, t) for p, t in zip(self.prefixes, self.tokens, strict=True))
        return (prompts + self.extra_tokens + self.recalls * WRITTEN) / 1000


def _calling(number: int, tool: str, arguments: Mapping[str, Any]) -> Reply:
    return Reply(calls=(Call(name=tool, arguments=arguments, id=f"call_{number}"),), id=str(number))
