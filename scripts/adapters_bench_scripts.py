"""The tasks of `adapters_bench`: scripts that a model follows whatever it sees, each step with what it needs to see.

Two are made up from a seed, two are recorded sessions that come with foldaway, played again. The needs of a recorded
step are those that the lab labels (literals in its action that an earlier result supplied), the rare ones only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foldaway
from foldaway.lab.as_chat import as_chat
from foldaway.lab.needs import label
from foldaway.lab.recall_questions import words_for
from foldaway.lab.timeline import steps_of, timeline
from foldaway.model.recorded import Recorded
from foldaway.model.wire import PartType, TurnKind
from foldaway.model.wire import Turn as WireTurn
from foldaway.readers import read_sessions
from foldaway.testing.histories import prose
from foldaway.wire import get_wire

SESSIONS = Path(foldaway.__file__).parent / "data" / "sessions"
RECORDED = ("claude-code-context-evaluator.jsonl.gz", "mini-swe-agent-django-11910.json.gz")
TURN_STEPS = 15
RECORD_WORDS = 150
"""Of filler in each record."""
OTHERS = 12
"""Codes and paths in each record that no step ever needs, of the same look as those that some do."""
OLD_NEEDS = 2
"""Codes that each step takes from earlier records."""
FILES, FUNCTIONS = 40, 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something that a step must have before its eyes, and how a model would ask for it without knowing it."""

    text: str
    words: str
    """"": the model knows no words to ask for it."""
    line: str
    """What says both: a bare code among others tells no model what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a tool and what comes back."""

    tool: str
    arguments: Mapping[str, Any]
    result: str
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the user says, and the calls the model makes before it answers."""

    ask: str
    steps: tuple[Step, ...]
    answer: str
    needs: tuple[Need, ...] = ()
    """Of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    name: str
    system: str
    turns: tuple[Turn, ...]

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.tool for turn in self.turns for step in turn.steps))

    @property
    def steps(self) -> int:
        """Calls and answers."""
        return sum(len(turn.steps) + 1 for turn in self.turns)


def age(draw: random.Random, most: int) -> int:
    """Drawn evenly on a logarithmic scale: half of the needs are younger than the root of the steps so far."""
    return min(most, int(math.exp(draw.random() * math.log(most + 1))))


# -- facts, told early and late


class Records:
    """Records in a chain: each names the path of the next and has a code of its own, at a place drawn by the seed.

    A step reads the next record by its path (told by the record before) and names the codes of two earlier records.
    The answer in the end is a code of record 5.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self._draw = random.Random(seed)
        self.paths = [self._path(n) for n in range(steps + 1)]
        self.codes = [self._code() for _ in range(steps)]
        self.berth = self._code()
        self.records = [self._record(n) for n in range(steps)]

    def script(self) -> Script:
        steps = [self._step(n) for n in range(len(self.records))]
        parts = [steps[n : n + TURN_STEPS] for n in range(0, len(steps), TURN_STEPS)]
        turns = [
            Turn(ask=f"Part {n}: read the next records.", steps=tuple(part), answer=f"Part {n} is read.")
            for n, part in enumerate(parts[:-1])
        ]
        berth = Need(text=self.berth, words="code of berth 5", line=f"code of berth 5 is {self.berth}")
        ask = "The last part: read the last records, then say the code of berth 5."
        turns.append(Turn(ask=ask, steps=tuple(parts[-1]), answer=f"It is {self.berth}.", needs=(berth,)))
        system = "You are a harbour clerk. Read the records one after the other, and say what you are asked."
        return Script(name="records", system=system, turns=tuple(turns))

    def _code(self) -> str:
        return f"Q{self._draw.randrange(16**6):06x}"

    def _path(self, n: int) -> str:
        return f"shelf-{self._draw.randrange(16**4):04x}/{n:03d}.txt"

    def _record(self, n: int) -> str:
        lines = prose(RECORD_WORDS, n).split("\n")
        for m in range(OTHERS):
            at, lot = self._draw.randrange(len(lines) + 1), self._draw.randrange(1000)
            line = f"code of lot {lot}: {self._code()}" if m % 2 else f"path of lot {lot}: {self._path(lot)}"
            lines.insert(at, line)
        lines.insert(self._draw.randrange(len(lines) + 1), f"code of record {n}: {self.codes[n]}")
        lines.insert(self._draw.randrange(len(lines) + 1), f"path of record {n + 1}: {self.paths[n + 1]}")
        if n == 5:
            lines.insert(len(lines) // 2, f"The code of berth 5 is {self.berth}.")
        return "\n".join([f"record {n}", *lines])

    def _step(self, n: int) -> Step:
        told = sorted({n - age(self._draw, n) for _ in range(OLD_NEEDS)}) if n else []
        needs = [_told(f"path of record {n}", self.paths[n])] if n else []
        needs += [_told(f"code of record {m}", self.codes[m]) for m in told]
        arguments = {"path": self.paths[n], "codes": ", ".join(self.codes[m] for m in told)}
        return Step(tool="read", arguments=arguments, result=self.records[n], needs=tuple(needs))


def _told(words: str, text: str) -> Need:
    return Need(text=text, words=words, line=f"{words}: {text}")


# -- files, read and edited


class Edits:
    """Source files, read one after the other and edited some time later, a line word for word; tests in between.

    What an edit needs is the line as it stands now: from the read, or from a later edit's answer.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self._draw = random.Random(seed)
        self._steps = steps
        self.files = {f"src/cranes/{self._word()}_{n:02d}.py": self._file(n) for n in range(FILES)}

    def script(self) -> Script:
        steps = list(self._played())
        parts = [steps[n : n + TURN_STEPS] for n in range(0, len(steps), TURN_STEPS)]
        turns = [
            Turn(ask=f"Part {n}: go on mending the cranes.", steps=tuple(part), answer=f"Part {n} is done.")
            for n, part in enumerate(parts)
        ]
        system = "You are a programmer. Read the files of src/cranes, mend them and test."
        return Script(name="edits", system=system, turns=tuple(turns))

    def _word(self) -> str:
        return self._draw.choice("gauge berth tide hoist winch drift slot table quay crane".split())

    def _file(self, n: int) -> list[str]:
        lines = [f'"""Module {n}: {prose(12, n)}"""'.replace("\n", " "), ""]
        for m in range(FUNCTIONS):
            name = f"{self._word()}_{self._word()}_{n:02d}{m:02d}"
            lines += [f"def {name}(load, limit):", f"    margin = load * {self._draw.randrange(1000) / 1000}"]
            lines += [f"    if margin > limit - {self._draw.randrange(90)}:"]
            lines += [
                f"        return {self._draw.randrange(9999)}",
                f"    return margin / {1 + self._draw.randrange(50)}",
                "",
            ]
        return lines

    def _played(self) -> Iterator[Step]:
        """One read, then two edits and a test of what was read so far, in turn."""
        seen: list[str] = []
        unread = list(self.files)
        for n in range(self._steps):
            if n % 4 == 0 or not seen:
                path = unread.pop(0) if unread else self._draw.choice(seen)
                seen = [*(p for p in seen if p != path), path]
                yield Step(tool="read_file", arguments={"path": path}, result="\n".join(self.files[path]))
            elif n % 4 == 3:
                yield Step(tool="bash", arguments={"command": "pytest -q tests/cranes"}, result=self._tests(seen))
            else:
                yield self._edit(seen[-1 - age(self._draw, len(seen) - 1)])

    def _edit(self, path: str) -> Step:
        lines = self.files[path]
        at = 2 + 6 * self._draw.randrange(FUNCTIONS)
        name, number = lines[at].split("(")[0].removeprefix("def "), at + self._draw.choice((1, 2, 4))
        old, new = lines[number], f"{lines[number]}  # seen {self._draw.randrange(10_000)}"
        if "#" in old:
            new = old.split("  #")[0]
        lines[number] = new
        around = "\n".join(lines[max(0, number - 3) : number + 4])
        need = Need(text=old.strip(), words=f"{path} {name}", line=old.strip())
        arguments = {"path": path, "old_string": old, "new_string": new}
        return Step(tool="edit_file", arguments=arguments, result=f"{path} is edited:\n{around}", needs=(need,))

    def _tests(self, seen: Sequence[str]) -> str:
        tested = [line for path in seen[-4:] for line in self.files[path] if line.startswith("def ")]
        names = [line.split("(")[0].removeprefix("def ") for line in tested]
        ran = [f"tests/cranes/test_{name}.py {'F' if self._draw.random() < 0.1 else '.'}" for name in names[:40]]
        return "\n".join([*ran, f"{len(ran)} run in {self._draw.randrange(900)} ms"])


