"""Stores filled with made-up memories and asked, in the small."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from foldaway.cli.lab_app import lab
from foldaway.errors import SettingsError
from foldaway.lab import scale_fill
from foldaway.lab.scale import Meter, Scale, measure
from foldaway.lab.scale_data import Layout, Telling, literal_of, owner_name, question, vocabulary
from foldaway.lab.scale_fill import Watch, fill
from foldaway.lab.scale_table import scale_rows, scale_table
from foldaway.model.recorded import Recorded
from foldaway.protocols import Reader
from foldaway.retrieval.hashed import HashedEmbedder
from foldaway.stores.sqlite import SqliteStore

pytest.importorskip("numpy")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = {
    f"{first}{second}ord": 1 + number % 9
    for number, (first, second) in enumerate(zip(_LETTERS * 20, (c for c in _LETTERS for _ in range(20)), strict=True))
}


def measured(path: Path) -> Scale:
    layout = Layout(items=600, owners=5, large_share=0.5)
    return measure(lambda: SqliteStore(path), "sqlite", layout, WORDS, HashedEmbedder(64), 8, Meter())


@pytest.mark.parametrize(("items", "owners", "share"), [(1000, 10, 0.5), (1001, 7, 0.33), (50, 1, 0.2)])
def test_all_memories_are_told_by_owners_in_turns(items: int, owners: int, share: float) -> None:
    layout = Layout(items=items, owners=owners, large_share=share)
    told: Counter[str] = Counter()
    for owner, count in layout.batches(90):
        told[owner] += count
        assert 0 < count <= 90
    assert [told[owner_name(n)] for n in range(owners)] == layout.sizes()
    assert sum(layout.sizes()) == items


def test_the_same_seed_tells_the_same_and_every_literal_once() -> None:
    one, other = Telling(WORDS).memories(400), Telling(WORDS).memories(400)
    assert one == other != Telling(WORDS, seed=8).memories(400)
    literals = [literal for memory in one if (literal := literal_of(memory.text))]
    assert len(literals) == len(set(literals)) == 200
    assert {memory.key for memory in one if memory.key} == {f"subject {n}" for n in range(7)}


def test_a_vocabulary_counts_the_words_of_all_texts_and_leaves_out_what_is_said_once() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": "Stone stone water"}]},
        {"role": "user", "content": "water wind"},
    ]
    recorded = Recorded(name="r", source_format="x", format="openai_chat", messages=messages)
    assert vocabulary([recorded]) == {"stone": 2, "user": 2, "water": 2}


def test_a_question_is_some_words_of_a_text_in_their_order() -> None:
    words = question("one two three four five ord-0000012", Random(3), 3).split()
    assert len(words) == 3
    assert words == sorted(words, key="one two three four five".split().index)


def test_what_was_told_comes_back_and_a_full_store_is_only_asked(tmp_path: Path) -> None:
    first = measured(tmp_path / "s.db")
    assert [one.found for one in first.asked] == [1.0] * len(first.asked)
    assert first.recall == 1.0
    assert first.book is not None
    assert first.book.finished
    assert first.book.put_seconds > 0
    assert len(first.by_id.clock) == 80
    again = measured(tmp_path / "s.db")
    assert again.book == first.book
    assert [one.name for one in again.asked] == [one.name for one in first.asked]
    with SqliteStore(tmp_path / "s.db") as store:
        assert store.stats().memories == 600 - 2 * len(first.forget.clock)
    table = scale_table([first, again])
    assert "600 memories of 5 owners, the first holds 300; vectors of 64 numbers" in table
    (nearest,) = (line for line in table.splitlines() if line.startswith("of the ten nearest"))
    assert nearest.split()[-2] == "100.0"
    assert "one of 5 owners: 75" in table
    (one, other) = scale_rows([first, again])
    assert one["put_a_second"] == other["put_a_second"] > 0


def test_a_filling_that_was_ended_is_taken_up_and_tells_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale_fill, "AT_ONCE", 50)
    layout, embedder = Layout(items=600, owners=5, large_share=0.5), HashedEmbedder(64)

    def killed(done: int, total: int, what: str) -> None:
        if done > 250:
            raise KeyboardInterrupt

    with SqliteStore(tmp_path / "whole.db") as store:
        whole = fill(store, layout, WORDS, embedder, 8, Watch())
    with SqliteStore(tmp_path / "s.db") as store:
        with pytest.raises(KeyboardInterrupt):
            fill(store, layout, WORDS, embedder, 8, Watch(), killed)
        begun = store.stats().memories
        assert 200 <= begun < 600
        told = fill(store, layout, WORDS, embedder, 8, Watch())
        assert store.stats().memories == store.stats().vectors == 600
        again = fill(store, layout, WORDS, embedder, 8, Watch())
    assert told.samples == whole.samples == again.samples
    assert told.nearest is not None
    assert whole.nearest is not None
    texts = [[score for score, _ in best] for best in told.nearest.best]
    assert texts == [[score for score, _ in best] for best in whole.nearest.best]
    assert again.book == told.book


def test_a_store_that_was_filled_with_something_else_is_refused(tmp_path: Path) -> None:
    measured(tmp_path / "s.db")
    with pytest.raises(SettingsError, match=r"filled with items 600, not 700; ask it as it was filled"):
        measure(
            lambda: SqliteStore(tmp_path / "s.db"),
            "sqlite",
            Layout(items=700, owners=5, large_share=0.5),
            WORDS,
            HashedEmbedder(64),
            8,
            Meter(),
        )


def test_a_store_that_somebody_else_filled_is_only_asked(tmp_path: Path) -> None:
    layout = Layout(items=600, owners=5, large_share=0.5)
    with SqliteStore(tmp_path / "s.db") as store:
        telling = Telling(WORDS)
        for owner, count in layout.batches(scale_fill.AT_ONCE):
            store.put_memories(Reader(owner=owner), telling.memories(count))
    asked = measured(tmp_path / "s.db")
    assert (asked.book, asked.recall) == (None, None)
    assert "before" in scale_table([asked])
    assert scale_rows([asked])[0]["put_a_second"] is None


def test_the_command_keeps_what_it_shows_and_its_stores_where_told(tmp_path: Path) -> None:
    asked = ["scale", "--items", "200", "--owners", "4", "--dims", "32", "--questions", "3", "-o", str(tmp_path)]
    rows = []
    for _ in range(2):
        done = CliRunner().invoke(lab, [*asked, "--keep", str(tmp_path / "kept"), "--json"])
        assert done.exit_code == 0, done.output
        rows += json.loads((tmp_path / "scale.json").read_text())["scale"]
    assert [(row["store"], row["items"], row["large_owner"]) for row in rows] == [("sqlite", 200, 100)] * 2
    assert rows[0]["put_a_second"] == rows[1]["put_a_second"]
    assert (tmp_path / "kept" / "scale.db").is_file()
    assert "by id" in (tmp_path / "scale.txt").read_text()


def test_a_store_that_cannot_be_is_refused() -> None:
    from foldaway.cli import scaling

    with pytest.raises(SettingsError, match=r"--store 'mysql://x': expected sqlite or postgresql"):
        scaling.run(["mysql://x"], Layout(items=100), 32, 1, None, as_json=False)
