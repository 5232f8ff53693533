"""Long-term memory of one owner: learns from sessions at their end, answers later ones, can be corrected and deleted.

A thin layer over the store's memories: the store decides who may see what, marks what is superseded, and deletes for
good. Nothing here reads a clock: times are handed in, or are the store's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from foldaway.errors import RecallError, SettingsError
from foldaway.protocols import Filter, Memory, Passage, Reader, Store, Tombstone
from foldaway.remembering import originals
from foldaway.remembering.conflicts import contradict
from foldaway.remembering.distil import distil
from foldaway.retrieval.found import Found
from foldaway.retrieval.long_term import LongTerm
from foldaway.retrieval.retriever import Retriever
from foldaway.session import Session
from foldaway.stores.redaction import RedactingStore, redact

CORRECTION = "correction"
"""How the source of a corrected memory begins."""
WISHES = ("preference", "constraint")
MOST_COMPARED = 500
"""Wishes that a new one is compared with, the newest."""
MOST_KNOWN = 10_000
_CURRENT = Filter(current_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What a session says that was forgotten before."""

    memory: Memory
    tombstone: str
    """Its id, for `LongTermMemory.lift`."""
    at: str
    """When it was forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What one session left."""

    ids: tuple[str, ...]
    """Of its memories, of those that were known already first."""
    fresh: tuple[str, ...] = ()
    """Of those told now."""
    contradictions: tuple[tuple[str, str], ...] = ()
    """(new, older) that say the opposite: both stay, both are marked."""
    skipped: tuple[Memory, ...] = ()
    """Not kept: corrected before, or said by the same item before and superseded since."""
    forgotten: tuple[Forgotten, ...] = ()
    """Not kept: forgotten, or expired, before."""


