"""Made-up memories by the million: words of recorded sessions, topics, owners, times; the same for the same seed.

A text's words are drawn as often as the recordings say them, two thirds of them from a small part of all words that its
topic keeps to: so texts of a topic come out near each other, in words and in vectors, as real ones do. Every second
text holds an id or a path that no other holds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

from foldaway.model.recorded import Recorded
from foldaway.protocols import Memory

MOST_WORDS = 20_000
TOPICS = 500
_WORDS_A_TOPIC = 120
_KINDS = ("fact", "preference", "decision", "pitfall", "digest", "document")
_WORD = re.compile(r"[^\W\d_]{2,24}")
MONTHS = 12
TASKS = 500
SOURCES = 50
_ONE_KEY_IN = 20
_TELLINGS_A_KEY = 3


def vocabulary(recordings: Iterable[Recorded]) -> dict[str, int]:
    """How often each word is said in the recordings, the most said first."""
    counts: Counter[str] = Counter()
    for recorded in recordings:
        for text in _texts(list(recorded.messages)):
            counts.update(word.lower() for word in _WORD.findall(text))
    # What is said once is noise for the most part: pieces of encoded data, cut words.
    kept = [(word, count) for word, count in counts.items() if count > 1]
    return dict(sorted(kept, key=lambda pair: (-pair[1], pair[0]))[:MOST_WORDS])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Whose memories, and how many."""

    items: int
    owners: int = 100
    large_share: float = 0.5
    """0..1: share of all memories that the first owner holds; the others share the rest evenly."""

    def sizes(self) -> list[int]:
        """Memories of each owner, the large one first."""
        large = self.items if self.owners == 1 else round(self.items * self.large_share)
        others = max(self.owners - 1, 1)
        rest = [(self.items - large) // others + (n < (self.items - large) % others) for n in range(self.owners - 1)]
        return [large, *rest]

    def batches(self, most: int) -> Iterator[tuple[str, int]]:
        """(owner, how many) until all are told: owners take turns, as they do in use."""
        left = self.sizes()
        pieces = max(1, -(-max(left) // most))
        each = [-(-size // pieces) for size in left]
        while any(left):
            for number, size in enumerate(left):
                if count := min(size, max(each[number], 1)):
                    left[number] -= count
                    yield owner_name(number), count


def owner_name(number: int) -> str:
    return f"owner {number:03}"


@dataclass(slots=True)
class Telling:
    """Draws memories and questions about them."""

    words: dict[str, int]
    seed: int = 7
    _random: Random = field(init=False)
    _names: list[str] = field(init=False)
    _sums: list[int] = field(init=False)
    _topics: list[list[str]] = field(init=False)
    _count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self._names = list(self.words)
        self._sums = list(accumulate(self.words.values()))
        # A topic's words are drawn from all words alike: rare ones make a topic.
        self._topics = [self._random.choices(self._names, k=_WORDS_A_TOPIC) for _ in range(TOPICS)]

    def memories(self, count: int) -> list[Memory]:
        return [self._one() for _ in range(count)]

    def _one(self) -> Memory:
        draw, number = self._random, self._count
        self._count += 1
        topic = int(draw.random() * TOPICS)
        text = f"{self._sentence(self._topics[topic])} {_anchor(number)}".rstrip()
        key = f"subject {number // (_ONE_KEY_IN * _TELLINGS_A_KEY)}" if number % _ONE_KEY_IN == 0 else ""
        return Memory(
            text=text,
            key=key,
            kind=_KINDS[int(draw.random() * len(_KINDS))],
            task=f"task {topic % TASKS}",
            source=f"tool {int(draw.random() * SOURCES)}",
            session=f"session {number // 200}",
            item=number,
            at=f"2031-{1 + int(draw.random() * MONTHS):02}-{1 + int(draw.random() * 28):02}T00:00:00Z",
        )

    def _sentence(self, topic: Sequence[str]) -> str:
        draw = self._random.random
        # Of a topic the first words are said most.
        return " ".join(
            topic[int(draw() ** 2 * len(topic))] if n % 3 else self._names[self._place(draw())]
            for n in range(12 + int(draw() * 20))
        )

    def _place(self, share: float) -> int:
        return bisect_left(self._sums, share * self._sums[-1])


def _anchor(number: int) -> str:
    """An id or a path of its own for every second memory."""
    if number % 4 == 0:
        return f"ord-{number:07}"
    return f"src/part{number % 97}/module_{number:07}.py" if number % 4 == 2 else ""


def literal_of(text: str) -> str:
    """The id or path in a text; "" where it has none."""
    last = text.rsplit(" ", 1)[-1]
    return last if any(sign.isdigit() for sign in last) else ""


def question(text: str, draw: Random, count: int = 6) -> str:
    """Some of the words of a text, in their order, without its id."""
    words = [word for word in text.split() if word.isalpha()]
    kept = sorted(draw.sample(range(len(words)), min(count, len(words))))
    return " ".join(words[n] for n in kept)
