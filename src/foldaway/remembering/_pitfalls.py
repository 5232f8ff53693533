"""What went wrong and how it was put right: the failure with the change, or the other call, after which it passed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldaway.compressors.facts import facts as facts_in
from foldaway.engine.log import Log
from foldaway.linking.kinds import one_line
from foldaway.linking.state import Fact, Topic
from foldaway.model.items import Item, Kind
from foldaway.protocols import Memory
from foldaway.remembering._told import command, source_of, subject_of
from foldaway.session import Session

ERROR_CHARS = 200
RESULT_CHARS = 6_000
MOST_FILES = 3
MOST_RUNS = 2
NEAR_ITEMS = 8
"""Within so many items after a failure another spelling of the same command counts as its answer."""
ALIKE = 0.5
"""Share of words in common from which two commands are two spellings of one."""
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,40}>")
_FAILURES = frozenset({"failed", "failures", "errors", "error", "exit code"})
_SAYS_NOTHING = re.compile(
    r"[\[(]?(?:the )?command (?:completed|exited)[^;]*|exit code -?\d+|fail(?:ed|ures?)?|error|\W*", re.IGNORECASE
)
_WORD = re.compile(r"[\w./:@+-]+")
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+")


def pitfalls(session: Session) -> Iterator[Memory]:
    """Kind `pitfall`; the key is what failed."""
    log = session.engine.log
    told: set[int] = set()
    for fact in session.state.superseded:
        if fact.topic is Topic.FAILURE and (memory := _repaired(log, fact)) is not None:
            told.add(fact.item)
            yield memory
    for item in log.items.values():
        if item.kind is Kind.ERROR and item.id > 0 and item.turn < log.settled and item.id not in told:
            yield from _respelled(log, item)


def _repaired(log: Log, fact: Fact) -> Memory | None:
    """A failure whose subject worked later."""
    repair = _passed(log, fact.superseded_by)
    error = _error(fact.value)
    if repair is None or not error:
        return None
    how = _remedy(log, fact, repair)
    if not how:
        return None
    subject = one_line(fact.subject, 120)
    text = f"{subject} failed: {error}\nIt passed (#{repair.id}) after {how}"
    return Memory(text=text, kind="pitfall", key=f"failed · {subject}", source=source_of(repair), item=fact.item)


def _passed(log: Log, first: int) -> Item | None:
    """The item that worked, or a later run of the same that did: an exit code of 0 may be that of a pipe's end."""
    known = log.items.get(first)
    if known is None:
        return None
    for number in range(first, log.next_id):
        item = log.items.get(number)
        same = item is not None and item.name == known.name and subject_of(item) == subject_of(known)
        if item is not None and same and item.kind is not Kind.ERROR and not _fails(log.result_text(item)):
            return item
    return None


def _fails(text: str) -> bool:
    """Whether the end of a result counts failures."""
    figures = [fact for fact in facts_in(text[-RESULT_CHARS:]) if fact.key in _FAILURES]
    # The last count of a kind is the sum of a run.
    counts = {fact.key: fact.value.replace(",", "") for fact in figures if fact.value.replace(",", "").isdigit()}
    return any(count.strip("0") for count in counts.values())


def _remedy(log: Log, fact: Fact, repair: Item) -> str:
    """What was done between failure and success; "" where nothing was that would help the next time."""
    between = [log.items[n] for n in range(fact.item + 1, repair.id) if n in log.items]
    changed = [t for i in between if i.kind is Kind.EDIT for t in i.targets if t != fact.subject]
    if changed:
        return f"changes to {', '.join(list(dict.fromkeys(changed))[-MOST_FILES:])}"
    ran = [subject_of(i) for i in between if i.kind is Kind.COMMAND and not i.title.endswith("…")]
    return f"running {'; '.join(list(dict.fromkeys(ran))[-MOST_RUNS:])}" if ran else ""


def _respelled(log: Log, item: Item) -> Iterator[Memory]:
    """A command that failed, and soon after it another spelling of it that worked."""
    failed = command(log, item)
    error = _error(next(reversed([x for x in log.result_text(item)[-2_000:].splitlines() if x.strip()]), ""))
    if not failed or not error or _HEREDOC.search(failed):
        return
    for number in range(item.id + 1, item.id + 1 + NEAR_ITEMS):
        other = log.items.get(number)
        if other is None or other.name != item.name or other.kind is Kind.ERROR or other.turn >= log.settled:
            continue
        worked = command(log, other)
        if worked and worked != failed and not _HEREDOC.search(worked) and _alike(failed, worked):
            text = f"{one_line(failed, 160)} failed: {error}\nThis worked (#{number}): {one_line(worked, 160)}"
            yield Memory(
                text=text, kind="pitfall", key=f"failed · {one_line(failed, 120)}", source=source_of(other),
                item=item.id,
            )  # fmt: skip
            return


def _error(said: str) -> str:
    """The telling part of an error, on one line; "" when it says nothing but that it failed."""
    parts = [part.strip() for part in _TAG.sub("", said).split(";")]
    telling = [part for part in parts if part and not _SAYS_NOTHING.fullmatch(part)]
    return one_line("; ".join(telling), ERROR_CHARS)


def _alike(one: str, other: str) -> bool:
    first, second = set(_WORD.findall(one)), set(_WORD.findall(other))
    return len(first & second) >= ALIKE * max(1, len(first | second))
