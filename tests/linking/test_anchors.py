from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.linking.anchors import HEAD_CHARS, MAX_LENGTH, TAIL_CHARS, AnchorKind, anchors


@pytest.mark.parametrize(
    ("text", "literal", "kind"),
    [
        ("see https://docs.example.org/a/b?q=1.", "https://docs.example.org/a/b?q=1", AnchorKind.URL),
        ("in src/foldaway/session.py:12", "src/foldaway/session.py", AnchorKind.PATH),
        ("open rates.toml now", "rates.toml", AnchorKind.FILE),
        ("flight HAT136 is late", "HAT136", AnchorKind.ID),
        ("call load_rates here", "load_rates", AnchorKind.NAME),
        ("class RateTable", "RateTable", AnchorKind.NAME),
        ("order 48213", "48213", AnchorKind.NUMBER),
        ("use --dry-run", "--dry-run", AnchorKind.FLAG),
        ("commit 9f2ac6f3", "9f2ac6f3", AnchorKind.ID),
        ("修改文件 src/泊位/plan.py 中的 load_rates 函数", "load_rates", AnchorKind.NAME),
        ("订单号 48213 已取消", "48213", AnchorKind.NUMBER),
        ("emoji 🚢 then berth_no", "berth_no", AnchorKind.NAME),
    ],
)
def test_literals_are_found_with_their_kinds(text: str, literal: str, kind: AnchorKind) -> None:
    assert anchors(text).get(literal) is kind


@pytest.mark.parametrize(
    "text", ["", "   ", "the quick brown fox", "请把泊位计划改好", "12 + 3", "\0\x01\x02", "\ud83d", "....////----"]
)
def test_ordinary_words_and_rubbish_hold_no_anchor(text: str) -> None:
    assert anchors(text) == {}


def test_chinese_next_to_a_literal_does_not_swallow_it() -> None:
    assert "src/plan.py" in anchors("请修改src/plan.py文件")
    assert "load_rates" in anchors("函数load_rates返回空")


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=400))
def test_no_text_raises_and_every_anchor_stands_in_it(text: str) -> None:
    for literal in anchors(text):
        assert literal in text
        assert len(literal) <= MAX_LENGTH


def test_a_payload_is_no_anchor() -> None:
    assert anchors("A" * 5000 + "1") == {}
    assert anchors("https://x.org/" + "a" * 5000) == {}


def test_of_a_giant_text_head_and_tail_are_read() -> None:
    text = "first_name " + "x " * (HEAD_CHARS + TAIL_CHARS) + " last_name"
    assert set(anchors(text)) == {"first_name", "last_name"}


HOSTILE: dict[str, Callable[[int], str]] = {
    "slashes": lambda n: "/" * n,
    "dots": lambda n: "a." * n,
    "dashes": lambda n: "-" * n,
    "path without end": lambda n: "a/" * n,
    "at signs": lambda n: "@a+" * n,
    "digits and commas": lambda n: "1," * n,
    "http": lambda n: "http://" * n,
    "words": lambda n: "ab1-" * n,
    "letters": lambda n: "a" * n,
    "dotted chain of names": lambda n: "a_b.C" * n,
    "name chars": lambda n: "a+@.-" * n,
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_texts_take_time_in_line_with_their_length(name: str) -> None:
    # Eight times the text: linear work grows 8 times, quadratic 64 times.
    short, long = HOSTILE[name](250), HOSTILE[name](2_000)
    assert best_of(lambda: anchors(long)) < 24 * best_of(lambda: anchors(short)) + 0.002


def best_of(work: Callable[[], object]) -> float:
    spans = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        spans.append(time.perf_counter() - start)
    return min(spans)
