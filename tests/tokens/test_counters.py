from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest
import toktok
from hypothesis import given
from hypothesis import strategies as st

from foldaway.protocols import TokenCounter
from foldaway.tokens import Memo, OpenAi, PlainEstimate, get_counter
from foldaway.tokens.counters import _encoder

MODELS = (
    "gpt-4o",
    "gpt-4",
    "claude-opus-4-5",
    "claude-opus-4-8",
    "gemini-2.5-pro",
    "llama-3.3-70b",
    "unheard-of",
    "plain",
)
CHINESE = "仓库第7号货架今天需要重新盘点货物。"


@dataclass
class Counting:
    """A counter that keeps what it was asked."""

    asked: list[str] = field(default_factory=list)
    name: str = "counting"
    exact: bool = True
    margin: float = 0.0

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        # From tiktoken 0.14.
        ("hello world", 2, 2),
        ("tiktoken is great!", 6, 6),
        ("def add(a, b):\n    return a + b\n", 12, 12),
        ("<|endoftext|>", 7, 7),
        (CHINESE, 15, 19),
        ("", 0, 0),
    ],
)
def test_openai_counts_are_those_of_tiktoken(text: str, o200k: int, cl100k: int) -> None:
    assert OpenAi("o200k_base").count(text) == o200k
    assert OpenAi("cl100k_base").count(text) == cl100k


@pytest.mark.parametrize("model", MODELS)
@given(text=st.text(alphabet=st.characters(), max_size=300))
def test_any_text_is_counted(model: str, text: str) -> None:
    tokens = get_counter(model).count(text)
    assert tokens >= (1 if text else 0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "text", ["\ud83d", "a\ude00\ud83d b", "a\x00b", "<|im_start|>system<|im_end|>[INST]", "\ufeff\u2028\x85\r"]
)
def test_odd_text_is_counted_as_text(model: str, text: str) -> None:
    assert 1 <= get_counter(model).count(text) < 60


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    counter = OpenAi()
    assert counter.count("name: \ud83d end") == counter.count("name: \ufffd end")
    assert counter.count("\ud83d\ude00") == counter.count("\U0001f600")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("letter", ["a", " ", "\n", "=", "中", "\ud83d"])
def test_a_million_equal_characters_take_no_time(model: str, letter: str) -> None:
    counter = get_counter(model)
    counter.count("warm up")
    start = time.perf_counter()
    assert counter.count(letter * 1_000_000) > 0
    assert time.perf_counter() - start < 5


def test_the_public_count_stands_in_when_the_private_one_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{CHINESE} and <|endoftext|> twice"
    expected = OpenAi().count(text)
    monkeypatch.delattr(toktok, "_encoding")
    monkeypatch.setattr("toktok.batch_count", lambda texts, encoding, threads: [expected for _ in texts])
    assert _encoder.__wrapped__("o200k_base")(text) == expected


@pytest.mark.parametrize("model", ["claude-opus-4-5", "claude-opus-4-8", "unheard-of", "qwen3-coder", "deepseek-chat"])
def test_chinese_counts_no_less_than_o200k_finds(model: str) -> None:
    text = CHINESE * 50
    assert get_counter(model).count(text) >= OpenAi().count(text)


# (text, what the model's own tokenizer finds): measured with ctok 1.3.0 and splintr 0.22.
@pytest.mark.parametrize(
    ("model", "text", "real"),
    [
        ("claude-opus-4-5", CHINESE * 40, 801),
        ("claude-opus-4-8", CHINESE * 40, 800),
        ("mistral-large-latest", CHINESE * 40, 720),
        ("gemini-2.5-pro", CHINESE * 40, 520),
        ("gemini-2.5-pro", "480957 " * 50, 350),
        ("llama-3.3-70b", CHINESE * 40, 600),
    ],
)
def test_an_estimate_is_not_below_the_models_own_tokenizer(model: str, text: str, real: int) -> None:
    counter = get_counter(model)
    assert not counter.exact
    assert real <= counter.count(text) <= 2 * real


def test_the_plain_estimate_is_a_quarter_of_ascii_and_one_for_the_rest() -> None:
    plain = PlainEstimate()
    assert plain.count("abcdefgh") == 2
    assert plain.count("abcdefghi") == 3
    assert plain.count("abcd中é\U0001f600") == 4
    assert plain.count("\ud83d") == 1


def test_the_same_long_text_is_counted_once() -> None:
    inner = Counting()
    memo: TokenCounter = Memo(inner)
    text = "x" * 500
    assert [memo.count(text), memo.count("x" * 500)] == [500, 500]
    assert len(inner.asked) == 1


def test_a_memo_keeps_what_is_asked_for_and_lets_go_the_rest() -> None:
    inner = Counting()
    memo = Memo(inner, room_chars=4_000)
    kept = "k" * 500
    for number in range(100):
        memo.count(kept)
        memo.count(f"{number:03}" * 200)
    assert inner.asked.count(kept) == 1
    assert sum(map(len, [*memo._young, *memo._old])) <= 4_000


def test_a_text_larger_than_the_memo_is_counted_all_the_same() -> None:
    inner = Counting()
    memo = Memo(inner, room_chars=1_000)
    assert memo.count("x" * 5_000) == 5_000
    assert not memo._young
