from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldaway.lab.likelihood import CachedScorer, Likelihood


def test_a_span_takes_the_tokens_that_share_a_byte_with_it() -> None:
    # "ab" "cde" "f"
    likelihood = Likelihood((-1.0, -2.0, -4.0), (2, 5, 6))
    assert likelihood.over(2, 5) == (-2.0, 1)
    assert likelihood.over(1, 3) == (-3.0, 2)
    assert likelihood.over(6, 9) == (0, 0)
    assert (likelihood.total, likelihood.tokens, likelihood.per_token) == (-7.0, 3, -7 / 3)


def test_the_cache_answers_from_disk_the_second_time(tmp_path: Path, copier: Any) -> None:
    first = CachedScorer(copier, tmp_path).loglik("a b", "b c")
    again = CachedScorer(copier, tmp_path)
    assert again.loglik("a b", "b c") == first
    assert again.asked == 0
    assert len(copier.asked) == 1


@pytest.mark.parametrize(
    ("context", "continuation", "take", "name"),
    [("a c", "b", 0, "m"), ("a", "b c", 0, "m"), ("a", "b", 1, "m"), ("a", "b", 0, "n"), ("ab", "", 0, "m")],
)
def test_another_question_is_not_answered_by_the_first(
    tmp_path: Path, copier: Any, context: str, continuation: str, take: int, name: str
) -> None:
    cached = CachedScorer(copier, tmp_path)
    copier.name = "m"
    cached.loglik("a", "b")
    copier.name = name
    cached.loglik(context, continuation, take)
    assert cached.asked == 2


def test_a_damaged_answer_is_asked_for_again(tmp_path: Path, copier: Any) -> None:
    first = CachedScorer(copier, tmp_path).loglik("a", "b")
    (file,) = tmp_path.rglob("*.json")
    file.write_text('{"logprobs": [', "utf-8")
    again = CachedScorer(copier, tmp_path)
    assert again.loglik("a", "b") == first
    assert again.asked == 1
