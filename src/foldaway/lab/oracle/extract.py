"""The eviction problem in a recorded session: the engine's own items, pins and last turns, and the labelled needs.

Where the engine itself may do more than a policy, the problem lets go, so that its bounds hold for what the engine
really sends: user words that pass their share of the room are no longer pinned, and a last turn that pins leave no
room for (the engine masks it then) is not forced, its needs left out. Sizes are texts without the marks of messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from foldaway.engine.constraints.last_turn import newest_agent_turn
from foldaway.engine.log import Log
from foldaway.engine.words import WORDS_SHARE
from foldaway.lab.bill import RECALL_CAP_TOKENS
from foldaway.lab.finder import Finder, normalise
from foldaway.lab.needs import Need as Label
from foldaway.lab.oracle.problem import Call, Literal, Need, Problem, ProblemItem
from foldaway.lab.replay import VERBATIM, make_ruler
from foldaway.lab.results import counts
from foldaway.lab.ruler import Ruler
from foldaway.lab.timeline import steps_of
from foldaway.model.items import Item, Kind
from foldaway.model.recorded import Recorded
from foldaway.session import Session

_WORD = re.compile(r"[A-Za-z0-9_]+")
"""What the lab's finder takes for a word: no literal ends inside one."""
SLACK_TOKENS = 400
"""What a fold note and the engine's estimates take beside pins and last turn."""
STUB_TOKENS = 120
"""What is left of a paste or an attachment that was folded where it stood, or of one masked result."""
WORDS_MARGIN = 0.95
"""Words count as over their share a little early: the engine counts the room in its own way."""
NAMED_SHARE = 0.5
"""Of a literal's own tokens a name costs at least this much: what a text costs depends on what stands beside it."""


@dataclass(slots=True)
class Walked:
    """What the log of a session was before each of its calls."""

    log: Log
    enters: dict[int, int] = field(default_factory=dict)
    """Item -> the call that first saw it."""
    tokens: dict[int, int] = field(default_factory=dict)
    """Item -> the least it took at any call that saw it in the last turn (a result may come in late)."""
    last: list[tuple[int, ...]] = field(default_factory=list)
    """For each call the turns of its last turn, as the engine protects it."""


def problem_of(recorded: Recorded, budget: int, *, ruler: Ruler | None = None, rule: str = "loose") -> Problem:
    """The problem of one recording at one budget, its needs counted by one of the lab's rules.

    O(text of the session), once for each call of this function; share the `ruler` as for replays.
    """
    ruler = ruler or make_ruler(recorded)
    return _Extract(recorded, budget, ruler, rule).problem()


class _Extract:
    def __init__(self, recorded: Recorded, budget: int, ruler: Ruler, rule: str) -> None:
        self.ruler, self.rule, self.budget = ruler, rule, budget
        self.walked = walked = _walk(recorded)
        self.items = [walked.log.items[i] for i in sorted(walked.enters, key=lambda i: (walked.enters[i], i))]
        self.index = {item.id: at for at, item in enumerate(self.items)}
        self.beside = ruler.beside(recorded.system, recorded.tools)[0]
        self.tokens = _sizes(walked, self.items)
        self.holders = _holders(walked.log, ruler, self.items, self.index)

    def problem(self) -> Problem:
        kept = {literal: n for n, literal in enumerate(sorted(self.holders))}
        return Problem(
            beside_tokens=self.beside,
            budget_tokens=self.budget,
            items=tuple(self._items()),
            literals=tuple(self._literal(literal) for literal in kept),
            calls=tuple(self._calls(kept)),
        )

    def _items(self) -> Iterator[ProblemItem]:
        free_from = self._words_free_from()
        repeats = _repeats(self.walked.log, self.ruler)
        for item in self.items:
            words = item.kind is Kind.USER
            yield ProblemItem(
                tokens=self.tokens[item.id],
                enters=self.walked.enters[item.id],
                pinned=item.pinned,
                unpinned_from=free_from if item.pinned and words else None,
                leaves_stub=item.kind in (Kind.PASTE, Kind.ATTACHMENT),
                repeats=item.turn in repeats,
            )

    def _words_free_from(self) -> int | None:
        """The first call at which user words pass their share of the room, so that the engine shortens them."""
        spent = instructions = 0
        upcoming = 0
        for call in range(len(self.walked.last)):
            while upcoming < len(self.items) and self.walked.enters[self.items[upcoming].id] <= call:
                item = self.items[upcoming]
                spent += item.tokens if item.kind in (Kind.USER, Kind.GOAL) else 0
                instructions += item.tokens if item.kind is Kind.INSTRUCTION else 0
                upcoming += 1
            room = max(0, self.budget - self.beside - instructions)
            if spent > room * WORDS_SHARE * WORDS_MARGIN:
                return call
        return None

    def _literal(self, number: int) -> Literal:
        text = self.ruler.labels.literals[number]
        count = self.ruler.counter.counter.count
        naming = max(1, int(min(count(text), count(" " + text)) * NAMED_SHARE))
        return Literal(holders=tuple(self.holders[number]), naming_tokens=naming, words=_words(text))

    def _calls(self, kept: dict[int, int]) -> Iterator[Call]:
        log, most = self.walked.log, self._most_forced()
        for number, turns in enumerate(self.walked.last):
            # A turn that was parsed again with a late result may hold more by now than this call saw.
            seen = (i for turn in turns for i in log.turn_items[turn] if i in self.index)
            last = [i for i in seen if self.walked.enters[i] <= number]
            labels = [n for n in self.ruler.labels.needs[number] if self._counts(n)]
            squeezed = most[number] + SLACK_TOKENS + STUB_TOKENS * len(last) > self.budget
            lost = _literals_in(log, self.ruler, turns) if squeezed else frozenset()
            yield Call(
                needs=tuple(
                    Need(
                        literal=kept[n.literal],
                        recall_tokens=min(self.ruler.supplier_tokens(n), RECALL_CAP_TOKENS),
                    )
                    for n in labels
                    if n.literal not in lost and n.literal in kept
                ),
                protected=frozenset() if squeezed else frozenset(self.index[i] for i in last),
                counted=bool(labels),
            )

    def _counts(self, need: Label) -> bool:
        return counts(self.rule, strict=need.strict, verbatim=need.kind.value in VERBATIM)

    def _most_forced(self) -> list[int]:
        """For each call at most what pins, last turn and the stubs of pastes take."""
        log, found = self.walked.log, []
        pinned_turns: dict[int, int] = {}
        stubs: dict[int, int] = {}
        for item in self.items:
            if item.pinned:
                pinned_turns.setdefault(item.turn, self.walked.enters[item.id])
            if item.kind in (Kind.PASTE, Kind.ATTACHMENT):
                stubs[self.walked.enters[item.id]] = stubs.get(self.walked.enters[item.id], 0) + STUB_TOKENS
        entering: dict[int, int] = {}
        for turn, call in pinned_turns.items():
            entering[call] = entering.get(call, 0) + log.turn_tokens[turn]
        standing = self.beside
        for call, turns in enumerate(self.walked.last):
            standing += entering.get(call, 0) + stubs.get(call, 0)
            found.append(standing + sum(log.turn_tokens[t] for t in turns if t not in pinned_turns))
        return found


