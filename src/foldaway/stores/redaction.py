"""Secrets kept out of a store: found by their shape, replaced by a marker that says what stood there.

Shapes are those the issuers document; a password is found by what it is called. This is a net with holes: a secret
of unknown shape in running text passes. Markers are numbered within one text and carry nothing of the secret, as
even a hash of a weak password gives it away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from foldaway.protocols import (
    Filter,
    Hit,
    Memory,
    Note,
    PoolCopy,
    Reader,
    SessionCopy,
    SessionKey,
    Store,
    StoreStats,
    Tombstone,
)

# Text may be JSON inside JSON: a word can start right behind an escaped line break, whose letter is no part of it.
_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))"
_END = r"(?![A-Za-z0-9_])"
_QUOTE = r"""\\*["']"""
_ESCAPE = r"(?:\\+(?:[nrt/]|u000[adAD]))"
_MARKER = re.compile(r"\[redacted:([a-z-]+):([0-9]{1,9})\]")
_NOT_MARKED = r"(?!\[(?:redacted|encrypted):)"
TOKEN = re.compile(r"\[encrypted:([a-z-]+):([0-9]{1,9}):([0-9a-f]{8}):((?:[0-9a-f]{32}){2,})\]")
"""What stands for a secret in `foldaway.stores.encryption`: in hex, so that no shape finds another secret in it."""

_PASSWORD_NAMES = r"pass(?:word|wd|phrase)|pwd|secret|client[_-]?secret"
_KEY_NAMES = (
    r"token|api[_-]?key|(?:secret[_-]?)?access[_-]?key(?:[_-]?id)?|secret[_-]?key|private[_-]?key|account[_-]?key"
    r"|auth[_-]?key|encryption[_-]?key|credentials?"
)
_PLACEHOLDER = re.compile(
    r"[<${%].*|[*x.]+|null|none|nil|true|false|undefined|str|string|text|bytes|int|number|object|password|required"
    r"|optional|os\.environ.*|process\.env.*|self\..*",
    re.IGNORECASE,
)


def _assignment(names: str) -> str:
    """`name = value` in its many spellings. A value ends before anything that could close the JSON around it."""
    # In JSON, in JSON inside a JSON string (where a quote is \\" and an escaped one \\\\\\"), deeper, and bare.
    # A quote right behind the sign may close the JSON string that the name stands in: then no value follows.
    value = rf"{_NOT_MARKED}(?![ \t]*[:,}}\]])"
    double = rf"""\"(?P<double>{value}(?:\\.|[^"\\\r\n]){{3,}})"""
    nested = rf"""\\"(?P<nested>{value}(?:\\\\(?:\\\\|\\"|[^\\"])|\\[^\\"]|[^"\\\r\n]){{3,}})"""
    plain = rf"""(?:'|\\+["'])(?P<plain>{value}[^"'\\\r\n]{{3,}})"""
    bare = rf"""(?P<bare>{_NOT_MARKED}[^\s"'`\\,;&|<>(){{}}\[\]=:]{{6,}}=*)(?![A-Za-z0-9_(\[])"""
    return rf"(?i:{names})(?:{_QUOTE})?[ \t]*(?::=|=>|=|:)[ \t]*(?:{double}|{nested}|{plain}|{bare})"


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: str
    hints: tuple[str, ...]
    """One of these is in every text that holds such a secret, in lower case: most texts need no closer look."""
    pattern: re.Pattern[str]
    """What to replace: its one named group, else all of it."""
    accepts: Callable[[str], bool] = lambda secret: True
    whole: bool = False
    """Replace all of it, whatever its groups."""


def _has_digit(secret: str) -> bool:
    return any(sign.isdigit() for sign in secret)


def _is_password(value: str) -> bool:
    return not _PLACEHOLDER.fullmatch(value)


def _is_key(value: str) -> bool:
    # A name or a word is not a key; keys are long, without blanks, and hold digits.
    return len(value) >= 8 and _has_digit(value) and not re.search(r"\s", value) and _is_password(value)


def _shape(kind: str, hints: str, pattern: str, accepts: Callable[[str], bool] = lambda secret: True) -> _Shape:
    return _Shape(kind, tuple(hints.split()), re.compile(pattern), accepts)


_SHAPES = (
    # The body stops at dashes, so an unfinished key costs no search through the rest of the text.
    _shape(
        "private-key",
        "private",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:[A-Za-z0-9+/=:,. \t\r\n]|-(?!----)|{_ESCAPE})*"
        r"(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    _shape("jwt", "eyj", rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{8,}}(?:\.[A-Za-z0-9_-]*)*"),
    _shape("aws-key", "akia asia abia acca", rf"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    _shape(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{20,}}|github_pat_[A-Za-z0-9_]{{20,}})",
    ),
    _shape("gitlab-token", "glpat- gldt- glrt-", rf"{_START}gl(?:pat|dt|rt)-[A-Za-z0-9_-]{{20,}}"),
    _shape("slack-token", "xox xapp-", rf"{_START}(?:xox[a-z]|xapp)-[A-Za-z0-9-]{{10,}}"),
    _shape("stripe-key", "k_live_ k_test_ whsec_", rf"{_START}(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{{16,}}"),
    _shape("api-key", "sk-", rf"{_START}sk-[A-Za-z0-9_-]{{16,}}", _has_digit),
    _shape("google-key", "aiza", rf"{_START}AIza[A-Za-z0-9_-]{{30,}}"),
    _shape(
        "registry-token",
        "npm_ pypi- hf_",
        rf"{_START}(?:npm_[A-Za-z0-9]{{30,}}|pypi-[A-Za-z0-9_-]{{40,}}|hf_[A-Za-z0-9]{{30,}})",
    ),
    _shape(
        "authorization",
        "bearer",
        rf"{_START}(?i:bearer)[ \t]+(?P<secret>{_NOT_MARKED}[A-Za-z0-9._~+/-]{{12,}}=*)",
        lambda secret: _has_digit(secret) or secret.endswith("=") or len(secret) > 24,
    ),
    _shape(
        "authorization",
        "authorization",
        rf"(?i:authorization(?:{_QUOTE})?\s*[:=]\s*(?:{_QUOTE})?(?:basic|token|digest|bearer))[ \t]+"
        rf"(?P<secret>{_NOT_MARKED}[A-Za-z0-9._~+/-]{{4,}}=*)",
    ),
    _shape(
        "url-password",
        ":/ :\\",
        r"(?i:[a-z][a-z0-9+.-]{1,20}):(?:\\*/){2}[^\s/:@\"'\\<>]{0,128}:"
        rf"(?P<secret>{_NOT_MARKED}[^\s/@\"'\\<>$]{{1,256}})@",
    ),
    _shape("password", "pass pwd secret", _assignment(_PASSWORD_NAMES), _is_password),
    _shape("key", "key token credential", _assignment(_KEY_NAMES), _is_key),
    # As people say it: "my password is ...". A value without a digit is a word: "the password is required".
    _shape(
        "password",
        "pass pwd 密码",
        r"(?:(?i:pass(?:word|wd|phrase|code)|pwd)[ \t]+(?i:is|was)[ \t]+(?:(?i:now)[ \t]+)?|密码(?:是|为)[ \t]*)"
        rf"['`]?(?P<secret>{_NOT_MARKED}[^\s\"'`\\,;&|<>(){{}}\[\]=:。，]{{3,255}}[^\s\"'`\\,;&|<>(){{}}\[\]=:。，.!?])",
        _has_digit,
    ),
)


