"""Looking for a text in everything a store left on disk."""

from __future__ import annotations

import base64
import json
import re
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

# A piece of a text this long or longer is not in an index by chance.
_TELLING_WORD = 12


def store_size(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def forms(text: str) -> list[bytes]:
    """The text as it is, inside JSON once and twice, and in base64 at each of the three alignments."""
    plain = text.encode("utf-8", "surrogatepass")
    once = json.dumps(text)[1:-1]
    found = [plain, once.encode(), json.dumps(once)[1:-1].encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode()]
    for shift in range(3):
        code = base64.b64encode(b"\0" * shift + plain)
        # The characters at both ends also hold bits of what stands before and behind.
        start = (shift * 8 + 5) // 6
        end = (shift + len(plain)) * 8 // 6
        if end - start >= _TELLING_WORD:
            found += [code[start:end], code[start:end].replace(b"+", b"-").replace(b"/", b"_")]
    return list(dict.fromkeys(form.lower() for form in found))


def found_in_store(root: Path, text: str) -> str | None:
    """Where the text is (upper and lower case alike), or None. Looks into files, rows, packed rows and word lists."""
    wanted = forms(text)
    words = [word.lower() for word in re.findall(r"[A-Za-z0-9]+", text) if len(word) >= _TELLING_WORD]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "store"
        shutil.copytree(root, copy)
        for path in sorted(path for path in copy.rglob("*") if path.is_file()):
            where = str(path.relative_to(copy))
            content = path.read_bytes()
            if _holds(content, wanted):
                return f"it is in {where}"
            if content.startswith(b"SQLite format 3\0") and (why := _found_in_database(path, wanted, words)):
                return f"it is in {where}, {why}"
    return None


def _holds(content: bytes, wanted: list[bytes]) -> bool:
    return any(any(form in each for form in wanted) for each in (content.lower(), *_unpacked(content)))


def _unpacked(content: bytes) -> Iterator[bytes]:
    # 47: a zlib or gzip head, whichever is there; -15: no head at all.
    for bits in (47, -15):
        try:
            unpacked = zlib.decompressobj(bits).decompress(content)
        except zlib.error:
            continue
        if unpacked:
            yield unpacked.lower()


def _found_in_database(path: Path, wanted: list[bytes], words: list[str]) -> str | None:
    with closing(sqlite3.connect(path)) as database:
        # Text need not be UTF-8: half a surrogate pair may be in it.
        database.text_factory = lambda raw: raw.decode("utf-8", "surrogatepass" if b"\xed" in raw else "replace")
        tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        for name, _ in tables:
            quoted = '"' + name.replace('"', '""') + '"'
            try:
                rows = database.execute(f"SELECT * FROM {quoted}")
                if any(_holds(_as_bytes(value), wanted) for row in rows for value in row):
                    return f"table {name}"
            except sqlite3.Error:
                # A virtual table whose module is not here; its rows are in its shadow tables.
                continue
        for name, sql in tables:
            if words and "fts5" in str(sql).lower() and (word := _indexed(database, name, words)):
                return f"index {name}: {word}"
    return None


def _indexed(database: sqlite3.Connection, name: str, words: list[str]) -> str | None:
    quoted = name.replace("'", "''")
    try:
        database.execute(f"CREATE VIRTUAL TABLE temp.terms_of USING fts5vocab('main', '{quoted}', 'row')")
        terms = [str(term).lower() for (term,) in database.execute("SELECT term FROM temp.terms_of")]
        database.execute("DROP TABLE temp.terms_of")
    except sqlite3.Error:
        return None
    return next((word for word in words if any(word in term for term in terms)), None)


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b""
