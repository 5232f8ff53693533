"""`foldaway lab scale`: stores filled with made-up memories, and how fast they find them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from foldaway.cli.inputs import BUNDLED, many_sessions
from foldaway.cli.output import show, show_json
from foldaway.errors import MissingExtra, SettingsError
from foldaway.lab.runner import progress_on_stderr
from foldaway.lab.scale import Meter, Scale, measure
from foldaway.lab.scale_data import Layout, vocabulary
from foldaway.lab.scale_table import scale_rows, scale_table
from foldaway.retrieval.hashed import HashedEmbedder
from foldaway.settings.parts import make_store
from foldaway.testing.postgres_server import running_server, server_mb, server_seconds, why_not

SERVERS = ("postgresql", "postgres")
_SERVER = {"shared_buffers": "2GB", "max_wal_size": "4GB"}
"""What one gives a server with a million memories; the rest as it comes."""


def run(
    stores: Sequence[str],
    layout: Layout,
    dims: int,
    questions: int,
    output: Path | None,
    *,
    keep: Path | None = None,
    as_json: bool,
) -> int:
    """Measure one store after the other, show them side by side and keep the figures.

    `keep`: a folder for temporary stores, which stay there: filled once, asked again, taken up where a run ended.
    Raises SettingsError for a store that cannot be or was filled with something else, MissingExtra without numpy or a
    server, StoreError.
    """
    if not find_spec("numpy"):
        raise MissingExtra("this measurement needs numpy: pip install 'foldaway[memory]'")
    for name in stores:
        _check(name)
    words = vocabulary(many_sessions([str(BUNDLED)], bundled=False, joined=False))
    found: list[Scale] = []
    for name in stores:
        with _opened(name, keep) as (url, shown):
            meter = Meter(partial(server_seconds, url), partial(server_mb, url))
            embedder, opener = HashedEmbedder(dims), partial(make_store, url)
            found.append(measure(opener, shown, layout, words, embedder, questions, meter, progress_on_stderr))
    rows: dict[str, Any] = {"scale": scale_rows(found)}
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        (output / "scale.txt").write_text(scale_table(found) + "\n", "utf-8")
        (output / "scale.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    if as_json:
        show_json(rows)
    else:
        show(scale_table(found))
    return 0


def _check(name: str) -> None:
    """Raises before an hour's work is done for another store."""
    if name in SERVERS and (reason := why_not()):
        raise MissingExtra(f"a PostgreSQL of its own cannot be started ({reason}); name one: postgresql://...")
    if name not in ("sqlite", *SERVERS) and not name.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise SettingsError(f"--store {name!r}: expected sqlite or postgresql (temporary ones), or a store's URL")


@contextmanager
def _opened(name: str, keep: Path | None) -> Iterator[tuple[str, str]]:
    """The store's URL, and what it is called in tables."""
    if name == "sqlite" and keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield f"sqlite:///{keep.absolute()}/scale.db", name
    elif name == "sqlite":
        with tempfile.TemporaryDirectory(prefix="foldaway-scale-") as folder:
            yield f"sqlite:///{folder}/scale.db", name
    elif name in SERVERS:
        data = keep.absolute() / "postgresql" if keep is not None else None
        with running_server(durable=True, settings=_SERVER, keep=data) as url:
            yield url, "postgresql"
    else:
        yield name, "sqlite" if name.startswith("sqlite") else "postgresql"