def redact(text: str) -> str:
    """The text with every secret that is found replaced by `[redacted:KIND:N]`.

    N counts within this text; the same secret gets the same marker. JSON stays JSON, also inside JSON strings.
    Idempotent. Linear in the length of the text.
    """
    return found_secrets(text)[0]


def found_secrets(text: str, *, quoted: str = "") -> tuple[str, dict[str, str]]:
    """(what `redact` gives, what each new marker stands for, in the order found).

    A secret may hold markers of those before it. `quoted`: the kind by which what is a token already is replaced too.
    """
    marks = _Marks(text)
    shapes = _SHAPES if not quoted else (_Shape(quoted, ("[encrypted:",), TOKEN, whole=True), *_SHAPES)
    while (after := _once(text, shapes, marks)) != text:
        text = after
    return text, {marker: secret for (_, secret), marker in marks.made.items()}


def markers(text: str) -> dict[str, int]:
    """The highest number of each kind of marker."""
    numbers: dict[str, int] = {}
    for kind, number in _MARKER.findall(text):
        numbers[kind] = max(numbers.get(kind, 0), int(number))
    return numbers


def with_markers(text: str, instead: Mapping[str, str]) -> str:
    """The text with these markers replaced. Linear in its length."""
    return _MARKER.sub(lambda match: instead.get(match[0], match[0]), text)