@dataclass(slots=True)
class LongTermMemory:
    """The memories of one reader, as what `Session(retriever=...)` asks, and as what a person looks after."""

    store: Store
    reader: Reader
    retriever: Retriever | None = None
    """None: by words and structure, without vectors."""
    redact_secrets: bool = True
    """Secrets found by their shape are kept out of memories; what was redacted does not come back."""
    now: Callable[[], str] | None = None
    """UTC, ISO 8601; without it nothing ages."""
    learns: bool = False
    """As `Session(retriever=...)`: learn from a session when it is closed."""
    _kept: Store = field(init=False)

    def __post_init__(self) -> None:
        self._kept = RedactingStore(self.store) if self.redact_secrets else self.store

    # -- learning

    def learn(self, session: Session, *, task: str = "", at: str = "", expires_at: str = "") -> Learned:
        """Distil a session and keep what it leaves; again for the same session adds what is new in it, and no more.

        `at`: when it was, UTC; "" the store's clock, so say it for a session of long ago: what is told later, of the
        same key, supersedes. What was forgotten stays out, whatever session says it, unless this one is of a time
        (`at`) after it was forgotten. Raises SettingsError where the session is another user's. O(session).
        """
        if session.user != self.reader.owner:
            raise SettingsError(f"session of {session.user!r}: {self.reader.owner!r} learns from sessions of their own")
        distilled = [self._clean(replace(m, at=at, expires_at=expires_at)) for m in distil(session, task)]
        fresh, known, skipped = self._worth([m for m in distilled if _says_something(m)])
        fresh, forgotten = self._not_forgotten(fresh)
        before = self.find(Filter(kinds=WISHES, current_only=True), MOST_COMPARED)
        ids = self.tell(fresh)
        marked = self._mark(ids, before)
        return Learned(
            ids=(*known, *ids), fresh=tuple(ids), contradictions=marked, skipped=tuple(skipped), forgotten=forgotten
        )

    def session_ended(self, session: Session) -> None:
        """Learn from a session that is being closed, if that is wanted. Raises what `learn` does."""
        if self.learns:
            self.learn(session)

    def tell(self, memories: Sequence[Memory]) -> list[str]:
        """Keep memories from anywhere, say a model's; their ids. All or none. What was forgotten is known again."""
        ids = self._kept.put_memories(self.reader, memories)
        buried = self._kept.buried(self.reader, memories)
        self.lift(each.id for each in buried if each is not None)
        return ids

    # -- finding

    def recollect(self, query: str, limit: int) -> Sequence[Passage]:
        """What holds now and fits, as a session asks for it."""
        return LongTerm(self._search(), self.reader, _CURRENT, self.now).recollect(query, limit)

    def search(self, query: str, limit: int = 8, among: Filter = _CURRENT) -> list[Found]:
        now = self.now() if self.now is not None else ""
        return self._search().retrieve(self.reader, query, among, limit, now=now)

    def find(self, among: Filter = _CURRENT, limit: int = 100) -> list[Memory]:
        """By their fields alone, newest first."""
        return self._kept.find_memories(self.reader, among, limit)

    def get(self, memory: str) -> Memory:
        """Raises RecallError where this reader has no such memory."""
        found = self._kept.memories(self.reader, [memory])
        if not found:
            raise RecallError(f"no memory {memory!r} of {self.reader.owner!r}")
        return found[0]

    def holds(self, memory: str) -> bool:
        return bool(self._kept.memories(self.reader, [memory]))

    def original(self, memory: str | Memory) -> str:
        """The bytes it was made from, out of the stored session: one hop. Only the owner's own memories lead there.

        Raises RecallError where there is no such memory, session or item.
        """
        known = self._own(memory if isinstance(memory, str) else memory.id)
        return originals.original(self.store, known)

    def beside(self, memory: str) -> list[Memory]:
        """The reader's other memories that were made from the same item of the same session: where one is forgotten,
        these may say the same in other words. Raises RecallError where there is no such memory."""
        known = self.get(memory)
        if not known.session or not known.item:
            return []
        same = self.find(Filter(sessions=(known.session,)), MOST_KNOWN)
        return [m for m in same if m.item == known.item and m.id != known.id]

    # -- looking after

    def correct(self, memory: str, text: str, *, source: str = "", at: str = "") -> str:
        """Say what holds instead; the id of the new memory. The old one is marked as superseded and stays.

        A later `learn` does not bring back what was corrected. `at`: "" is the store's clock; never before the old one.
        """
        old = self._own(memory)
        key = old.key or f"corrected · {old.id}"
        told = f"{CORRECTION}: {source}" if source else CORRECTION
        new = replace(old, id="", owner="", text=text, key=key, source=told, at=at, superseded_by="", contradicts=())
        if not old.key:
            # What had no subject gets one, or nothing could supersede it.
            self.tell([replace(old, id="", owner="", key=key, contradicts=())])
            self._kept.forget_memories(self.reader, [old.id])
        (made,) = self.tell([new])
        newest = self.get(made).superseded_by
        if newest:
            (made,) = self.tell([replace(new, at=self.get(newest).at)])
        return made

    def expire(self, memory: str, at: str) -> None:
        """It is found no more from this time on; what it corrected neither. The store sets an end with a later telling:
        its time moves by 1 µs."""
        old = self._own(memory)
        ended = [*self._corrected_by(old), old]
        told = [(_utc(each.at) + timedelta(microseconds=1)).isoformat().replace("+00:00", "Z") for each in ended]
        self.tell(
            [
                replace(each, id="", owner="", superseded_by="", contradicts=(), at=then, expires_at=at)
                for each, then in zip(ended, told, strict=True)
            ]
        )

    def contradict(self, one: str, other: str) -> None:
        """Mark two memories as saying the opposite; one of them is the reader's own."""
        self._kept.mark_contradiction(self.reader, one, other)

    def forget(self, memories: Iterable[str]) -> int:
        """Delete for good: rows, words in the index, vectors. How many there were.

        A tombstone without content stays, so that no later `learn` brings it back. The session it was made from is
        another matter: its log keeps what was said until it is deleted. With a correction goes what it corrected, or
        that would hold again.
        """
        wanted = list(dict.fromkeys(memories))
        known = self._kept.memories(self.reader, wanted)
        wanted += [old.id for one in known for old in self._corrected_by(one) if old.id not in wanted]
        return self._kept.forget_memories(self.reader, wanted, tombstones=True)

    def tombstones(self) -> list[Tombstone]:
        """What was forgotten or has expired, newest last; its content is gone."""
        return self._kept.tombstones(self.reader)

    def lift(self, tombstones: Iterable[str]) -> int:
        """Let sessions be learned from again as if this had never been forgotten; ids, as `Learned.forgotten` names
        them. How many there were."""
        wanted = list(tombstones)
        return self._kept.lift_tombstones(self.reader, wanted) if wanted else 0

    # -- inside

    def _corrected_by(self, memory: Memory) -> list[Memory]:
        """What a correction took the place of, oldest first: all that was told of its subject before."""
        if not memory.source.startswith(CORRECTION) or not memory.key or memory.pool:
            return []
        told = self.find(Filter(keys=(memory.key,)), MOST_KNOWN)
        return [m for m in reversed(told) if m.id != memory.id and m.superseded_by and m.at <= memory.at]

    def _search(self) -> Retriever:
        return Retriever(self._kept) if self.retriever is None else replace(self.retriever, store=self._kept)

    def _own(self, memory: str) -> Memory:
        known = self.get(memory)
        if known.owner != self.reader.owner:
            raise RecallError(f"memory {memory} is of {known.owner!r}; only its owner may do that")
        return known

    def _clean(self, memory: Memory) -> Memory:
        if not self.redact_secrets:
            return memory
        return replace(memory, text=redact(memory.text), key=redact(memory.key), source=redact(memory.source))

    def _worth(self, distilled: Sequence[Memory]) -> tuple[list[Memory], list[str], list[Memory]]:
        """(to tell, ids of what is known, to leave): what was corrected, or superseded since, is not told again."""
        known: dict[tuple[str, str], list[Memory]] = {}
        keys = tuple(dict.fromkeys(m.key for m in distilled if m.key))
        for memory in [
            *(self.find(Filter(keys=keys), MOST_KNOWN) if keys else ()),
            # A wish that was corrected got a key by that.
            *self.find(Filter(kinds=WISHES), MOST_KNOWN),
        ]:
            known.setdefault((memory.kind, memory.text), []).append(memory)
        corrected = {m.key for same in known.values() for m in same if m.source.startswith(CORRECTION)}
        fresh: list[Memory] = []
        there: list[str] = []
        skipped: list[Memory] = []
        for memory in distilled:
            same = [m for m in known.get((memory.kind, memory.text), ()) if m.key == memory.key or not memory.key]
            before = next((m for m in same if (m.session, m.item) == (memory.session, memory.item)), None)
            if any(m.superseded_by and (m.key in corrected or m is before) for m in same):
                skipped.append(memory)
            elif before is not None:
                there.append(before.id)
            else:
                fresh.append(memory)
        return fresh, there, skipped

    def _not_forgotten(self, memories: Sequence[Memory]) -> tuple[list[Memory], tuple[Forgotten, ...]]:
        kept: list[Memory] = []
        forgotten: list[Forgotten] = []
        for memory, tombstone in zip(memories, self._kept.buried(self.reader, memories), strict=True):
            if tombstone is None or (memory.at and _later(memory.at, tombstone.at)):
                kept.append(memory)
            else:
                forgotten.append(Forgotten(memory=memory, tombstone=tombstone.id, at=tombstone.at))
        return kept, tuple(forgotten)

    def _mark(self, ids: Sequence[str], before: Sequence[Memory]) -> tuple[tuple[str, str], ...]:
        """Mark new wishes that contradict older ones."""
        new = [m for m in self._kept.memories(self.reader, list(dict.fromkeys(ids))) if m.kind in WISHES]
        pairs = [
            (one.id, other.id)
            for one in new
            for other in before
            if one.id != other.id and contradict(one.text, other.text)
        ]
        for one, other in pairs:
            self.contradict(one, other)
        return tuple(pairs)


def _later(one: str, other: str) -> bool:
    """What is no time is not later; the store refuses it."""
    try:
        return _utc(one) > _utc(other)
    except ValueError:
        return False


def _utc(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _says_something(memory: Memory) -> bool:
    """A fact whose value was a secret says nothing any more."""
    return not (memory.kind == "fact" and "[redacted:" in memory.text)
