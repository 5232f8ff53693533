from __future__ import annotations

import pytest

from foldaway.compressors.base import Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.prose import Prose, sentences

DOCUMENT = (
    "# Billing guide\n\nInvoices are made once a month. "
    + "Nobody knows quite why it is so, but it is. " * 30
    + "\n\n## Rates\n\nThe rate table lives in src/billing/rates.py and is loaded by load_rates(). "
    + "It has been so for a long time and will be so for long. " * 30
    + "\n\n## Errors\n\n- E4012: the account is closed\n- E4013: no rate for the day\n\n"
    + "As ever there is more to be said about that. " * 30
)
CHINESE = (
    "费率表在 src/plan.py 中。"
    + "今天天气很好，大家都去散步了。" * 40
    + "不要修改 load_rates 函数！"
    + "后来又下雨了。" * 40
)


@pytest.mark.parametrize("room", [300, 500, 900])
def test_headings_and_sentences_with_literals_stay(room: int) -> None:
    shown = Prose().digest(DOCUMENT, Hint(), room).text
    for kept in ("# Billing guide", "## Rates", "src/billing/rates.py", "load_rates", "E4012"):
        assert kept in shown
    assert len(shown) <= room


def test_sentences_are_kept_word_for_word_and_in_order() -> None:
    shown = [
        line for line in Prose().digest(DOCUMENT, Hint(), 600).text.split("\n") if not line.startswith(("…", "also "))
    ]
    places = [DOCUMENT.index(line) for line in shown]
    assert places == sorted(places)


def test_literals_of_sentences_that_had_to_go_are_named() -> None:
    text = "\n\n".join(
        f"Some long remark about many things, among them module_{n}, goes here for a while." for n in range(90)
    )
    shown = Prose().digest(text, Hint(), 1000).text
    assert "\nalso named: module_" in shown
    assert shown.count("module_") > 25
    assert unsupported(shown, text) == ()


def test_chinese_is_cut_at_its_own_signs() -> None:
    shown = Prose().digest(CHINESE, Hint(), 120).text
    assert "src/plan.py" in shown
    assert "不要修改 load_rates 函数！" in shown
    assert len(shown) <= 120


def test_what_was_said_before_is_not_said_again() -> None:
    shown = Prose().digest(CHINESE, Hint(), 300).text
    assert shown.count("今天天气很好") == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It is so. It is not.", ["It is so.", "It is not."]),
        ("See e.g. the note by Dr. Hill. Then go.", ["See e.g. the note by Dr. Hill.", "Then go."]),
        ("Version 3.11.7 is out! Get it?", ["Version 3.11.7 is out!", "Get it?"]),
        ("他来了。她走了！好吗？", ["他来了。", "她走了！", "好吗？"]),
        ("「走吧。」他说。", ["「走吧。」", "他说。"]),
        ("no end at all", ["no end at all"]),
        ("", []),
    ],
)
def test_sentences_end_where_they_end(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_a_page_without_full_stops_is_cut_between_words() -> None:
    pieces = sentences("word_1 " * 400)
    assert len(pieces) > 3
    assert all(piece.startswith("word_1") and piece.endswith("word_1") for piece in pieces)


def test_what_was_lost_is_counted() -> None:
    assert Prose().digest(DOCUMENT, Hint(), 500).lost == "87 of 97 sentences"
