"""What a session has confirmed so far: reads the settled turns, as they are asked for, into the state of the work.

Every way a fact is confirmed ends here: words of the user (requests, constraints, named values, answers to what the
assistant asked) and results of tools (exit codes, counts, ids made, files written, fields of records). The assistant's
own words are read for the question that a user answers, for nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from foldaway.compressors.facts import facts
from foldaway.compressors.user_words import constraints
from foldaway.engine.log import Log
from foldaway.linking.kinds import command_of, one_line
from foldaway.linking.said import answer, key_of, named, question
from foldaway.linking.state import Fact, Request, State, Topic
from foldaway.model.items import Item, Kind
from foldaway.model.wire import Part, PartType, Turn, TurnKind

RESULT_CHARS = 6_000
"""Of a result this much of its head and of its tail is read for figures: they stand in summaries."""
JSON_CHARS = 20_000
"""A larger record is a table: its rows are no state."""
MOST_FIELDS = 12
VALUE_CHARS = 80
ASKED_CHARS = 400
READ_CHARS = 12_000
"""Of a user's words and of a command this much is read."""
FEWEST_WORDS = 3
"""Fewer make no sentence: a heading, a mark."""
ERROR_CHARS = 160
_COUNTS = ("passed", "failed", "errors", "error", "skipped", "warnings", "failures", "tests", "vulnerabilities")
_COMMIT = re.compile(r"^\[[\w./ ()-]{1,60} ([0-9a-f]{7,40})\] ", re.MULTILINE)
_MADE_URL = re.compile(r"https?://[\w.-]+/[\w./-]+/(?:pull|issues|merge_requests|releases/tag)/[\w.-]+")
_TAGGED = re.compile(
    r"<(system-reminder|command-\w+|local-command-\w+|environment[-_]\w+|task-notification|ide_\w+)>.*?</\1>", re.DOTALL
)
"""What programs put into a user's message: reminders, command output."""
_ASKED = re.compile(r"<(pr_description|issue|problem_statement|task|user_query|question|request)>(.*?)</\1>", re.DOTALL)
"""Where a template of instructions holds what is really asked."""
_STANDING = re.compile(r"#+ *AGENTS\.md\b|<(?:user_instructions|INSTRUCTIONS|environment_context)>", re.IGNORECASE)
"""Standing rules that a program puts in front as the user's words: they bind, but ask for nothing."""
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,40}>")
_HEADING = re.compile(r"^\s*(?:#+ .*|[-=*_]{3,})$", re.MULTILINE)
_REDIRECTED = re.compile(r"(?:(?<![<>0-9&=-])>{1,2}|\btee(?: -a)?)\s*([\w./~@+-]+)")
_IN_PLACE = re.compile(r"\bsed\s+(?:-\w+\s+)*-i\b.*\s([\w./~@+-]*[/.][\w./~@+-]+)\s*$", re.MULTILINE)
_PATH_KEYS = ("path", "file_path", "filePath", "filename", "file", "target_file", "notebook_path")
_PATCH = "*** Begin Patch"
_TRIMMED = re.compile(r"\s*(?:2>&1|\|\s*(?:tail|head|grep|less|cat|tee)\b)")
_LOOKS = frozenset({Kind.SEARCH, Kind.LISTING, Kind.READ})
"""Nothing found is no failure to be repaired."""
_CHINESE = re.compile(r"[一-鿿]{4}")
_NO_RESULTS = frozenset({Kind.LISTING, Kind.SEARCH, Kind.PLAN, Kind.RECALLED, Kind.ANNOTATION})


