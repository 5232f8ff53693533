"""Every socket of the house and nothing else: the page to read before writing a part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from foldaway.model.wire import Edit, Message, Parsed, Quirks, Turn


class Wire(Protocol):
    """One provider format: message list <-> turns. Pure; never changes what it is given."""

    name: str

    def parse(
        self, messages: Sequence[Message], *, origins: Sequence[str] = (), quirks: Quirks = Quirks(), start: int = 0
    ) -> Parsed:
        """Group messages into turns, mending what a provider would refuse.

        `sources` of the turns are positions counted from `start`. Parsing a history in one go gives the same turns
        as parsing it piece by piece, where each piece starts at the first source of the last open turn.
        Messages of a turn that needed no mending are the very objects given. O(size of `messages`).
        """
        ...

    def render(self, turn: Turn, edits: Mapping[int, Edit]) -> list[Message]:
        """The turn's messages with some parts shown differently; parts without an edit stay as they are.

        Always legal by itself: a call never stays without its result. With no edits: the turn's own messages.
        A turn whose every part is dropped gives []. New dicts where something changed, the turn's own elsewhere.
        """
        ...

    def user_message(self, text: str) -> Message:
        """A plain user message."""
        ...

    def exchange(self, call_id: str, name: str, arguments: Mapping[str, Any], result: str) -> list[Message]:
        """A call and its result as the messages of one turn (used for recalls)."""
        ...

    def finish(self, messages: Sequence[Message], quirks: Quirks = Quirks()) -> list[Message]:
        """Last pass over a whole view: first role legal, roles in turn where demanded, no empty message.

        Adding messages at the end never changes what stands in front, but for joining the last two messages
        where strict alternation asks for it. Returns the same objects where nothing is to do.
        """
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of plain text. Never raises on any str, linear in its length."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool:
        """True: the model's own encoding. False: an estimate."""
        ...

    @property
    def margin(self) -> float:
        """Share by which the estimate may be too low (0 when exact)."""
        ...

    def count(self, text: str) -> int: ...


class MessageCounter(Protocol):
    """Counts what a request costs: messages, system prompt, tools and pictures, in one format for one model."""

    counter: TokenCounter

    def message(self, message: Message) -> int:
        """Tokens of one message, its role marks included."""
        ...

    def system(self, system: Any) -> int: ...

    def tools(self, tools: Sequence[Mapping[str, Any]] | None) -> int: ...


MOST_NAME_BYTES = 2_000
"""Of whatever a store looks up by an index, in UTF-8 (users, sessions, keys, sources, pools ...): longer ones are
refused, by all stores alike. PostgreSQL's indexes take 2,704 bytes a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKey:
    """Whose session, and which. Both are free text from outside; neither may be empty or blank."""

    user: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something remembered on purpose, apart from the messages."""

    handle: str
    """Opaque, not guessable; only valid for its own user and session."""
    key: str
    text: str
    at: str
    """UTC, ISO 8601 with Z: when it was told, or the time that came with it."""
    superseded: bool = False
    """A note with the same key and a later `at` (ties: told later) exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One search result."""

    ref: str
    """A note's handle ("n:...") or an item id ("12")."""
    text: str
    score: float
    superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Something that outlives a session and is found again: a fact, a preference, a decision, a document, a digest."""

    text: str
    kind: str = "fact"
    """fact, preference, decision, pitfall, digest, document ...: free text, filtered by equality."""
    key: str = ""
    """Its subject. A newer one of the same owner, pool and key supersedes the older ones; "" supersedes nothing."""
    pool: str = ""
    """The shared pool it is in; "" is the owner's own. `NAME@PART` is a part of pool NAME, a scope of its own."""
    access: str = "owner"
    """Who of its pool's members may read it: "owner", "public" (all of them), or "group:NAME" (the group "@WHO" is the
    user WHO alone). Outside pools only the owner ever reads it."""
    task: str = ""
    source: str = ""
    """Where it comes from, as one names it: a tool, a file, a URL, another agent."""
    session: str = ""
    """Name of the session it was made in, and `item` the item there: the original is one hop away."""
    item: int = 0
    at: str = ""
    """UTC, ISO 8601 with Z; "" when handed in: the store's clock."""
    expires_at: str = ""
    """From then on it is found no more; "" never."""
    id: str = ""
    """Given by the store, opaque; "" when handed in."""
    owner: str = ""
    """Whose it is: given by the store from the caller of `put_memories`."""
    superseded_by: str = ""
    """The newest one of the same subject; "" while it is the newest itself. Told even to those who may not read the
    newest: they must know that what they have is outdated."""
    contradicts: tuple[str, ...] = ()
    """Ids of memories that say otherwise: marked, never mixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who asks: every verb about memories shows what this reader may see and nothing else."""

    owner: str
    groups: tuple[str, ...] = ()
    """Names that begin with "@" count for nothing: such a group is one user alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """That something was forgotten: no word of it, only what tells it again."""

    id: str
    """Opaque; the same in whatever store it is."""
    at: str
    """When it was forgotten: UTC, ISO 8601 with Z."""
    place: str = ""
    salt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCopy:
    """A pool as a value: its name, and who is in it."""

    name: str
    members: tuple[tuple[str, str], ...]
    """("user:NAME", "group:NAME" or "public", role), sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Structured fields, checked before anything is ranked. An empty field admits everything."""

    pools: tuple[str, ...] = ("",)
    """Pools to look into; "" is the reader's own memories."""
    kinds: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    since: str = ""
    """From this time on, and before `until`; UTC, ISO 8601 with Z."""
    until: str = ""
    current_only: bool = False
    """Leave superseded ones out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of text from outside the session, with where it comes from."""

    text: str
    source: str
    """Named in the view: a tool, a file, a URL, another session."""
    ref: str = ""
    """How its source knows it, for who wants the original."""


