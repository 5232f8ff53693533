from __future__ import annotations

import pytest

from foldaway.tokens import get_counter
from foldaway.tokens.windows import context_window


@pytest.mark.parametrize(
    ("model", "name", "exact"),
    [
        ("gpt-4o-2024-08-06", "o200k_base", True),
        ("openai/gpt-5-mini", "o200k_base", True),
        ("GPT-4.1", "o200k_base", True),
        ("o3", "o200k_base", True),
        ("openrouter/openai/gpt-oss-120b", "o200k_base", True),
        ("ft:gpt-4o-mini:org::id", "o200k_base", True),
        ("gpt-4-turbo", "cl100k_base", True),
        ("gpt-3.5-turbo", "cl100k_base", True),
        ("gpt-35-turbo", "cl100k_base", True),
        ("gpt-9", "o200k_base", False),
        ("claude-3-5-sonnet-20241022", "claude", False),
        ("claude-sonnet-4-20250514", "claude", False),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude", False),
        ("anthropic/claude-opus-4.7", "claude-4.7", False),
        ("claude-sonnet-5", "claude-4.7", False),
        ("claude-fable-5", "claude-4.7", False),
        ("gemini-2.5-pro", "gemini", False),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama", False),
        ("deepseek-r1-distill-qwen-7b", "qwen", False),
        ("deepseek-chat", "deepseek", False),
        ("house-model-of-no-list", "unknown", False),
        ("opus", "unknown", False),
    ],
)
def test_a_name_leads_to_its_family(model: str, name: str, exact: bool) -> None:
    counter = get_counter(model)
    assert (counter.name, counter.exact) == (name, exact)
    assert (counter.margin == 0) == exact


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("anthropic_messages", "claude-4.7"),
        ("openai_responses", "o200k_base"),
        ("openai_chat", "unknown"),
        ("", "unknown"),
    ],
)
def test_without_a_model_the_format_decides(format: str, name: str) -> None:
    assert get_counter("", format).name == name


def test_a_counter_is_shared() -> None:
    assert get_counter("gpt-4o") is get_counter("openai/gpt-5")


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-2024-08-06", 128_000),
        ("gpt-4-0613", 8_192),
        ("gpt-4-1106-preview", 128_000),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", 200_000),
        ("claude-sonnet-4-5@20250929", 200_000),
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("claude-3-5-haiku-latest", 200_000),
        ("claude-opus-4-99", None),
        ("gpt-4-vision-of-the-future", None),
        ("house-model-of-no-list", None),
        ("", None),
    ],
)
def test_a_window_is_known_for_the_model_itself_only(model: str, window: int | None) -> None:
    assert context_window(model) == window
