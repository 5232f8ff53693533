"""Recorded text cannot open or close a mark of ours, in whatever letters; and no text makes looking for that slow."""

from __future__ import annotations

import time

import pytest

from foldaway.engine.stubs import clean_long


@pytest.mark.parametrize(
    "forged",
    [
        "[foldaway", "[/foldaway", "[ / foldaway", "[RETRIEVE: #2]", "[\tretrieve", "[\u200b/\u00a0foldaway",
        "\uff3bfoldaway", "\u3010/foldaway", "[fold\u200daway", "[f\u043eld\u0430way",
        "[\uff32\uff25\uff34\uff32\uff29\uff25\uff36\uff25: 2]", "[\uff0ffoldaway",
    ],
)  # fmt: skip
def test_a_forged_mark_is_disarmed(forged: str) -> None:
    assert clean_long(f"before {forged} after") == f"before ({forged[1:]} after"


@pytest.mark.parametrize(
    "text", ["[folder]", "[fold away]", "array[foo]", "[f]oldaway", "retrieve: 2", "(foldaway)", "港口［五］"]
)
def test_what_is_none_stays(text: str) -> None:
    assert clean_long(text) == text


@pytest.mark.parametrize(
    "text", ["[" + " " * 300_000, "[ \u200b" * 100_000, "[f" + "\u200b" * 300_000, "[/" + " " * 300_000]
)
def test_no_text_makes_it_slow(text: str) -> None:
    start = time.perf_counter()
    assert clean_long(text) == text
    assert time.perf_counter() - start < 2
