from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.compressors.user_words import abstract_words

FILLER = "The weather was fine and people were talking. It went on like that for a while. "


@pytest.mark.parametrize(
    "binding",
    [
        "Never touch production.",
        "Please rename the table.",
        "The limit is 48213 boxes.",
        "It lives in src/plan.py here.",
        "不要修改费率表。",
        "He said 'keep it'.",
    ],
)
def test_what_binds_survives_word_for_word(binding: str) -> None:
    text = f"Good morning. {FILLER * 3}{binding} {FILLER * 3}See you."
    short = abstract_words(text, 4)
    assert binding in short
    assert short.startswith("Good morning.")
    assert "See you." in short
    assert "#4" in short
    assert len(short) < len(text)
    assert "weather" not in short


def test_nothing_is_marked_when_nothing_is_left_out() -> None:
    assert abstract_words("Never do it. Always ask.", 4) == "Never do it. Always ask."


@settings(max_examples=80, deadline=None)
@given(text=st.text(alphabet="ab.!? \n不要。", max_size=200))
def test_any_text_is_taken_and_the_kept_pieces_stand_in_it(text: str) -> None:
    short = abstract_words(text, 4)
    kept = short.partition("\n[foldaway:")[0]
    if short != text:
        position = 0
        for sign in kept:
            position = text.index(sign, position) + 1
