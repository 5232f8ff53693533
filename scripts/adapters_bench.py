"""The same scripted long task in agent frameworks: without management, with their own, and with Foldaway's adapter.

    make bench-adapters              # or: .venv-adapters/bin/python scripts/adapters_bench.py [FRAMEWORK ...]

The task is made up (see `Task`) and the model follows it whatever it sees; what is measured is the request it gets.
Nothing is sent anywhere. Prints a Markdown table.
"""

from __future__ import annotations

import gc
import json
import math
import random
import statistics
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.lab.prices import ANTHROPIC, OPENAI, PriceList
from foldaway.testing.histories import prose
from foldaway.testing.replies import Call, Reply
from foldaway.testing.scripted_agent import FACT, texts
from foldaway.tokens import RequestCounter, get_counter
from foldaway.wire import problems

SYSTEM = "You are a harbour clerk. Read the records one after the other, and say what you are asked."
TURNS, STEPS = 10, 15
BUDGET = 16_000
MODEL = "gpt-4o"
"""Whose tokenizer counts, in the table and in Foldaway, whatever the format."""
SEEDS = (1, 2, 3)
WORDS = 150
"""Of filler in each record."""
OTHERS = 12
"""Codes and paths in each record that no step ever needs, of the same look as those that some do."""
OLD_NEEDS = 2
"""Codes that each step takes from earlier records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something that a step must have before its eyes, and how a model would ask for it without knowing it."""

    text: str
    words: str
    joint: str = ": "

    @property
    def line(self) -> str:
        """What says both: the bare text among others tells no model what it is."""
        return f"{self.words}{self.joint}{self.text}"


FACT_NEED = Need(text=FACT, words="code of berth 5", joint=" is ")


