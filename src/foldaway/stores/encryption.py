"""Secrets encrypted in a store: found by their shape, kept as a token that only who has the key turns back.

A token names what it hides (`[encrypted:password:1:1a2b3c4d:...]`); without its key it is read as the marker that
`redact` would have left. Encryption is AES-SIV (RFC 5297): authenticated and the same for the same text, so that two
processes store one log and contents are kept once; whoever has the file learns which secrets of one user are equal, and
their length to 16 bytes. User and kind are authenticated with each token: one that somebody copies into words of their
own is not opened for them.

Only log, ledger, notes and marks hold tokens. What is searched (the words of indexed texts) or read by others
(memories) holds markers: see `RedactingStore`. Needs the extra `encrypt`.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from foldaway.errors import MissingExtra, SettingsError, StoreError
from foldaway.protocols import Hit, Note, SessionCopy, SessionKey, Store
from foldaway.stores._tables import blob, text_of
from foldaway.stores.redaction import TOKEN, RedactingStore, found_secrets, redact, with_markers

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

KEYS_IN = "FOLDAWAY_ENCRYPTION_KEYS"
"""Environment variable with the keys."""
KEY_FILE_IN = "FOLDAWAY_ENCRYPTION_KEY_FILE"
"""Environment variable with the path of a file of keys; the other one goes first."""
_KEY_BYTES = 32
_BLOCK = 16
_QUOTED = "text"
"""Kind of what only looks like a token: it comes back as it was."""


class _NotOpened(Exception):
    """No key of ours made this token, or not for this user."""


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    """Public: 8 hex digits that say nothing about the key."""
    cipher: AESSIV = field(repr=False)


class Keys:
    """The keys that secrets are encrypted with: the first one seals, all of them open. Shows none of them."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        """Raises SettingsError where there is none, or one that has not 32 bytes; MissingExtra."""
        given = list(dict.fromkeys(keys))
        if not given or any(len(key) != _KEY_BYTES for key in given):
            raise SettingsError(f"encryption needs at least one key, each of {_KEY_BYTES} bytes")
        made = [_made(key) for key in given]
        self._first = made[0]
        self._all = {key.name: key.cipher for key in made}

    def __repr__(self) -> str:
        return f"Keys({', '.join(self._all)})"

    @property
    def names(self) -> tuple[str, ...]:
        """What tokens call the keys, the one that seals first."""
        return tuple(self._all)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Keys:
        """From a file: one key a line, 64 hex digits or base64, the newest first; `#` begins a comment.

        Raises SettingsError, which names the line and never what it holds.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise SettingsError(f"key file {os.fspath(path)} cannot be read: {why}") from error
        return cls.parsed(text, f"key file {os.fspath(path)}")

    @classmethod
    def parsed(cls, text: str, where: str = "keys") -> Keys:
        """From text: one key a line (blanks part keys as well)."""
        keys: list[bytes] = []
        for number, line in enumerate(text.splitlines(), 1):
            for word in line.partition("#")[0].split():
                key = _decoded(word)
                if key is None:
                    raise SettingsError(
                        f"{where}, line {number}: no key; expected 64 hex digits, as `foldaway store key`"
                    )
                keys.append(key)
        if not keys:
            raise SettingsError(f"{where}: holds no key; make one with `foldaway store key FILE`")
        return cls(keys)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Keys:
        """From the variables `FOLDAWAY_ENCRYPTION_KEYS` or `FOLDAWAY_ENCRYPTION_KEY_FILE`. Raises SettingsError."""
        known = os.environ if environment is None else environment
        if text := known.get(KEYS_IN, "").strip():
            return cls.parsed(text, KEYS_IN)
        if path := known.get(KEY_FILE_IN, "").strip():
            return cls.read(path)
        raise SettingsError(f"encryption needs a key: set {KEY_FILE_IN} to a file that `foldaway store key FILE` made")

    def seal(self, text: str, user: str) -> str:
        """The text with each secret in it encrypted for this user. JSON stays JSON. `open` is its exact inverse."""
        redacted, found = found_secrets(text, quoted=_QUOTED)
        tokens: dict[str, str] = {}
        for marker, secret in found.items():
            # A secret may hold markers of others that were found before it.
            kind = marker.split(":")[1]
            whole = secret if kind == _QUOTED else with_markers(secret, tokens)
            tokens[marker] = f"[encrypted:{marker[len('[redacted:') : -1]}:{self._sealed(whole, user, kind)}]"
        return with_markers(redacted, tokens)

    def open(self, text: str, user: str) -> str:
        """The text as it was before `seal`. What cannot be opened is left as a marker that says what stood there."""
        if "[encrypted:" not in text:
            return text

        def plain(match: re.Match[str]) -> str:
            kind, number, name, data = match.groups()
            try:
                opened = self._opened(name, data, user, kind)
            except _NotOpened:
                return f"[redacted:{kind}:{number}]"
            return opened if kind == _QUOTED else self.open(opened, user)

        return TOKEN.sub(plain, text)

    def _sealed(self, secret: str, user: str, kind: str) -> str:
        data = blob(secret) + b"\x80"
        data += b"\0" * (-len(data) % _BLOCK)
        return f"{self._first.name}:{self._first.cipher.encrypt(data, _bound(user, kind)).hex()}"

    def _opened(self, name: str, data: str, user: str, kind: str) -> str:
        from cryptography.exceptions import InvalidTag

        cipher = self._all.get(name)
        if cipher is None:
            raise _NotOpened
        try:
            padded = cipher.decrypt(bytes.fromhex(data), _bound(user, kind))
        except (InvalidTag, ValueError) as error:
            raise _NotOpened from error
        return text_of(padded.rstrip(b"\0")[:-1])


