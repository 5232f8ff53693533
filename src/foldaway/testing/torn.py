"""What `kill -9` in the middle of a write leaves on disk."""

from __future__ import annotations

import os
from pathlib import Path

from foldaway.stores import _wal


def tear_last_record(path: str | os.PathLike[str], keep_fraction: float) -> None:
    """Leave the SQLite store at `path` as if its process had been killed while it wrote its newest transaction.

    Of that transaction the first `keep_fraction` of the bytes are kept (0..1, not 1). Call it while the store is
    open, or after a true kill: a store that was closed has no write left to tear. Whoever still has the store open
    goes on in the old file, which is no longer at `path`; close it, its closing touches nothing at `path`.

    Raises ValueError when there is nothing to tear.
    """
    if not 0 <= keep_fraction < 1:
        raise ValueError(f"keep_fraction is {keep_fraction}, expected 0 <= keep_fraction < 1")
    database, log = Path(os.fspath(path)).absolute(), _wal.read(os.fspath(path))
    start, end, pages = _wal.last_transaction(log)
    # No Python file may be opened and closed on the database itself while this process has it open in SQLite:
    # POSIX would drop SQLite's locks. The old file is never used at this path again, so here it does no harm.
    content = database.read_bytes()
    size = _wal.page_bytes(log)
    if all(content[(number - 1) * size : number * size] == page for number, page in pages):
        raise ValueError("the newest write is already in the database file; write one more record before tearing")
    _replace(database, content)
    _replace(Path(_wal.wal_path(str(database))), log[: start + int((end - start) * keep_fraction)])
    # The index of the log belongs to the old file; a killed machine's would be rebuilt as well.
    Path(f"{database}-shm").unlink(missing_ok=True)


def _replace(file: Path, content: bytes) -> None:
    fresh = file.with_name(file.name + ".torn")
    fresh.write_bytes(content)
    fresh.chmod(0o600)
    fresh.replace(file)
