"""aider's chat history: markdown with a heading a chat, "#### " before the user's words, "> " before aider's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from foldaway.model.recorded import Recorded
from foldaway.readers._build import ENVIRONMENT, Draft, seconds_of
from foldaway.readers._source import Log

NAME = "aider"
HEADING = "# aider chat started at "
USER, PRINTED = "####", ">"


def knows(lines: Iterable[str]) -> bool:
    return any(line.startswith((HEADING, USER + " ")) for line in lines)


@dataclass(slots=True)
class _Chat:
    run: str
    draft: Draft = field(default_factory=Draft)
    who: str = ""
    block: list[str] = field(default_factory=list)

    def feed(self, line: str) -> None:
        mark = next((m for m in (USER, PRINTED) if line == m or line.startswith(m + " ")), "")
        if not line.strip() and self.who:
            mark = self.who if self.who == "text" else ""
            if not mark:
                self.end()
                return
        who = mark if mark in (USER, PRINTED) else "text"
        if who != self.who:
            self.end()
            self.who = who
        # aider ends marked lines with two spaces, markdown's line break.
        self.block.append(line.removeprefix(mark + " ").removesuffix("  ") if who != "text" else line)

    def end(self) -> None:
        text = "\n".join(self.block).strip("\n")
        if text.strip():
            role = "assistant" if self.who == "text" else "user"
            self.draft.add({"role": role, "content": text}, ENVIRONMENT if self.who == PRINTED else "")
        self.who, self.block = "", []

    def recorded(self, log: Log) -> Recorded:
        self.end()
        return self.draft.recorded(log.name(self.run), NAME, "openai_chat")


def read(lines: Iterable[str], log: Log) -> Iterator[Recorded]:
    """A session a chat; lines before the first heading are a chat of their own, named "start"."""
    chat = _Chat("start")
    for line in lines:
        if line.startswith(HEADING):
            if chat.draft.messages or chat.block or chat.run != "start":
                yield chat.recorded(log)
            started = line.removeprefix(HEADING).strip().replace(" ", "T")
            chat = _Chat(started, Draft(now=seconds_of(started)))
        else:
            chat.feed(line)
    yield chat.recorded(log)
