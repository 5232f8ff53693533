"""Questions to a session's own recall, made of what recorded agents needed later: words in, a literal out.

Each question stands at a recorded step and asks for a literal that the step used and that was first seen long before.
Its words are never the literal itself, but for `name`:

* `line`: words beside the literal, on the line where it was seen;
* `place`: two of these and the name of the file, or the command, in whose result it stood;
* `said`: what the agent itself wrote at that step, without the literals the step needed;
* `name`: the literal itself, or the last piece of a path: the agent knows it and wants what was said about it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from foldaway.lab.finder import Finder, normalise, occurs
from foldaway.lab.literals import LiteralKind
from foldaway.lab.needs import Labels, Need
from foldaway.lab.timeline import Said, Step, Voice, steps_of, timeline
from foldaway.model.recorded import Recorded
from foldaway.model.wire import PartType

KINDS = ("line", "place", "said", "name")
OLD = 11
"""Steps: younger needs stand in the view as a rule."""
EACH = 2
"""Questions of a kind for one step at most."""
LINE_WORDS = 4
PLACE_WORDS = 2
SAID_CHARS = 240
LONGEST_LINE = 400
"""Of a longer line only so many characters around the literal are looked at."""
_PLAIN = re.compile(r"[^\W\d_]{3,}")
_STOP = frozenset("the and for with from this that are was not but you all can has have its into let now will".split())


@dataclass(frozen=True, slots=True)
class Question:
    """At which step (a position in the messages), with which words, for which literal."""

    kind: str
    position: int
    query: str
    literal: str


def questions(recorded: Recorded, labels: Labels, most: int) -> list[Question]:
    """At most `most` of each kind, spread evenly over the session; deterministic."""
    said, steps = timeline(recorded), steps_of(recorded)
    found: dict[str, list[Question]] = {kind: [] for kind in KINDS}
    for step, needs in zip(steps, labels.needs, strict=True):
        wanted = [n for n in needs if n.strict and n.age >= OLD and n.kind is not LiteralKind.LINE]
        everything = [labels.literals[n.literal] for n in needs]
        for need in wanted[:EACH]:
            for made in _of_need(need, labels.literals[need.literal], step, said, everything):
                found[made.kind].append(made)
    return [q for made in found.values() for q in _spread(made, most)]


def _spread(found: Sequence[Question], most: int) -> list[Question]:
    if len(found) <= most:
        return list(found)
    return [found[i * len(found) // most] for i in range(most)]


def words_for(need: Need, literal: str, said: Sequence[Said]) -> str:
    """How an agent may ask for this without knowing it: where it stood and what stood beside it; "" for no idea.

    Of a line that it wants to edit it knows some words.
    """
    beside = _beside(literal, _line_of(literal, said[need.supplier].text))
    if need.kind is LiteralKind.LINE:
        beside = sorted(_PLAIN.findall(literal), key=len, reverse=True)
    place = _place(said, need.supplier, literal)
    return " ".join([*beside[:LINE_WORDS], *([place] if place else [])])


def _of_need(need: Need, literal: str, step: Step, said: Sequence[Said], needed: Sequence[str]) -> Iterator[Question]:
    line = _line_of(literal, said[need.supplier].text)
    beside = _beside(literal, line)
    if len(beside) >= PLACE_WORDS:
        yield Question("line", step.start, " ".join(beside[:LINE_WORDS]), literal)
        if place := _place(said, need.supplier, literal):
            yield Question("place", step.start, f"{' '.join(beside[:PLACE_WORDS])} {place}", literal)
    if talk := _talk(said, step, needed):
        yield Question("said", step.start, talk, literal)
    name = literal.rstrip("/").rsplit("/", 1)[-1] if need.kind is LiteralKind.PATH else literal
    if len(name) >= 4:
        yield Question("name", step.start, name, literal)


def _line_of(literal: str, text: str) -> str:
    literal, text = normalise(literal), normalise(text)
    for line in text.split("\n"):
        if literal in line and occurs(literal, line):
            at = line.find(literal)
            half = LONGEST_LINE // 2
            return line[max(0, at - half) : at + len(literal) + half]
    return ""


def _beside(literal: str, line: str) -> list[str]:
    """Plain words of the line, nearest to the literal first."""
    at = line.find(normalise(literal))
    if at < 0:
        return []
    end, lowered = at + len(literal), literal.lower()
    words: dict[str, int] = {}
    for match in _PLAIN.finditer(line):
        word = match.group().lower()
        if (match.end() > at and match.start() < end) or word in _STOP or word in lowered:
            continue
        distance = at - match.end() if match.end() <= at else match.start() - end
        words[word] = min(distance, words.get(word, distance))
    return sorted(words, key=lambda word: (words[word], word))


def _place(said: Sequence[Said], supplier: int, literal: str) -> str:
    """What the call before the observation was about: the name of a file, else the first words of the command."""
    given = said[supplier]
    call = next((s for s in said if s.type is PartType.CALL and s.call_id and s.call_id == given.call_id), None)
    if call is None:
        return ""
    text = " ".join(call.text.split())
    named = re.findall(r"[\w-]+\.[A-Za-z]{1,5}\b", text)
    place = named[-1] if named else " ".join(_PLAIN.findall(text)[:2])
    return "" if literal in place or place in literal else place


def _talk(said: Sequence[Said], step: Step, needed: Collection[str]) -> str:
    own = (
        s.text
        for s in said
        if step.start <= s.position < step.end and s.voice is Voice.AGENT and s.type is PartType.TEXT
    )
    text = normalise(" ".join(own))[:SAID_CHARS]
    finder = Finder(needed)
    for number in sorted(finder.find(text), key=lambda n: -len(finder.literals[n])):
        text = text.replace(normalise(finder.literals[number]), " ")
    return " ".join(text.split()) if len(_PLAIN.findall(text)) >= 4 else ""