class Recollector(Protocol):
    """Long-term memory or external knowledge, asked when something happens that makes it worth asking."""

    def recollect(self, query: str, limit: int) -> Sequence[Passage]:
        """What fits a query, best first, at most `limit`. Asked in a thread of its own; may raise, may be slow."""
        ...


@runtime_checkable
class Learner(Protocol):
    """A recollector that learns from sessions too."""

    def session_ended(self, session: Any) -> None:
        """The session that asked it is being closed. May raise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCopy:
    """What a branch holds besides what it shares with its parent."""

    parent: int
    """-1: none."""
    records_at: int
    """Where it was forked off: how many records, and entries of the ledger, it shares."""
    ledger_at: int
    records: tuple[str, ...]
    ledger: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCopy:
    """A session as a value: all it takes to make it again in another store."""

    head: int
    branches: tuple[BranchCopy, ...]
    """By number, from 0."""
    notes: tuple[Note, ...]
    """In the order told."""
    texts: tuple[tuple[str, str], ...]
    """(ref, text) as indexed, ordered by ref."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """How much a store holds, and in how many bytes."""

    users: int
    sessions: int
    records: int
    notes: int
    memories: int
    vectors: int
    raw_bytes: int
    """Of all texts as they came in, those that are kept once counted once."""
    kept_bytes: int
    """Of the same as they are kept: compressed where that gains."""
    total_bytes: int
    """On disk (or in memory) with indexes and vectors."""


class Memories(Protocol):
    """The memories of a store. Every verb takes the reader first; what a reader may not see does not exist for it.

    Vectors are float32, of unit length, kept by the name of the model that made them; another model's never mix.
    """

    def put_memories(self, reader: Reader, memories: Sequence[Memory]) -> list[str]:
        """Keep these as the reader's own, all or none; their ids. The very same text, key, kind, pool and access of
        this owner again: the id it has, and nothing is stored twice (but a later `at`, with its `expires_at`, becomes
        its own). Raises StoreError for a pool that the reader may not write to."""
        ...

    def memories(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        """Those of these ids that the reader may see, in the order asked for."""
        ...

    def find_memories(self, reader: Reader, among: Filter, limit: int = 1000) -> list[Memory]:
        """Newest `at` first, ties by id."""
        ...

    def by_words(self, reader: Reader, among: Filter, query: str, limit: int) -> list[tuple[str, float]]:
        """(id, score), best first: BM25 over words and CJK pairs. Never raises on a query; [] when it has no words."""
        ...

    def by_vector(
        self, reader: Reader, among: Filter, model: str, vector: Sequence[float], limit: int
    ) -> list[tuple[str, float]]:
        """(id, cosine), best first, exact where the filter leaves few."""
        ...

    def without_vector(self, model: str, limit: int) -> list[tuple[str, str]]:
        """(id, text) of memories of any owner that have no vector of this model yet: work for an embedder."""
        ...

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Keep these; those of memories that are gone meanwhile are passed over."""
        ...

    def mark_contradiction(self, reader: Reader, one: str, other: str) -> None:
        """Both are the reader's to see and one is the reader's own: they contradict each other from now on."""
        ...

    def forget_memories(self, reader: Reader, ids: Sequence[str], *, tombstones: bool = False) -> int:
        """Delete for good, from indexes and caches too; only the reader's own. How many there were.

        `tombstones`: and keep, hashed, what it was, for `buried`.
        """
        ...

    def buried(self, reader: Reader, memories: Sequence[Memory]) -> list[Tombstone | None]:
        """For each the tombstone of the reader's that it has: the very same was forgotten, or what the same item said
        of the same subject. Nothing is refused for it: whoever learns from sessions asks first."""
        ...

    def tombstones(self, reader: Reader) -> list[Tombstone]:
        """The reader's, newest last."""
        ...

    def put_tombstones(self, reader: Reader, tombstones: Sequence[Tombstone]) -> None:
        """Take in what another store listed."""
        ...

    def lift_tombstones(self, reader: Reader, ids: Sequence[str]) -> int:
        """What was forgotten may be learned again. How many there were."""
        ...

    def expire_memories(self, now: str) -> int:
        """Delete for good what has expired by then. How many there were.

        Other verbs find nothing that has expired by the store's clock, even where nobody calls this: then what it
        superseded is current again. Traces in indexes go with this verb or the next `forget_memories`. What was made
        from a session leaves a tombstone.
        """
        ...

    def make_pool(self, reader: Reader, name: str) -> None:
        """A pool of the reader's own. Raises StoreError where one of this name is there, or for a name with "@"."""
        ...

    def pools(self, reader: Reader) -> list[str]:
        """Names of the pools that the reader is in, sorted."""
        ...

    def pool_members(self, reader: Reader, pool: str) -> dict[str, str]:
        """ "user:NAME", "group:NAME" or "public" -> "reader", "writer" or "owner"; {} for who is no member."""
        ...

    def grant_pool(self, reader: Reader, pool: str, roles: Mapping[str, str]) -> None:
        """Change who is in a pool: member -> role, "" takes it away. Raises StoreError for who does not own it."""
        ...

    def drop_pool(self, reader: Reader, pool: str) -> int:
        """Delete a pool with all that anybody has in it, for good; the memories that were in it. Owners only."""
        ...

    def export_memories(self, reader: Reader, after: str = "", limit: int = 1000) -> list[Memory]:
        """The reader's own, in pools too, in the order told, from behind the memory with the id `after`."""
        ...

    def export_pools(self, reader: Reader, names: Sequence[str] = ()) -> list[PoolCopy]:
        """Pools that name the reader as a member, and those of these names: for operators, not for users."""
        ...

    def import_pools(self, copies: Sequence[PoolCopy]) -> None:
        """Make them, or add the members that are missing; for operators. Raises StoreError where one is another's."""
        ...

    def import_memories(self, reader: Reader, memories: Sequence[Memory]) -> list[str]:
        """`put_memories` of what another store exported: they keep their ids, unless one is taken, and contradict
        what they contradicted where that is here. Vectors do not come along: they are work for an embedder."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors: near in meaning, near in angle. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """Of the model and its version: vectors are kept under it, and made anew when it changes."""
        ...

    @property
    def dims(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """One vector a text, in their order: float32, of unit length; all zeros where a text says nothing.

        Raises MissingExtra where its package is not installed, AskError where an endpoint does not answer.
        """
        ...


class Store(Memories, Protocol):
    """Where log, ledger, notes and memories live. Safe from several processes; what it acknowledged survives `kill -9`.

    Records are opaque JSON texts. A branch is a line of the log; a new branch shares the first records of another.
    """

    def open(self, key: SessionKey) -> str:
        """The session's id; made on first use. Raises StoreError naming the session when the name is not usable."""
        ...

    def sessions(self, user: str) -> list[str]: ...

    def head(self, session: str) -> int:
        """The branch in use (0 for a new session)."""
        ...

    def append(self, session: str, branch: int, position: int, records: Sequence[str]) -> bool:
        """Write records at `position`; False (and nothing written) when the branch has another length."""
        ...

    def read(self, session: str, branch: int, start: int = 0) -> list[str]: ...

    def fork(self, session: str, branch: int, at: int) -> int:
        """A new branch that shares the first `at` records of `branch`; it becomes the head."""
        ...

    def write_ledger(self, session: str, branch: int, entries: Sequence[str]) -> None: ...

    def read_ledger(self, session: str, branch: int, start: int = 0) -> list[str]:
        """Entries of this branch, with those of its ancestors made before the fork."""
        ...

    def index(self, session: str, texts: Iterable[tuple[str, str]]) -> None:
        """Make (ref, text) findable by words."""
        ...

    def put_note(self, session: str, *, key: str, text: str, at: str | None) -> Note: ...

    def notes(self, session: str) -> list[Note]:
        """All, oldest `at` first, ties in the order told."""
        ...

    def note(self, session: str, *, key: str | None = None, handle: str | None = None) -> Note | None: ...

    def search(self, session: str, query: str, limit: int = 10) -> list[Hit]:
        """Notes and indexed texts, best first; current facts before superseded ones. Never raises on a query."""
        ...

    def put_marks(self, session: str, marks: Mapping[str, str]) -> None:
        """Small texts by which a user's sessions are found again; they go with their session and are not moved.

        The same key again, of any session of this user: the new text takes the old one's place.
        """
        ...

    def marks(self, user: str, keys: Sequence[str]) -> dict[str, str]:
        """Those of these keys that this user's sessions have."""
        ...

    def delete(self, session: str) -> None: ...

    def users(self) -> list[str]:
        """Everybody who has a session or a memory here, sorted: for operators, not for users."""
        ...

    def export_session(self, session: str) -> SessionCopy: ...

    def import_session(self, session: str, copy: SessionCopy) -> None:
        """Fill a session that holds nothing yet, all or nothing; notes keep their handles.

        Raises StoreError when the session holds something.
        """
        ...

    def stats(self) -> StoreStats:
        """Reads all contents once: for operators."""
        ...

    def close(self) -> None: ...