def _words(text: str) -> frozenset[str]:
    # Literals of signs alone may overlap in ways that no word tells: all of them count as one.
    return frozenset(_WORD.findall(normalise(text)) or ("",))


def _walk(recorded: Recorded) -> Walked:
    """Feed the session to an engine that never commits, and note what each call saw."""
    session = Session(
        format=recorded.format, budget=1 << 40, policy="window", model=recorded.model, system=recorded.system,
        tools=recorded.tools, fixed_over_budget="send",
    )  # fmt: skip
    walked, done = Walked(session.engine.log), 0
    for step in steps_of(recorded):
        session.append(recorded.messages[done : step.start], recorded.origins[done : step.start])
        done = step.start
        log = session.engine.log
        first = newest_agent_turn(log)
        walked.log = log
        walked.last.append(tuple(range(min(first, log.settled), len(log.turns))))
        for turn in range(len(log.turns) - 1, -1, -1):
            for i in log.turn_items[turn]:
                walked.tokens[i] = min(log.items[i].tokens, walked.tokens.get(i, log.items[i].tokens))
            fresh = [i for i in log.turn_items[turn] if i not in walked.enters]
            if log.turn_items[turn] and not fresh and turn < walked.last[-1][0]:
                break
            walked.enters.update((i, step.number) for i in fresh)
    walked.enters = {i: call for i, call in walked.enters.items() if i in walked.log.items}
    walked.last = [tuple(t for t in turns if t < len(walked.log.turns)) for turns in walked.last]
    return walked


def _sizes(walked: Walked, items: Sequence[Item]) -> dict[int, int]:
    """Tokens of each item, at most its share of what its turn costs."""
    sums: dict[int, int] = {}
    for item in items:
        sums[item.turn] = sums.get(item.turn, 0) + item.tokens
    turns = walked.log.turn_tokens
    return {
        i.id: min(walked.tokens[i.id], i.tokens * min(turns[i.turn], sums[i.turn]) // max(1, sums[i.turn]))
        for i in items
    }


def _holders(log: Log, ruler: Ruler, items: Sequence[Item], index: dict[int, int]) -> dict[int, list[int]]:
    """Literal -> the items that hold it; where only the frame of a turn does (a tool's name), all items of the turn."""
    finder = Finder(ruler.labels.literals)
    found: dict[int, set[int]] = {}
    turns: dict[int, list[Item]] = {}
    for item in items:
        turns.setdefault(item.turn, []).append(item)
    for turn, members in turns.items():
        whole = _literals_in(log, ruler, (turn,))
        if not whole:
            continue
        inside: dict[int, list[int]] = {}
        for item in members:
            for literal in finder.find(log.text_of(item)):
                inside.setdefault(literal, []).append(index[item.id])
        for literal in whole:
            found.setdefault(literal, set()).update(inside.get(literal) or [index[i.id] for i in members])
    return {literal: sorted(found[literal]) for literal in sorted(found)}


def _literals_in(log: Log, ruler: Ruler, turns: Sequence[int]) -> frozenset[int]:
    messages = (message for turn in turns for message in log.turns[turn].messages)
    return frozenset[int]().union(*(ruler.message(message).literals for message in messages))


def _repeats(log: Log, ruler: Ruler) -> set[int]:
    """Turns with a message that stood in the session before."""
    seen, found = set[str](), set[int]()
    for number, turn in enumerate(log.turns):
        for message in turn.messages:
            key = repr(message)
            if key in seen:
                found.add(number)
            seen.add(key)
    return found
