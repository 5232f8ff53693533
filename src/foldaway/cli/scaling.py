"""`foldaway lab scale`: stores filled with made-up memories, and how fast they find them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
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
from foldaway.testing.postgres_server import running_server, server_seconds, why_not

TEMPORARY = ("sqlite", "postgresql")
_SERVER = {"shared_buffers": "2GB", "max_wal_size": "4GB"}
"""What one gives a server with a million memories; the rest as it comes."""


def run(
    stores: Sequence[str],
    layout: Layout,
    dims: int,
    questions: int,
    output: Path | None,
    *,
    as_json: bool,
) -> int:
    """Measure one store after the other, show and keep.

    Raises SettingsError for a store that cannot be, MissingExtra without numpy or a server, StoreError.
    """
    if not find_spec("numpy"):
        raise MissingExtra("this measurement needs numpy: pip install 'foldaway[memory]'")
    words = vocabulary(many_sessions([str(BUNDLED)], bundled=False, joined=False))
    found: list[Scale] = []
    for name in stores:
        with _opened(name) as (url, server):
            opener = partial(make_store, url)
            meter = Meter(server)
            embedder = HashedEmbedder(dims)
            found.append(measure(opener, name, layout, words, embedder, questions, meter, progress_on_stderr))
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


@contextmanager
def _opened(name: str) -> Iterator[tuple[str, Callable[[], float]]]:
    """The store's URL, and the processor time that its server has used."""
    if name == "sqlite":
        with tempfile.TemporaryDirectory(prefix="foldaway-scale-") as folder:
            yield f"sqlite:///{folder}/scale.db", lambda: 0.0
    elif name == "postgresql":
        if reason := why_not():
            raise MissingExtra(f"a PostgreSQL of its own cannot be started ({reason}); name one: postgresql://...")
        with running_server(durable=True, settings=_SERVER) as url:
            yield url, partial(server_seconds, url)
    elif name.startswith(("sqlite:///", "postgresql://", "postgres://")):
        yield name, partial(server_seconds, name)
    else:
        raise SettingsError(f"--store {name!r}: expected {' or '.join(TEMPORARY)} (temporary ones), or a store's URL")
