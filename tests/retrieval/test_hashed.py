"""Vectors by hashing: the same everywhere, near for near spellings, safe for any text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.retrieval.embedding import CachedEmbedder
from foldaway.retrieval.hashed import HashedEmbedder

PINNED = [(241, -0.894427), (273, 0.223607), (294, -0.223607), (510, -0.223607), (894, 0.223607)]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def embed(*texts: str) -> list[Sequence[float]]:
    return HashedEmbedder().embed(texts)


def test_a_vector_is_the_same_on_any_machine_and_in_any_batch() -> None:
    (alone,) = embed("the retry logic of src/app.py")
    _, together = embed("something else", "the retry logic of src/app.py")
    assert list(alone) == list(together)
    # Pinned: stored vectors of this name must stay comparable; a change of the hashing needs a new name.
    places = [(n, round(value, 6)) for n, value in enumerate(embed("retry")[0]) if value]
    assert HashedEmbedder().name == "hashed-1-1024"
    assert places == PINNED


@given(st.text(max_size=300))
def test_any_text_gives_a_unit_vector_or_zeros(text: str) -> None:
    (vector,) = embed(text)
    length = math.sqrt(cosine(vector, vector))
    assert len(vector) == 1024
    assert length == pytest.approx(1.0, abs=1e-5) or not any(vector)


def test_lone_surrogates_are_no_reason_to_fail() -> None:
    assert any(embed("broken \ud83d half")[0])


def test_other_endings_and_spellings_stay_near_and_other_words_far() -> None:
    owns, owned, unrelated = embed("who owns the vehicle", "vehicle owned by him", "quarterly revenue report")
    assert cosine(owns, owned) > 0.4
    assert abs(cosine(owns, unrelated)) < 0.15


def test_chinese_is_compared_by_pairs_of_characters() -> None:
    asked, told, unrelated = embed("客户喜欢什么茶", "这位客户喜欢绿茶", "服务器昨晚重启过")
    assert cosine(asked, told) > 0.35
    assert abs(cosine(asked, unrelated)) < 0.15


def test_common_words_alone_make_no_two_texts_alike() -> None:
    one, other = embed("what is the name of the dog", "what is the rate of the loan")
    assert cosine(one, other) < 0.3


def test_fewer_dimensions_have_a_name_of_their_own() -> None:
    small = HashedEmbedder(dims=64)
    assert small.name != HashedEmbedder().name
    assert len(small.embed(["a text"])[0]) == 64


def test_it_says_that_it_knows_no_more_than_words_through_its_cache_too() -> None:
    assert HashedEmbedder().only_words
    assert CachedEmbedder(HashedEmbedder()).only_words