def new_key() -> str:
    """A fresh key as it stands in a file of keys."""
    return secrets.token_bytes(_KEY_BYTES).hex()


def _made(key: bytes) -> _Key:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    except ImportError as error:
        raise MissingExtra("encrypted secrets need the extra: pip install 'foldaway[encrypt]'") from error
    try:
        cipher = AESSIV(blake2b(key=key, person=b"foldaway seal", digest_size=64).digest())
    except UnsupportedAlgorithm as error:
        raise MissingExtra("encrypted secrets need AES-SIV: install `cryptography` with OpenSSL 3 or newer") from error
    return _Key(blake2b(key=key, person=b"foldaway name", digest_size=4).hexdigest(), cipher)


def _bound(user: str, kind: str) -> list[bytes]:
    return [b"foldaway 1", blob(user), kind.encode()]


def _plain(word: str) -> str:
    return word.replace("-", "+").replace("_", "/")


def _decoded(word: str) -> bytes | None:
    try:
        key = bytes.fromhex(word) if len(word) == 2 * _KEY_BYTES else base64.b64decode(_plain(word), validate=True)
    except (ValueError, binascii.Error):
        return None
    return key if len(key) == _KEY_BYTES else None


class EncryptingStore(RedactingStore):
    """A store that never sees a secret in clear: log, ledger, notes and marks hold it encrypted and give it back.

    Sessions must be opened by their name here before they are used, as secrets are bound to their user.
    """

    def __init__(self, inner: Store, keys: Keys) -> None:
        super().__init__(inner)
        self._keys = keys
        self._opened_as: dict[str, SessionKey] = {}
        self._used: dict[str, frozenset[str]] = {}

    def open(self, key: SessionKey) -> str:
        """Raises StoreError where secrets of this session were encrypted with a key that is not among ours."""
        handle = self.inner.open(key)
        used = keys_used(self.inner, key)
        if unknown := used.difference(self._keys.names):
            raise StoreError(
                f"session {key.name!r} of user {key.user!r} holds secrets encrypted with key {min(unknown)}; "
                f"given: {', '.join(self._keys.names)}; add that key to the keys, behind the newest"
            )
        self._opened_as[handle], self._used[handle] = key, used
        return handle

    def append(self, session: str, branch: int, position: int, records: Sequence[str]) -> bool:
        return self.inner.append(session, branch, position, self._sealed(session, records))

    def read(self, session: str, branch: int, start: int = 0) -> list[str]:
        return self._read(session, self.inner.read(session, branch, start))

    def write_ledger(self, session: str, branch: int, entries: Sequence[str]) -> None:
        self.inner.write_ledger(session, branch, self._sealed(session, entries))

    def read_ledger(self, session: str, branch: int, start: int = 0) -> list[str]:
        return self._read(session, self.inner.read_ledger(session, branch, start))

    def put_note(self, session: str, *, key: str, text: str, at: str | None) -> Note:
        (sealed,) = self._sealed(session, [text])
        return self._as_told(session, self.inner.put_note(session, key=redact(key), text=sealed, at=at))

    def notes(self, session: str) -> list[Note]:
        return [self._as_told(session, note) for note in self.inner.notes(session)]

    def note(self, session: str, *, key: str | None = None, handle: str | None = None) -> Note | None:
        found = self.inner.note(session, key=None if key is None else redact(key), handle=handle)
        return None if found is None else self._as_told(session, found)

    def search(self, session: str, query: str, limit: int = 10) -> list[Hit]:
        found = self.inner.search(session, redact(query), limit)
        texts = self._read(session, [hit.text for hit in found])
        return [replace(hit, text=text) for hit, text in zip(found, texts, strict=True)]

    def put_marks(self, session: str, marks: Mapping[str, str]) -> None:
        sealed = self._sealed(session, list(marks.values()))
        self.inner.put_marks(session, dict(zip(marks, sealed, strict=True)))

    def marks(self, user: str, keys: Sequence[str]) -> dict[str, str]:
        return {key: self._keys.open(text, user) for key, text in self.inner.marks(user, keys).items()}

    def export_session(self, session: str) -> SessionCopy:
        return _searched(_each(self.inner.export_session(session), lambda texts: self._read(session, texts)))

    def import_session(self, session: str, copy: SessionCopy) -> None:
        self.inner.import_session(session, _each(_searched(copy), lambda texts: self._sealed(session, texts)))

    def delete(self, session: str) -> None:
        self.inner.delete(session)
        self._opened_as.pop(session, None)

    # Inside

    def _user(self, session: str) -> str:
        if session not in self._opened_as:
            raise StoreError("no such session: it was deleted, or was not opened here; open it by its name")
        return self._opened_as[session].user

    def _sealed(self, session: str, texts: Sequence[str]) -> list[str]:
        user = self._user(session)
        sealed = [self._keys.seal(text, user) for text in texts]
        if self._keys.names[0] not in self._used[session] and list(texts) != sealed:
            # Before the first token is there: a wrong key is told at opening, not by what it cannot read.
            self._used[session] |= {self._keys.names[0]}
            note_keys(self.inner, session, self._opened_as[session], self._used[session])
        return sealed

    def _read(self, session: str, texts: Iterable[str]) -> list[str]:
        user = self._user(session)
        return [self._keys.open(text, user) for text in texts]

    def _as_told(self, session: str, note: Note) -> Note:
        return replace(note, text=self._read(session, [note.text])[0])


