"""What is provably obsolete: newer items hold all that it said, or it only tells of a failure that was made good.

Three proofs, each from the log alone: a reading of a file that a later reading of it covers (also after edits, when the
later one spans the same stretch), a result that came again word for word, and a failed call that later succeeded. An
edit is never obsolete: it says what was done. Only what is found here may be pruned. O(size of what is new and of the
last readings of the same file).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from foldaway.linking.kinds import same_file
from foldaway.model.items import Item, Kind

SAME_CHARS = 200
"""Shorter results ("ok") say nothing by being the same."""
SPANS_SHARE = 0.8
"""Lines of an older reading that a newer one must still have when the file was edited in between; the others are what
the edits changed, provided that the first and the last line are there."""
LAST_READS = 4
"""Readings of one file that a new one is compared with."""
LAST_FAILURES = 64
"""Failures that wait for their success; older ones are given up."""
ALIKE_SHARE = 0.5
"""Lines that a failed edit and a later one of the same file must share to be the same edit tried again."""
MOST_LINES = 50_000

_PREFIX = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*)+")
_SUFFIX = re.compile(r"(?:\s*2>&1|\s*\|\s*(?:tail|head|cat)(?:\s+-\S+|\s+\d+)*|\s*;\s*echo\b.*)+\s*$")
_NUMBER = re.compile(r"^\s*\d{1,7}[\t:|→]\s?")
_LOOKS = frozenset({Kind.READ, Kind.LISTING, Kind.SEARCH})
_REPEATABLE = frozenset({*_LOOKS, Kind.COMMAND, Kind.RESULT})


class Proof(StrEnum):
    READ_AGAIN = "superseded read"
    SAME_RESULT = "duplicate result"
    MADE_GOOD = "failed path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obsolete:
    """Why an item may be pruned."""

    item: int
    by: int
    """The newer item that makes it so."""
    proof: Proof
    why: str


@dataclass(frozen=True, slots=True)
class _Failure:
    item: int
    name: str
    command: str
    """The action without what does not matter: where it ran, how its output was cut."""
    targets: tuple[str, ...]
    action: str


@dataclass(slots=True)
class Obsolescence:
    """Obsolete items of one branch, found as newer ones come in."""

    result_of: Callable[[int], str]
    """Item -> the text of its result, from the log: nothing is held twice."""
    of: dict[int, Obsolete] = field(default_factory=dict)
    unresolved: dict[int, None] = field(default_factory=dict)
    """Failures not made good so far, the oldest first: what the agent may still have to answer."""
    _results: dict[bytes, int] = field(default_factory=dict)
    _reads: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """File name -> (item, file as it was spelled) of its last readings."""
    _edits: dict[str, int] = field(default_factory=dict)
    """File name -> the newest item that edited a file of that name."""
    _failures: list[_Failure] = field(default_factory=list)

    def observe(self, item: Item, action: str, result: str) -> list[int]:
        """A settled item with what the agent wrote and what came back; the items whose standing it changes."""
        found: list[Obsolete] = []
        if item.kind is Kind.ERROR:
            return self._fail(item, action)
        self._make_good(item, action, found)
        if item.kind in _REPEATABLE:
            self._repeat(item, action, result, found)
        if item.kind is Kind.READ:
            self._read(item, result, found)
        if item.kind is Kind.EDIT:
            self._edits.update((_name(target), item.id) for target in item.targets)
        for one in found:
            self.of.setdefault(one.item, one)
        return [one.item for one in found]

    def _repeat(self, item: Item, action: str, result: str, found: list[Obsolete]) -> None:
        if len(result) < SAME_CHARS:
            return
        # What a command did may differ though it printed the same; a look at something did nothing else.
        did = "" if item.kind in _LOOKS else f"{item.name}\n{_core(action)}\n"
        mark = hashlib.blake2b((did + result).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if (older := self._results.get(mark)) is not None:
            found.append(
                Obsolete(item=older, by=item.id, proof=Proof.SAME_RESULT, why=f"the same came with #{item.id}")
            )
        self._results[mark] = item.id

    def _read(self, item: Item, result: str, found: list[Obsolete]) -> None:
        newer: frozenset[str] | None = None
        for target in item.targets:
            readings = self._reads.setdefault(_name(target), [])
            edited = self._edits.get(_name(target), 0)
            for older, spelled in readings:
                if older in self.of or older == item.id or not same_file(spelled, target):
                    continue
                newer = frozenset(_lines(result)) if newer is None else newer
                if _covers(newer, _lines(self.result_of(older)), edited=older < edited):
                    why = f"#{item.id} reads all of it again" + (f", edited since by #{edited}" * (older < edited))
                    found.append(Obsolete(item=older, by=item.id, proof=Proof.READ_AGAIN, why=why))
            readings.append((item.id, target))
            del readings[:-LAST_READS]

    def _fail(self, item: Item, action: str) -> list[int]:
        self.unresolved[item.id] = None
        self._failures.append(_Failure(item.id, item.name, _core(action), item.targets, action))
        given_up = [old.item for old in self._failures[:-LAST_FAILURES]]
        for old in given_up:
            self.unresolved.pop(old, None)
        del self._failures[:-LAST_FAILURES]
        return given_up

    def _make_good(self, item: Item, action: str, found: list[Obsolete]) -> None:
        if not action:
            return
        core, left = _core(action), []
        for failure in self._failures:
            if failure.name == item.name and (failure.command == core or _tried_again(failure, item, action)):
                self.unresolved.pop(failure.item, None)
                why = f"#{item.id} did it with success"
                found.append(Obsolete(item=failure.item, by=item.id, proof=Proof.MADE_GOOD, why=why))
            else:
                left.append(failure)
        self._failures = left


def _tried_again(failure: _Failure, item: Item, action: str) -> bool:
    """Whether an edit is a failed edit of the same file over again: half of the longer one's lines are the same."""
    if item.kind is not Kind.EDIT or not any(same_file(a, b) for a in failure.targets for b in item.targets):
        return False
    before, now = (set(_lines(text.replace("\\n", "\n"))) for text in (failure.action, action))
    return len(before & now) >= ALIKE_SHARE * max(len(before), len(now), 1)


def _covers(newer: frozenset[str], older: Sequence[str], *, edited: bool) -> bool:
    """Whether a newer reading leaves nothing to an older one."""
    if not older:
        return False
    kept = sum(line in newer for line in older)
    if kept == len(older):
        return True
    return edited and kept >= SPANS_SHARE * len(older) and older[0] in newer and older[-1] in newer


def _core(action: str) -> str:
    """A command without the folder it runs in and without what cuts its output; other actions as they are."""
    return " ".join(_SUFFIX.sub("", _PREFIX.sub("", action)).split())


def _lines(text: str) -> list[str]:
    """Lines with something in them, without line numbers in front and white space around."""
    lines = (_NUMBER.sub("", line).strip() for line in text.split("\n", MOST_LINES)[:MOST_LINES])
    return [line for line in lines if line]


def _name(target: str) -> str:
    return target.rsplit("/", 1)[-1]