class Task:
    """Records in a chain: each names the path of the next and has a code of its own, at a place drawn by the seed.

    A step reads the next record by its path (told by the record before) and names the codes of two earlier records,
    whose ages are drawn evenly on a logarithmic scale: half of them younger than the root of the steps so far.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        steps = TURNS * STEPS
        self.paths = [self._path(n) for n in range(steps + 1)]
        self.codes = [self._code() for _ in range(steps)]
        self.records = {self.paths[n]: self._record(n) for n in range(steps)}
        self.needs = [self._needs(n) for n in range(steps)]

    def _code(self) -> str:
        return f"Q{self._draw.randrange(16**6):06x}"

    def _path(self, n: int) -> str:
        return f"shelf-{self._draw.randrange(16**4):04x}/{n:03d}.txt"

    def _record(self, n: int) -> str:
        lines = prose(WORDS, n).split("\n")
        for m in range(OTHERS):
            at, lot = self._draw.randrange(len(lines) + 1), self._draw.randrange(1000)
            line = f"code of lot {lot}: {self._code()}" if m % 2 else f"path of lot {lot}: {self._path(lot)}"
            lines.insert(at, line)
        lines.insert(self._draw.randrange(len(lines) + 1), f"code of record {n}: {self.codes[n]}")
        lines.insert(self._draw.randrange(len(lines) + 1), f"path of record {n + 1}: {self.paths[n + 1]}")
        if n == 5:
            lines.insert(len(lines) // 2, f"The {FACT_NEED.line}.")
        return "\n".join([f"record {n}", *lines])

    def _needs(self, n: int) -> tuple[Need, ...]:
        if n == 0:
            return ()
        old = sorted({n - self._age(n) for _ in range(OLD_NEEDS)})
        path = Need(text=self.paths[n], words=f"path of record {n}")
        return (path, *(Need(text=self.codes[m], words=f"code of record {m}") for m in old))

    def _age(self, n: int) -> int:
        return min(n, int(math.exp(self._draw.random() * math.log(n + 1))))

    def read(self, path: str, codes: str = "") -> str:
        """The tool."""
        return self.records[path]

    def arguments(self, n: int) -> dict[str, Any]:
        return {"path": self.paths[n], "codes": ", ".join(need.text for need in self.needs[n][1:])}


@dataclass(slots=True)
class Recorder:
    """The model behind a framework's fake one, and what it was sent.

    Where it is offered a tool to recall with, it asks once for each thing that it needs and does not see.
    """

    task: Task
    format: str
    step: int = 0
    asked: set[str] = field(default_factory=set)
    at_once: list[bool] = field(default_factory=list)
    """A step: all it needs stood in its first request, with the words that say what it is."""
    bare: list[bool] = field(default_factory=list)
    """A step: the same without those words."""
    in_the_end: list[bool] = field(default_factory=list)
    """A step: the same after it has recalled."""
    fact: str = ""
    tokens: list[int] = field(default_factory=list)
    prefixes: list[int] = field(default_factory=list)
    invalid: int = 0
    recalls: int = 0
    cpu_ms: list[float] = field(default_factory=list)
    """Between two calls of the model, of all threads: the framework, the tool, what manages the context."""
    _left: float | None = None
    _counted: dict[str, int] = field(default_factory=dict)
    _before: tuple[list[str], tuple[str, ...]] = ([], ())

    def arrive(self) -> None:
        """The framework calls its model: before anything is translated."""
        if self._left is not None:
            self.cpu_ms.append(1000 * (time.process_time() - self._left))

    def answer(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> Reply:
        wire = [json.loads(json.dumps(message)) for message in messages]
        self._measure(wire, tuple(tools))
        reply = self._say("\n".join(texts(wire)), "recall" in tools)
        # Else the collector runs at a time of its own choosing, within somebody's measure.
        gc.collect(1)
        self._left = time.process_time()
        return reply

    def _measure(self, wire: list[dict[str, Any]], tools: tuple[str, ...]) -> None:
        self.invalid += bool(problems(self.format, wire))
        counter = RequestCounter(get_counter(MODEL), self.format)
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
        number = len(self.tokens)
        done = self.step
        turn_is_over = done and done % (STEPS + 1) == STEPS
        last = done == TURNS * (STEPS + 1) - 1
        needs: tuple[Need, ...] = ()
        if last:
            needs = (FACT_NEED,)
        elif not turn_is_over:
            needs = self.task.needs[self._record(done)]
        missing = [need for need in needs if need.line not in text]
        first = not self.asked
        if first and not turn_is_over:
            self.at_once.append(not missing)
            self.bare.append(all(need.text in text for need in needs))
        for need in missing if can_recall else ():
            if need.words not in self.asked:
                self.asked.add(need.words)
                self.recalls += 1
                return _calling(number, "recall", ids=need.words)
        if last:
            self.fact = "lost" if missing else "in sight" if first else "recalled"
        if not turn_is_over:
            self.in_the_end.append(not missing)
        self.step += 1
        self.asked = set()
        if turn_is_over:
            return Reply(text=f"Read up to record {self._record(done)}.", id=str(number))
        return _calling(number, "read", **self.task.arguments(self._record(done)))

    def _record(self, step: int) -> int:
        return step - step // (STEPS + 1)

    def bill(self, prices: PriceList) -> float:
        """All prompts, in thousand tokens at the base price of input."""
        return sum(prices.cost(p, t) for p, t in zip(self.prefixes, self.tokens, strict=True)) / 1000


def _calling(number: int, tool: str, **arguments: Any) -> Reply:
    return Reply(calls=(Call(name=tool, arguments=arguments, id=f"call_{number}"),), id=str(number))


def asks() -> list[str]:
    """What the user says, turn by turn."""
    go_on = [f"Part {n}: read the next {STEPS} records." for n in range(TURNS - 1)]
    return [*go_on, f"Part {TURNS - 1}: read the last {STEPS} records, then say the code of berth 5."]


COLUMNS = (
    "framework", "managed by", "needs in sight", "after recall", "bare ids in sight", "recalls", "fact of step 5",
    "prompt tokens, mean", "peak", "bill, Anthropic", "bill, OpenAI", "invalid", "CPU ms a call",
)  # fmt: skip
WORDED = ("framework", "managed by", "fact of step 5")
HEAD = "\n".join(
    "| " + " | ".join(cells) + " |" for cells in (COLUMNS, ["---" if c in WORDED else "--:" for c in COLUMNS])
)


def row(framework: str, arm: str, runs: Sequence[Recorder]) -> str:
    """One line of the table; several runs are taken together (peak: the highest of all)."""

    def mean(values: Sequence[float]) -> float:
        return statistics.fmean(values)

    facts = " / ".join(dict.fromkeys(run.fact for run in runs))
    cells = [
        framework, arm,
        f"{mean([mean(r.at_once) for r in runs]):.0%}", f"{mean([mean(r.in_the_end) for r in runs]):.0%}",
        f"{mean([mean(r.bare) for r in runs]):.0%}",
        f"{mean([r.recalls for r in runs]):.0f}", facts,
        f"{mean([mean(r.tokens) for r in runs]):,.0f}", f"{max(max(r.tokens) for r in runs):,}",
        f"{mean([r.bill(ANTHROPIC) for r in runs]):,.0f}", f"{mean([r.bill(OPENAI) for r in runs]):,.0f}",
        f"{sum(r.invalid for r in runs)}", f"{statistics.median(ms for r in runs for ms in r.cpu_ms):.1f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main(wanted: Sequence[str]) -> None:
    """Prints the table, line by line."""
    from adapters_bench_frameworks import FRAMEWORKS

    warnings.simplefilter("ignore")
    print(HEAD, flush=True)
    for name, (format, arms) in FRAMEWORKS.items():
        if wanted and name not in wanted:
            continue
        for arm, play in arms.items():
            runs = []
            for seed in SEEDS:
                recorder = Recorder(task=Task(seed), format=format)
                play(recorder, asks())
                if recorder.step != TURNS * (STEPS + 1):
                    raise SystemExit(f"{name}, {arm}: the run ended at step {recorder.step}")
                runs.append(recorder)
            print(row(name, arm, runs), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
