"""What a user's words confirm."""

from __future__ import annotations

import pytest

from foldaway.linking.said import answer, key_of, named, question


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes, please go ahead.", "yes"),
        ("correct", "yes"),
        ("No, wait.", "no"),
        ("好的", "yes"),
        ("不要", "no"),
        ("No problem, thanks for asking", ""),
        ("right now it fails", ""),
        ("The port is 8081", ""),
        ("Yes. " + "And then there is one more thing to do. " * 12, ""),
    ],
)
def test_only_a_short_plain_answer_is_an_answer(text: str, said: str) -> None:
    assert answer(text) == said


@pytest.mark.parametrize(
    ("text", "key", "value", "old", "corrects"),
    [
        ("My user id is mia_li_3668.", "user id", "mia_li_3668", "", False),
        ("use port 8081. I mean: use 8081 instead of 8080", "instead of 8080", "8081", "8080", True),
        ("not 8080 but 8081", "instead of 8080", "8081", "8080", True),
        ("Use pnpm, not npm", "instead of npm", "pnpm", "npm", True),
        ("No, the base URL should be https://x.example/z.", "base url", "https://x.example/z", "", True),
        ("端口是8081", "端口", "8081", "", False),
    ],
)
def test_values_that_the_user_names(text: str, key: str, value: str, old: str, corrects: bool) -> None:
    [one] = named(text)
    assert (one.key, one.value, one.instead_of, one.corrects) == (key, value, old, corrects)


@pytest.mark.parametrize("text", ["this is the best thing", "use it instead of that", "our plan is good", ""])
def test_plain_talk_names_no_value(text: str) -> None:
    assert list(named(text)) == []


def test_the_last_question_is_the_one_that_is_answered() -> None:
    text = "Did you mean the first? I found it.\nShall I cancel reservation Q69X3R (v1.2)? Please confirm (yes)."
    assert question(text) == "Shall I cancel reservation Q69X3R (v1.2)?"
    assert question("I am done.") == ""
    assert question("Could you please provide your email address?") == ""
    short = "I cancel booking 7 for 50 EUR. Is this correct?"
    assert question(short) == short


def test_a_key_is_the_same_however_it_is_spelled() -> None:
    assert key_of("User ID") == key_of("user_id") == "user id"
