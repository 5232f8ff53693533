"""What each recorded step needed: literals in its action that an earlier observation supplied.

The recorded next action is the witness. A literal counts when the session first showed it in an observation: not in
the standing prompt, not in a person's own words, and not made up by the agent before. Whether the model would have
used it, had the view been another, no replay can say.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foldaway.lab.finder import Finder
from foldaway.lab.literals import Literal, LiteralKind, action_literals, code_in
from foldaway.lab.timeline import Said, Step, Voice, standing_text, steps_of, timeline
from foldaway.model.recorded import Recorded
from foldaway.model.wire import PartType

RULES = 1
"""Version of the labelling rules; part of the key of saved labels."""

RARE_SOURCES = 3
"""A strict need was seen in at most this many observations before the step."""

AGES = ("<=3", "4-10", "11-25", ">25")


@dataclass(frozen=True, slots=True)
class Need:
    literal: int
    """Index into `Labels.literals`."""
    kind: LiteralKind
    first: int
    """Position of the message that supplied it first."""
    newest: int
    """Position of the newest observation before the step that holds it."""
    supplier: int
    """Index of that observation's part in the timeline."""
    age: int
    """Steps between the call that first saw the newest supplier and this one (0: it has just come in)."""
    strict: bool
    """Seen in at most `RARE_SOURCES` earlier observations."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The needs of one recorded session, one tuple for each of its steps."""

    literals: tuple[str, ...]
    needs: tuple[tuple[Need, ...], ...]


def age_bucket(age: int) -> str:
    return AGES[0] if age <= 3 else AGES[1] if age <= 10 else AGES[2] if age <= 25 else AGES[3]


def label(recorded: Recorded) -> Labels:
    """Label a session. Linear in its text: the literals of all actions are looked up in each part once."""
    said, steps = timeline(recorded), steps_of(recorded)
    actions = _actions(said, steps)
    spellings = dict.fromkeys(text for action in actions for lit in action for text in (lit.text, *lit.shorter))
    finder = Finder(spellings)
    index = {text: number for number, text in enumerate(finder.literals)}

    tracker = _Tracker(set(finder.find(standing_text(recorded))))
    needs: list[tuple[Need, ...]] = []
    upcoming = 0
    for step, action in zip(steps, actions, strict=True):
        while upcoming < len(said) and said[upcoming].position < step.start:
            tracker.note(upcoming, said[upcoming], finder.find(said[upcoming].text), step.number)
            upcoming += 1
        needs.append(tracker.needs(action, index, step.number))
    return _compact(finder.literals, needs)


class _Tracker:
    """Where each literal was first seen, and where lately."""

    def __init__(self, excluded: set[int]) -> None:
        self._excluded = excluded
        self._first: dict[int, int] = {}
        self._newest: dict[int, tuple[int, int, int]] = {}
        self._sources: Counter[int] = Counter()

    def note(self, part: int, said: Said, literals: frozenset[int], step: int) -> None:
        if said.voice is not Voice.OBSERVED:
            self._excluded.update(literals - self._first.keys())
            return
        for literal in literals - self._excluded:
            self._first.setdefault(literal, said.position)
            self._newest[literal] = (said.position, part, step)
            self._sources[literal] += 1

    def needs(self, action: Sequence[Literal], index: Mapping[str, int], step: int) -> tuple[Need, ...]:
        found: dict[int, Need] = {}
        for wanted in action:
            number = self._supplied(wanted, index)
            if number is None or number in found:
                continue
            newest, part, seen = self._newest[number]
            strict = self._sources[number] <= RARE_SOURCES
            found[number] = Need(number, wanted.kind, self._first[number], newest, part, step - seen, strict)
        return tuple(found.values())

    def _supplied(self, wanted: Literal, index: Mapping[str, int]) -> int | None:
        """The longest spelling an observation supplied; None when the agent or the prompt knew one as long."""
        for text in (wanted.text, *wanted.shorter):
            number = index[text]
            if number in self._first:
                return number
            if number in self._excluded:
                return None
        return None


def _actions(said: Sequence[Said], steps: Sequence[Step]) -> list[list[Literal]]:
    calls: dict[int, list[Literal]] = {}
    words: dict[int, list[Literal]] = {}
    has_tools = any(s.type is PartType.CALL for s in said)
    owner = {position: step.number for step in steps for position in range(step.start, step.end)}
    for part in said:
        if part.voice is not Voice.AGENT or part.position not in owner:
            continue
        if part.type is PartType.CALL:
            arguments = part.arguments if part.arguments is not None else part.text
            calls.setdefault(owner[part.position], []).extend(action_literals(arguments))
        elif part.type is PartType.TEXT and not has_tools:
            words.setdefault(owner[part.position], []).extend(action_literals(code_in(part.text)))
    # Words of an agent that does have tools are talk, not action.
    return [calls.get(step.number) or words.get(step.number) or [] for step in steps]


def _compact(literals: Sequence[str], needs: Sequence[Sequence[Need]]) -> Labels:
    """Keep only the literals that some step needs: views are searched for these alone."""
    kept = sorted({need.literal for step in needs for need in step})
    renumbered = {old: new for new, old in enumerate(kept)}
    return Labels(
        tuple(literals[old] for old in kept),
        tuple(
            tuple(Need(renumbered[n.literal], n.kind, n.first, n.newest, n.supplier, n.age, n.strict) for n in step)
            for step in needs
        ),
    )


def content_hash(recorded: Recorded) -> str:
    """Identity of a session's content, for caches."""
    content = [RULES, recorded.format, recorded.system, recorded.tools, list(recorded.origins), list(recorded.messages)]
    data = json.dumps(content, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.blake2b(data.encode("ascii"), digest_size=16).hexdigest()


class LabelCache:
    """Labels by content; with a folder they are kept on disk as JSON as well."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._known: dict[str, Labels] = {}

    def get(self, recorded: Recorded) -> Labels:
        key = content_hash(recorded)
        labels = self._known.get(key) or self._read(key)
        if labels is None:
            labels = label(recorded)
            self._write(key, labels)
        self._known[key] = labels
        return labels

    def _read(self, key: str) -> Labels | None:
        if self._folder is None:
            return None
        try:
            return labels_from_json(json.loads((self._folder / f"{key}.json").read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            # A cache: whatever is wrong with it, the labels can be made again.
            return None

    def _write(self, key: str, labels: Labels) -> None:
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        # A name of its own: another process may be writing the very same labels.
        part = self._folder / f"{key}.{os.getpid()}.part"
        part.write_text(json.dumps(labels_to_json(labels)), "utf-8")
        part.replace(self._folder / f"{key}.json")


def labels_to_json(labels: Labels) -> dict[str, Any]:
    return {"literals": labels.literals, "needs": [[asdict(need) for need in step] for step in labels.needs]}


def labels_from_json(data: Mapping[str, Any]) -> Labels:
    needs = tuple(tuple(Need(**{**need, "kind": LiteralKind(need["kind"])}) for need in step) for step in data["needs"])
    return Labels(tuple(data["literals"]), needs)
