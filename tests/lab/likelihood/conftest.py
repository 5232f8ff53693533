"""A scorer that only copies: a word that stands in the context is likely, another is not."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import accumulate

import pytest

from foldaway.lab.likelihood import Likelihood
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.testing.histories import Writer

_TOKEN = re.compile(r"\w+|\W")
READ, UNREAD = math.log(0.5), math.log(0.001)


@dataclass
class Copier:
    """Each word of the continuation has one of two probabilities."""

    name: str = "copier"
    window_tokens: int = 100_000
    asked: list[tuple[str, str, int]] = field(default_factory=list)

    def count(self, text: str) -> int:
        return len(_TOKEN.findall(text))

    def loglik(self, context: str, continuation: str, take: int = 0) -> Likelihood:
        self.asked.append((context, continuation, take))
        known = set(_TOKEN.findall(context))
        tokens = _TOKEN.findall(continuation)
        ends = tuple(accumulate(len(token.encode()) for token in tokens))
        return Likelihood(tuple(READ if token in known else UNREAD for token in tokens), ends)


@pytest.fixture
def copier() -> Copier:
    return Copier()


def _far_reference(name: str, file: str) -> list[Message]:
    """The first call finds a file; after enough else the last but one reads it, the last what came just before."""
    writer = Writer("openai_chat")
    writer.user("Find the defect.")
    writer.call("search", f"{file} looks odd", query="odd")
    for n in range(12):
        writer.call("read_file", f"line {n} of {name}\n" + "plain words without a name\n" * 20, path=f"docs/{n}.md")
    writer.call("read_file", "see handbook_page_77 for more", path=file)
    writer.call("read_file", "done", path="handbook_page_77")
    return writer.messages


@pytest.fixture
def far() -> list[Recorded]:
    """Three recordings with a need that is old and a need that is not."""
    return [
        Recorded(
            name=f"far-{n}",
            source_format="test",
            format="openai_chat",
            messages=_far_reference(f"far{n}", f"src/part_{n}{n}_tool.py"),
        )
        for n in range(3)
    ]