def keys_used(store: Store, key: SessionKey) -> frozenset[str]:
    """Names of the keys that secrets of a session were encrypted with."""
    return frozenset(store.marks(key.user, [_used_mark(key)]).get(_used_mark(key), "").split())


def note_keys(store: Store, session: str, key: SessionKey, used: Iterable[str]) -> None:
    """Keep those names with the session. They say nothing about the keys."""
    store.put_marks(session, {_used_mark(key): " ".join(sorted(used))})


def _used_mark(key: SessionKey) -> str:
    # Hashed: a name may be as long as the key of a mark.
    return f"keys of {blake2b(blob(key.name), digest_size=16).hexdigest()}"


def _searched(copy: SessionCopy) -> SessionCopy:
    """The copy with markers where words are searched or names looked up."""
    notes = tuple(replace(note, key=redact(note.key)) for note in copy.notes)
    return replace(copy, notes=notes, texts=tuple((ref, redact(text)) for ref, text in copy.texts))


def _each(copy: SessionCopy, change: Callable[[Sequence[str]], list[str]]) -> SessionCopy:
    """The copy with the texts of records, ledger and notes changed."""
    branches = tuple(
        replace(branch, records=tuple(change(branch.records)), ledger=tuple(change(branch.ledger)))
        for branch in copy.branches
    )
    texts = change([note.text for note in copy.notes])
    notes = tuple(replace(note, text=text) for note, text in zip(copy.notes, texts, strict=True))
    return replace(copy, branches=branches, notes=notes)