# -- recorded sessions


def recorded(file: str) -> Script:
    """A recorded session of Foldaway's own data as a script: one call a step, in the order of the recording."""
    session = as_chat(next(iter(read_sessions(SESSIONS / file))))
    needs = _needs(session)
    turns: list[Turn] = []
    asked: list[str] = []
    steps: list[Step] = []
    said = ""
    for turn in get_wire(session.format).parse(session.messages, origins=session.origins).turns:
        text = "\n".join(p.text for p in turn.parts if p.text)
        if turn.kind is TurnKind.USER:
            if steps:
                turns.append(Turn(ask="\n\n".join(asked), steps=tuple(steps), answer=said or "Done."))
                asked, steps, said = [], [], ""
            asked.append(text)
        elif turn.kind is TurnKind.EXCHANGE:
            steps += _exchange(turn, needs.get(turn.sources[0], ()))
        elif turn.kind is TurnKind.ASSISTANT:
            said = text
    turns.append(Turn(ask="\n\n".join(asked), steps=tuple(steps), answer=said or "Done."))
    return Script(name="recorded", system="You are a programmer.", turns=tuple(turns))


def _needs(session: Recorded) -> dict[int, tuple[Need, ...]]:
    """Position of a model's message -> what it needed."""
    labels, said = label(session), timeline(session)
    found = {}
    for step, needs in zip(steps_of(session), labels.needs, strict=True):
        rare = [(need, labels.literals[need.literal]) for need in needs if need.strict]
        found[step.start] = tuple(Need(text=text, words=words_for(n, text, said), line=text) for n, text in rare)
    return found


def _exchange(turn: WireTurn, needs: tuple[Need, ...]) -> Iterator[Step]:
    """Calls that were made at once come one after the other; what they need, the first does."""
    results = {p.call_id: p.text for p in turn.parts if p.type is PartType.RESULT}
    for number, call in enumerate(p for p in turn.parts if p.type is PartType.CALL):
        name = "".join(sign if sign.isalnum() or sign in "_-" else "_" for sign in call.name) or "call"
        arguments = dict(call.arguments) if isinstance(call.arguments, Mapping) else {"input": call.text}
        result = results.get(call.call_id, "") or "(nothing)"
        yield Step(tool=name, arguments=arguments, result=result, needs=needs if number == 0 else ())