def readable(text: str) -> str:
    """What somebody without the key reads: a marker for each token."""
    if "[encrypted:" not in text:
        return text
    return TOKEN.sub(lambda match: f"[redacted:{match[1]}:{match[2]}]", text)


class _Marks:
    """Markers given in one text: a number is given once, also where its marker was swallowed by a longer secret."""

    def __init__(self, text: str) -> None:
        self._numbers = markers(text)
        self.made: dict[tuple[str, str], str] = {}

    def __call__(self, kind: str, secret: str) -> str:
        if (kind, secret) not in self.made:
            self._numbers[kind] = self._numbers.get(kind, 0) + 1
            self.made[kind, secret] = f"[redacted:{kind}:{self._numbers[kind]}]"
        return self.made[kind, secret]


def _once(text: str, shapes: Sequence[_Shape], marker: _Marks) -> str:
    lower = text.lower()
    for shape in shapes:
        if any(hint in lower for hint in shape.hints):
            text = "".join(_replaced(text, shape, marker))
    return text


def _replaced(text: str, shape: _Shape, marker: Callable[[str, str], str]) -> Iterator[str]:
    end = 0
    for match in shape.pattern.finditer(text):
        group = 0 if shape.whole else match.lastgroup or 0
        if shape.accepts(match[group]):
            yield text[end : match.start(group)]
            yield marker(shape.kind, match[group])
            end = match.end(group)
    yield text[end:]


