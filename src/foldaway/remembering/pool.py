"""A pool: what several agents share of one store, item by item, each with a rule for who may read it.

A pool belongs to who makes it; nobody sees or writes anything there who was not granted it, whatever names they know.
Three places of the store hold it: the pool's own scope, an inbox for each agent that was handed something, and what
each agent holds, for its eyes only. The store enforces the rules on every verb; here the scopes are chosen, and which
of several agents' words on one subject is the newest. A raw share is a reference: the bytes stay in the sharer's
session, where they are kept once, and are read from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from foldaway.errors import RecallError, SettingsError
from foldaway.protocols import Filter, Memory, Passage, Reader, Store
from foldaway.remembering import originals
from foldaway.remembering._places import HELD, Places, check_name
from foldaway.remembering._sharing import DIGEST, RAW, as_shared
from foldaway.retrieval.found import Found
from foldaway.retrieval.retriever import Retriever
from foldaway.session import Session
from foldaway.stores.redaction import RedactingStore, redact

MOST_HELD = 10_000
NOBODY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Something that a reader holds is not what holds now."""

    key: str
    held: str
    """Id of what the reader took or shared."""
    now: Memory | None
    """What holds instead; None where it was withdrawn, has expired, or is not the reader's to see any more."""


@dataclass(slots=True)
class Pool:
    """A pool as one reader sees it. Safe to use from several threads as far as its store is.

    For who is no member of it, it is empty, and writing raises StoreError.
    """

    store: Store
    name: str
    reader: Reader
    """Given by the program, never by a model: it decides what is seen."""
    retriever: Retriever | None = None
    redact_secrets: bool = True
    """Secrets found by their shape neither enter the pool nor leave it by `open`."""
    now: Callable[[], str] | None = None
    """UTC, ISO 8601; without it nothing ages in searches."""
    _kept: Store = field(init=False)
    _places: Places = field(init=False)

    def __post_init__(self) -> None:
        self._kept = RedactingStore(self.store) if self.redact_secrets else self.store
        self._places = Places(check_name("pool", self.name, no_at=True), check_name("reader", self.reader.owner))
        # Nobody can claim to be somebody by a group's name.
        groups = (*(g for g in self.reader.groups if not g.startswith("@")), self._places.mine)
        self.reader = replace(self.reader, groups=groups)

    # -- who is in it

    def create(self, members: Mapping[str, str] = NOBODY) -> Pool:
        """Make this pool the reader's own, with members: name -> role; itself.

        Raises StoreError where there is one of this name, SettingsError for what is no member or role, or for another
        role of the reader's own; then nothing is made.
        """
        roles = _roles(members)
        if roles.get(f"user:{self.reader.owner}", "owner") != "owner":
            raise SettingsError(
                f"{self.reader.owner!r} makes pool {self.name!r} and so owns it; leave it out of members"
            )
        self.store.make_pool(self.reader, self.name)
        if roles:
            self.store.grant_pool(self.reader, self.name, roles)
        return self

    def grant(self, member: str, role: str = "reader") -> None:
        """`member`: an agent's name, "group:NAME", or "public" (everybody in this store). `role`: "reader", "writer"
        (shares, hands over, corrects as well) or "owner" (decides who is in). Raises StoreError for who is no owner."""
        self.store.grant_pool(self.reader, self.name, _roles({member: role}))

    def revoke(self, member: str) -> None:
        """From now on the member sees nothing here but words of its own. Raises what `grant` does, and StoreError where
        no owner would be left."""
        self.store.grant_pool(self.reader, self.name, {_member(member): ""})

    def members(self) -> dict[str, str]:
        """ "user:NAME", "group:NAME" or "public" -> role; {} for who is no member."""
        return self.store.pool_members(self.reader, self.name)

    def drop(self) -> int:
        """Delete the pool with all that anybody has in it, for good; how much that was. Raises StoreError."""
        return self.store.drop_pool(self.reader, self.name)

    # -- giving

    def share(
        self, session: Session, item: int | str, access: str, *, as_: str = DIGEST, key: str = "", task: str = ""
    ) -> Memory:
        """Put an item of one's own session into the pool: its digest, or a reference to it as it is (`as_="raw"`).

        `access`: "owner", "public" (whoever reads this pool) or "group:NAME". `key`: its subject, for corrections; ""
        is this very item. Shared again the same way it is the same memory. Raises SettingsError for another's session,
        or for a raw share of a session that is not in this store; RecallError for an unknown item.
        """
        return self._put(as_shared(session, item, as_, self.reader, self.store, key), self._places.shared, access, task)

    def tell(self, text: str, access: str, *, key: str, kind: str = "fact", source: str = "", task: str = "") -> Memory:
        """Put a text of one's own into the pool."""
        return self._put(Memory(text=text, key=key, kind=kind, source=source), self._places.shared, access, task)

    def hand_over(
        self, session: Session, item: int | str, *, to: str, as_: str = DIGEST, key: str = "", task: str = ""
    ) -> Memory:
        """Hand one agent an item of one's own session, or its digest, and nothing else. Raises what `share` does, and
        SettingsError for an agent that is no member here."""
        self._check_member(to)
        made = as_shared(session, item, as_, self.reader, self.store, key)
        return self._put(made, self._places.inbox(to), self._places.only(to), task)

    def correct(self, memory: str, text: str, *, source: str = "") -> Memory:
        """Say what holds instead of something one sees; whoever holds it hears of it.

        One's own is superseded wherever one gave it. Another's stays and is marked: readers get the newest word on a
        subject, and see that it is contradicted. Raises RecallError for what this reader does not see.
        """
        old = self._one(memory)
        new = Memory(text=text, key=old.key, kind=old.kind if old.kind != RAW else DIGEST, source=source, task=old.task)
        if old.owner != self.reader.owner:
            return self._answer(old, new)
        made = self._put_all(new, [(same.pool, same.access) for same in self._mine_about(old.key)], old.task)
        return next((one for one in made if one.pool == old.pool), made[0])

    def withdraw(self, memories: Iterable[str]) -> int:
        """Delete one's own for good, from indexes too. How many there were."""
        return self._kept.forget_memories(self.reader, list(memories))

    # -- reading

    def get(self, memory: str) -> Memory:
        """This very memory, with `superseded_by` naming the newest word on its subject. Raises RecallError."""
        one = self._one(memory)
        newest = self._newest([one.key]).get(one.key, one)
        return one if newest.id == one.id else replace(one, superseded_by=newest.id)

    def current(self, key: str) -> Memory | None:
        """The newest word on a subject, whoever said it; None where there is none to see."""
        key = self._key(key)
        return self._newest([key]).get(key)

    def versions(self, key: str) -> list[Memory]:
        """All that was said about a subject, by whom and when, newest first."""
        return self._kept.find_memories(self.reader, Filter(pools=self._places.readable, keys=(key,)), MOST_HELD)

    def browse(self, limit: int = 100) -> list[Memory]:
        """What this reader may see, newest first, of each subject the newest word alone."""
        among = Filter(pools=self._places.readable, current_only=True)
        return self._settled(self._kept.find_memories(self.reader, among, limit))

    def inbox(self, since: str = "") -> list[Memory]:
        """What was handed to this reader, newest first, as it holds now. `since`: handed from then on."""
        among = Filter(pools=(self._places.inbox(self.reader.owner),), since=since, current_only=True)
        given = self._kept.find_memories(self.reader, among, MOST_HELD)
        return self._settled(m for m in given if m.owner != self.reader.owner)

    def search(self, query: str, limit: int = 8) -> list[Found]:
        """What fits and this reader may see, best first; of each subject the newest word alone."""
        search = Retriever(self._kept) if self.retriever is None else replace(self.retriever, store=self._kept)
        among = Filter(pools=self._places.readable, current_only=True)
        now = self.now() if self.now is not None else ""
        found = search.retrieve(self.reader, query, among, limit, now=now)
        newest = self._newest([f.memory.key for f in found])
        settled = {one.id: (f, one) for f in found for one in [newest.get(f.memory.key, f.memory)]}
        return [f if f.memory.id == one.id else replace(f, memory=one) for f, one in settled.values()]

    def recollect(self, query: str, limit: int) -> Sequence[Passage]:
        """For `Session(retriever=pool)` or `Session(knowledge=pool)`: what fits, framed by the session as data."""
        return [
            Passage(text=f.memory.text, source=f"{f.cited().strip('[]')}, by {f.memory.owner}", ref=f.memory.id)
            for f in self.search(query, limit)
        ]

    def take(self, memory: str) -> Memory:
        """The newest word on what this is about; from now on the reader holds it and hears of corrections."""
        one = self._one(memory)
        newest = self._newest([one.key]).get(one.key, one)
        self._hold([newest])
        return newest

    def open(self, memory: str) -> str:
        """The item behind a raw share, byte for byte, out of the sharer's session (with secrets taken out, unless
        `redact_secrets` is off). Raises RecallError for a digest: whoever shared it decides whether more is seen."""
        one = self._one(memory)
        if one.kind != RAW:
            raise RecallError(f"memory {one.id} is a {one.kind}; ask {one.owner!r} to hand the item over as raw")
        text = originals.original(self.store, one)
        return redact(text) if self.redact_secrets else text

    def corrections(self, since: str = "") -> list[Correction]:
        """What changed about what this reader holds (took or shared), by subject. `since`: told from then on; what is
        gone is named until the reader lets go of it or takes what came after."""
        held = {receipt.source: receipt.text for receipt in reversed(self._receipts())}
        there = {m.id: m for m in self._kept.memories(self.reader, list(held.values())) if not m.superseded_by}
        newest = self._newest(held)
        return [
            Correction(key=key, held=one, now=newest.get(key))
            for key, one in sorted(held.items())
            if _is_news(one, there.get(one), newest.get(key), since)
        ]

    def let_go(self, key: str) -> None:
        """Hold a subject no more: no corrections about it."""
        self._kept.forget_memories(self.reader, [m.id for m in self._receipts(self._key(key), current_only=False)])

    # -- inside

    def _check_member(self, who: str) -> None:
        known = self.members()
        # Who is in a group, the store does not know.
        if known and f"user:{who}" not in known and not any(not member.startswith("user:") for member in known):
            raise SettingsError(f"{who!r} is no member of pool {self.name!r}; an owner grants it: grant({who!r})")

    def _key(self, key: str) -> str:
        """A key as it was stored."""
        return redact(key) if self.redact_secrets else key

    def _put(self, memory: Memory, place: str, access: str, task: str) -> Memory:
        return self._put_all(memory, [(place, access)], task)[0]

    def _put_all(self, memory: Memory, places: Sequence[tuple[str, str]], task: str) -> list[Memory]:
        """Tell it in all of these (place, access) at once: nobody reads the old word where others read the new one."""
        if not memory.key:
            raise SettingsError("what is shared needs a key: its subject, for corrections")
        told = [replace(memory, pool=place, access=access, task=task) for place, access in places]
        ids = self._kept.put_memories(self.reader, told)
        made = self._kept.memories(self.reader, ids)
        self._hold(made)
        others = self.versions(made[0].key)
        for one in made:
            for other in others:
                if other.owner != self.reader.owner and not other.superseded_by and other.text != one.text:
                    self._kept.mark_contradiction(self.reader, one.id, other.id)
        return made

    def _answer(self, old: Memory, new: Memory) -> Memory:
        """A correction of what another said: to the same readers, and to who said it."""
        if old.pool == self._places.shared:
            return self._put(new, old.pool, old.access, old.task)
        theirs = self._places.inbox(old.owner), self._places.only(old.owner)
        return self._put_all(new, [theirs, (self._places.inbox(self.reader.owner), "owner")], old.task)[1]

    def _hold(self, memories: Iterable[Memory]) -> None:
        """Note that the reader knows these; of what it gave to others, one note for each of them."""
        receipts: list[Memory] = []
        for memory in memories:
            to = "" if memory.pool in self._places.readable else f" · {memory.pool}"
            key = f"held · {memory.key}{to}"
            receipts.append(Memory(text=memory.id, kind=HELD, key=key, source=memory.key, pool=self._places.private))
        self.store.put_memories(self.reader, receipts)

    def _receipts(self, key: str = "", *, current_only: bool = True) -> list[Memory]:
        """Newest first; `source` is the subject, `text` the id of what is held."""
        among = Filter(
            pools=(self._places.private,), kinds=(HELD,), sources=(key,) if key else (), current_only=current_only
        )
        return self._kept.find_memories(self.reader, among, MOST_HELD)

    def _one(self, memory: str) -> Memory:
        for one in self._kept.memories(self.reader, [memory]):
            if self._places.holds(one.pool):
                return one
        raise RecallError(f"no memory {memory!r} in pool {self.name!r} for {self.reader.owner!r}")

    def _newest(self, keys: Iterable[str]) -> dict[str, Memory]:
        """Key -> the newest that this reader may see, in one look at the store."""
        wanted = tuple(dict.fromkeys(key for key in keys if key))
        if not wanted:
            return {}
        among = Filter(pools=self._places.readable, keys=wanted, current_only=True)
        newest: dict[str, Memory] = {}
        for memory in self._kept.find_memories(self.reader, among, MOST_HELD):
            newest.setdefault(memory.key, memory)
        return newest

    def _settled(self, memories: Iterable[Memory]) -> list[Memory]:
        """Each subject once, by its newest word, in the order given."""
        given = list(memories)
        newest = self._newest([memory.key for memory in given])
        return list({one.id: one for m in given for one in [newest.get(m.key, m)]}.values())

    def _mine_about(self, key: str) -> list[Memory]:
        """One's own current memories of a subject, wherever they were given: receipts of all of them are kept."""
        ids = dict.fromkeys(receipt.text for receipt in self._receipts(key, current_only=False))
        known = self._kept.memories(self.reader, list(ids))
        mine = [m for m in known if m.owner == self.reader.owner and not m.superseded_by]
        return sorted(mine, key=lambda m: (m.pool, m.access))


def _member(name: str) -> str:
    if name == "public" or name.startswith("group:"):
        return name
    return f"user:{check_name('agent', name.removeprefix('user:'))}"


def _roles(members: Mapping[str, str]) -> dict[str, str]:
    for member, role in members.items():
        if role not in ("reader", "writer", "owner"):
            raise SettingsError(f"role {role!r} of {member!r}: expected reader, writer or owner")
    return {_member(member): role for member, role in members.items()}


def _is_news(held: str, there: Memory | None, now: Memory | None, since: str) -> bool:
    """`there`: what is held, where it is there and no newer word of its owner's is."""
    if now is None:
        return there is None
    if there is not None and (there.owner, there.text) == (now.owner, now.text):
        # One word given in two places at once: the receipt may be for either.
        return False
    return now.id != held and now.at >= since and (there is None or now.at >= there.at)