@dataclass(slots=True)
class Confirmed:
    """Keeps the state of one branch up to date. O(what has settled since it was asked last)."""

    log: Log
    _state: State = field(default_factory=State)
    _upto: int = 0
    _asked: tuple[int, str] = (0, "")
    """Item and text of the question that the newest assistant text asks."""

    def state(self) -> State:
        """The state as of the newest settled turn. For reading only."""
        while self._upto < self.log.settled:
            turn = self.log.turns[self._upto]
            if not self.log.own(self._upto):
                self._read(turn, self.log.items_of_turn(self._upto))
            self._upto += 1
        return self._state

    # -- inside

    def _read(self, turn: Turn, items: tuple[Item, ...]) -> None:
        if turn.kind is TurnKind.USER:
            for item in items:
                if item.kind in (Kind.USER, Kind.GOAL):
                    self._hear(item)
            self._asked = 0, ""
            return
        for item in items:
            if item.kind is Kind.THOUGHT:
                self._asked = item.id, question(self.log.text_of(item))
            elif item.name and item.kind not in _NO_RESULTS:
                self._observe(item)

    def _hear(self, item: Item) -> None:
        """The user's own words."""
        text = _TAGGED.sub("", self.log.text_of(item)).strip()
        if not text:
            return
        state, step = self._state, item.created_step
        asked_by, asked = self._asked
        said = answer(text) if asked else ""
        if said:
            decided = Fact(
                topic=Topic.DECISION, subject=asked, key="answer", value=said, item=asked_by, step=step,
                confirmed_by=item.id,
            )  # fmt: skip
            state.learn(decided)
        else:
            if not _STANDING.match(text):
                state.ask(Request(text=_asked(text), item=item.id, step=step))
        for sentence in _binding(text):
            state.bind(Request(text=sentence, item=item.id, step=step))
        for one in named(text):
            fact = Fact(topic=Topic.TOLD, subject="user", key=one.key, value=one.value, item=item.id, step=step)
            state.correct(fact, one.instead_of) if one.corrects else state.learn(fact)

    def _observe(self, item: Item) -> None:
        """A tool's result."""
        text = self.log.result_text(item)
        if item.kind is Kind.ERROR:
            self._failed(item, text)
            return
        self._state.repair(_subject(item), item.id)
        for target in self._written(item) if item.kind is Kind.EDIT else ():
            self._state.repair(target, item.id)
            self._learn(item, Topic.WRITTEN, target, "written", "")
        figures = _figures(text)
        if item.kind is Kind.COMMAND and figures:
            self._learn(item, Topic.RESULT, _subject(item), "result", figures)
        for key, value in _made(text) if item.kind in (Kind.COMMAND, Kind.EDIT) else ():
            self._learn(item, Topic.CREATED, value, key, value)
        if item.kind in (Kind.RESULT, Kind.EDIT, Kind.COMMAND) or (item.kind is Kind.READ and not item.targets):
            for subject, key, value in _fields(text):
                self._learn(item, Topic.RECORD, subject, key, value)

    def _written(self, item: Item) -> tuple[str, ...]:
        """Files that an edit wrote: those a shell command names as its output, else what the call is about."""
        arguments = self._call(item).arguments
        command = command_of(arguments, "") if isinstance(arguments, dict) else ""
        if not command:
            named = [arguments.get(k) for k in _PATH_KEYS] if isinstance(arguments, dict) else []
            patched = item.targets if _PATCH in self._call(item).text else ()
            return tuple(n for n in named if isinstance(n, str)) or patched
        if _PATCH in command:
            return item.targets
        found = (*_REDIRECTED.findall(command[:READ_CHARS]), *_IN_PLACE.findall(command[:READ_CHARS]))
        return tuple(f for f in dict.fromkeys(found) if not f.startswith("/dev/"))

    def _call(self, item: Item) -> Part:
        parts = self.log.turns[item.turn].parts
        return next((parts[p] for p in item.parts if parts[p].type is PartType.CALL), parts[item.parts[0]])

    def _failed(self, item: Item, text: str) -> None:
        call = self._call(item)
        if self.log.kinds.of_call(call.name, call.arguments, call.text) in _LOOKS:
            return
        figures = _figures(text)
        error = [f.value for f in facts(_ends(text)) if f.key == "error"]
        last = next((line for line in reversed(text[-2000:].splitlines()) if _TAG.sub("", line).strip()), "failed")
        said = "; ".join(filter(None, [figures, one_line(error[-1] if error else last, ERROR_CHARS)]))
        shell = bool(command_of(call.arguments, "")) if isinstance(call.arguments, dict) else True
        subject = _subject(item) if shell or not item.targets else item.targets[0]
        self._learn(item, Topic.FAILURE, subject, "failed", said)

    def _learn(self, item: Item, topic: Topic, subject: str, key: str, value: str) -> None:
        fact = Fact(topic=topic, subject=subject, key=key, value=value, item=item.id, step=item.created_step)
        self._state.learn(fact)


def _asked(text: str) -> str:
    """What a user's text asks for, on one line: without the template around it, where there is one."""
    inner = _ASKED.search(text)
    bare = _HEADING.sub("", _TAG.sub("", inner.group(2) if inner else text))
    return one_line(bare.strip() or text, ASKED_CHARS)


def _binding(text: str) -> Iterator[str]:
    """Sentences that forbid or demand something for good."""
    for sentence in constraints(text[:READ_CHARS]):
        bare = _TAG.sub("", sentence).strip().lstrip("-*•#> 0123456789.)")
        if (len(bare.split()) >= FEWEST_WORDS and not bare.endswith(":")) or _CHINESE.search(bare):
            yield bare


def _subject(item: Item) -> str:
    """What a command is about: itself, without what only trims its output, so that the next run is the same subject."""
    return _TRIMMED.split(item.title, maxsplit=1)[0].strip() or item.title


def _ends(text: str) -> str:
    return text if len(text) <= 2 * RESULT_CHARS else f"{text[:RESULT_CHARS]}\n{text[-RESULT_CHARS:]}"


def _figures(text: str) -> str:
    """`3 failed, 12 passed, exit code 1`: what a run of tests or a build came to, from its last lines."""
    found: dict[str, str] = {}
    for fact in facts(text[-RESULT_CHARS:]):
        if fact.key in _COUNTS and fact.value.replace(",", "").isdigit():
            found[fact.key] = f"{fact.value} {fact.key}"
        elif fact.key == "exit code" and fact.value != "0":
            found[fact.key] = f"exit code {fact.value}"
    return ", ".join(found.values())


def _made(text: str) -> Iterator[tuple[str, str]]:
    """What a command brought into the world: commits, and pages of a forge."""
    ends = _ends(text)
    for match in _COMMIT.finditer(ends):
        yield "commit", match.group(1)
    for url in dict.fromkeys(_MADE_URL.findall(ends[-RESULT_CHARS:])):
        yield "url", url


def _fields(text: str) -> Iterator[tuple[str, str, str]]:
    """(subject, key, value) of a record in JSON: its plain fields, one level of nesting, at most `MOST_FIELDS`."""
    bare = text.strip()
    if not bare.startswith("{") or len(bare) > JSON_CHARS:
        return
    try:
        record = json.loads(bare)
    except ValueError:
        return
    plain = [(k, v) for k, v in _plain(record) if 0 < len(v) <= VALUE_CHARS][:MOST_FIELDS]
    subject = next((f"{key_of(k)} {v}" for k, v in plain if k.lower().endswith(("id", "number", "key"))), "")
    if subject:
        yield from ((subject, key_of(k), v) for k, v in plain)


def _plain(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{k}", str(v)) for k, v in value.items() if isinstance(v, str | int | float))
        elif isinstance(value, str | int | float):
            yield str(key), str(value)