class RedactingStore:
    """A store that never sees a secret: what is written to `inner` is redacted first.

    What is read back is what was stored: to find a message again, compare `redact` of its JSON. Secrets that were
    encrypted come back as markers here: see `foldaway.stores.encryption`.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    @property
    def recovered(self) -> list[str]:
        found: list[str] = getattr(self.inner, "recovered", [])
        return found

    def open(self, key: SessionKey) -> str:
        return self.inner.open(key)

    def sessions(self, user: str) -> list[str]:
        return self.inner.sessions(user)

    def head(self, session: str) -> int:
        return self.inner.head(session)

    def append(self, session: str, branch: int, position: int, records: Sequence[str]) -> bool:
        return self.inner.append(session, branch, position, [redact(record) for record in records])

    def read(self, session: str, branch: int, start: int = 0) -> list[str]:
        return list(map(readable, self.inner.read(session, branch, start)))

    def fork(self, session: str, branch: int, at: int) -> int:
        return self.inner.fork(session, branch, at)

    def write_ledger(self, session: str, branch: int, entries: Sequence[str]) -> None:
        self.inner.write_ledger(session, branch, [redact(entry) for entry in entries])

    def read_ledger(self, session: str, branch: int, start: int = 0) -> list[str]:
        return list(map(readable, self.inner.read_ledger(session, branch, start)))

    def index(self, session: str, texts: Iterable[tuple[str, str]]) -> None:
        self.inner.index(session, [(ref, redact(text)) for ref, text in texts])

    def put_note(self, session: str, *, key: str, text: str, at: str | None) -> Note:
        return self.inner.put_note(session, key=redact(key), text=redact(text), at=at)

    def notes(self, session: str) -> list[Note]:
        return [replace(note, text=readable(note.text)) for note in self.inner.notes(session)]

    def note(self, session: str, *, key: str | None = None, handle: str | None = None) -> Note | None:
        found = self.inner.note(session, key=None if key is None else redact(key), handle=handle)
        return None if found is None else replace(found, text=readable(found.text))

    def search(self, session: str, query: str, limit: int = 10) -> list[Hit]:
        return [replace(hit, text=readable(hit.text)) for hit in self.inner.search(session, query, limit)]

    def put_marks(self, session: str, marks: Mapping[str, str]) -> None:
        self.inner.put_marks(session, {key: redact(text) for key, text in marks.items()})

    def marks(self, user: str, keys: Sequence[str]) -> dict[str, str]:
        return self.inner.marks(user, keys)

    # Memories

    def put_memories(self, reader: Reader, memories: Sequence[Memory]) -> list[str]:
        return self.inner.put_memories(reader, [_redacted(memory) for memory in memories])

    def memories(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        return self.inner.memories(reader, ids)

    def find_memories(self, reader: Reader, among: Filter, limit: int = 1000) -> list[Memory]:
        return self.inner.find_memories(reader, _redacted_filter(among), limit)

    def by_words(self, reader: Reader, among: Filter, query: str, limit: int) -> list[tuple[str, float]]:
        return self.inner.by_words(reader, _redacted_filter(among), redact(query), limit)

    def by_vector(
        self, reader: Reader, among: Filter, model: str, vector: Sequence[float], limit: int
    ) -> list[tuple[str, float]]:
        return self.inner.by_vector(reader, _redacted_filter(among), model, vector, limit)

    def without_vector(self, model: str, limit: int) -> list[tuple[str, str]]:
        return self.inner.without_vector(model, limit)

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, Sequence[float]]]) -> None:
        self.inner.put_vectors(model, vectors)

    def mark_contradiction(self, reader: Reader, one: str, other: str) -> None:
        self.inner.mark_contradiction(reader, one, other)

    def forget_memories(self, reader: Reader, ids: Sequence[str], *, tombstones: bool = False) -> int:
        return self.inner.forget_memories(reader, ids, tombstones=tombstones)

    def buried(self, reader: Reader, memories: Sequence[Memory]) -> list[Tombstone | None]:
        return self.inner.buried(reader, [_redacted(memory) for memory in memories])

    def tombstones(self, reader: Reader) -> list[Tombstone]:
        return self.inner.tombstones(reader)

    def put_tombstones(self, reader: Reader, tombstones: Sequence[Tombstone]) -> None:
        self.inner.put_tombstones(reader, tombstones)

    def lift_tombstones(self, reader: Reader, ids: Sequence[str]) -> int:
        return self.inner.lift_tombstones(reader, ids)

    def make_pool(self, reader: Reader, name: str) -> None:
        self.inner.make_pool(reader, name)

    def pools(self, reader: Reader) -> list[str]:
        return self.inner.pools(reader)

    def pool_members(self, reader: Reader, pool: str) -> dict[str, str]:
        return self.inner.pool_members(reader, pool)

    def grant_pool(self, reader: Reader, pool: str, roles: Mapping[str, str]) -> None:
        self.inner.grant_pool(reader, pool, roles)

    def drop_pool(self, reader: Reader, pool: str) -> int:
        return self.inner.drop_pool(reader, pool)

    def export_pools(self, reader: Reader, names: Sequence[str] = ()) -> list[PoolCopy]:
        return self.inner.export_pools(reader, names)

    def import_pools(self, copies: Sequence[PoolCopy]) -> None:
        self.inner.import_pools(copies)

    def expire_memories(self, now: str) -> int:
        return self.inner.expire_memories(now)

    def export_memories(self, reader: Reader, after: str = "", limit: int = 1000) -> list[Memory]:
        return [_redacted(memory) for memory in self.inner.export_memories(reader, after, limit)]

    def import_memories(self, reader: Reader, memories: Sequence[Memory]) -> list[str]:
        return self.inner.import_memories(reader, [_redacted(memory) for memory in memories])

    # Copies

    def users(self) -> list[str]:
        return self.inner.users()

    def export_session(self, session: str) -> SessionCopy:
        return _redacted_copy(self.inner.export_session(session))

    def import_session(self, session: str, copy: SessionCopy) -> None:
        self.inner.import_session(session, _redacted_copy(copy))

    def stats(self) -> StoreStats:
        return self.inner.stats()

    def delete(self, session: str) -> None:
        self.inner.delete(session)

    def close(self) -> None:
        self.inner.close()


def _redacted(memory: Memory) -> Memory:
    source, task = redact(memory.source), redact(memory.task)
    return replace(memory, text=redact(memory.text), key=redact(memory.key), source=source, task=task)


def _redacted_filter(among: Filter) -> Filter:
    """The filter as what it looks for was stored."""
    keys, tasks, sources = (tuple(map(redact, names)) for names in (among.keys, among.tasks, among.sources))
    return replace(among, keys=keys, tasks=tasks, sources=sources)


def _redacted_copy(copy: SessionCopy) -> SessionCopy:
    def cleaned(text: str) -> str:
        return redact(readable(text))

    return replace(
        copy,
        branches=tuple(
            replace(branch, records=tuple(map(cleaned, branch.records)), ledger=tuple(map(cleaned, branch.ledger)))
            for branch in copy.branches
        ),
        notes=tuple(replace(note, key=redact(note.key), text=cleaned(note.text)) for note in copy.notes),
        texts=tuple((ref, redact(text)) for ref, text in copy.texts),
    )
