from __future__ import annotations

import base64
import time
from typing import Any

import pytest

from foldaway.protocols import MessageCounter
from foldaway.tokens import RequestCounter, get_counter

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses")
WORDS = "part 7 row 3: rate = table[3] * 3\n" * 30


def counter(format: str, model: str = "gpt-4o") -> MessageCounter:
    return RequestCounter(get_counter(model), format, model)


def words(text: str = WORDS) -> int:
    return get_counter("gpt-4o").count(text)


def test_a_plain_message_costs_its_text_and_four_marks() -> None:
    for format in FORMATS:
        assert counter(format).message({"role": "user", "content": WORDS}) == words() + 4


def test_openai_chat_reaches_the_figure_of_its_cookbook() -> None:
    """The example messages of OpenAI's counting guide: 124 prompt tokens by gpt-4o, by its API."""
    messages = [
        {
            "role": "system",
            "content": "You are a helpful, pattern-following assistant that translates "
            "corporate jargon into plain English.",
        },
        {"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."},
        {
            "role": "system",
            "name": "example_assistant",
            "content": "Things working well together will increase revenue.",
        },
        {
            "role": "system",
            "name": "example_user",
            "content": "Let's circle back when we have more bandwidth to touch base on "
            "opportunities for increased leverage.",
        },
        {
            "role": "system",
            "name": "example_assistant",
            "content": "Let's talk later when we're less busy about how to do better.",
        },
        {
            "role": "user",
            "content": "This late pivot means we don't have time to boil the ocean for the client deliverable.",
        },
    ]
    chat = counter("openai_chat")
    assert chat.system(None) + sum(map(chat.message, messages)) == 124


SAME_TEXT: list[tuple[str, Any]] = [
    ("openai_chat", {"role": "user", "content": [{"type": "text", "text": WORDS}]}),
    ("openai_chat", {"role": "tool", "tool_call_id": "c", "content": WORDS}),
    ("openai_chat", {"role": "assistant", "content": None, "refusal": WORDS}),
    ("openai_chat", {"role": "assistant", "content": "", "reasoning_content": WORDS}),
    (
        "openai_chat",
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": WORDS}}],
        },
    ),
    (
        "openai_chat",
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": WORDS}}]},
    ),
    ("openai_chat", {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": WORDS}}),
    (
        "anthropic_messages",
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": WORDS}]},
    ),
    (
        "anthropic_messages",
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": WORDS}]}]},
    ),
    (
        "anthropic_messages",
        {"role": "assistant", "content": [{"type": "thinking", "thinking": WORDS, "signature": "s" * 800}]},
    ),
    (
        "anthropic_messages",
        {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {"text": WORDS}}]},
    ),
    (
        "anthropic_messages",
        {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": WORDS}}]},
    ),
    ("openai_responses", {"type": "function_call", "call_id": "c", "name": "f", "arguments": WORDS}),
    ("openai_responses", {"type": "function_call_output", "call_id": "c", "output": WORDS}),
    ("openai_responses", {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": WORDS}),
    (
        "openai_responses",
        {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": WORDS}]},
    ),
    ("openai_responses", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": WORDS}]}),
    ("openai_responses", {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": WORDS}]}),
    ("openai_responses", {"type": "a_type_of_tomorrow", "payload": {"deep": [WORDS]}}),
    ("anthropic_messages", {"role": "user", "content": [{"type": "a_type_of_tomorrow", "payload": WORDS}]}),
]


@pytest.mark.parametrize(("format", "message"), SAME_TEXT)
def test_text_costs_the_same_wherever_it_stands(format: str, message: Any) -> None:
    # JSON escapes the line ends: up to one token more for each of 30.
    assert words() <= counter(format).message(message) <= words() + 130


def test_sealed_reasoning_counts_by_its_length() -> None:
    sealed = base64.b64encode(bytes(3_000)).decode()
    responses, anthropic = counter("openai_responses"), counter("anthropic_messages")
    reasoning = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": sealed}
    redacted = {"role": "assistant", "content": [{"type": "redacted_thinking", "data": sealed}]}
    hidden = {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": sealed}]}
    compaction = {"type": "compaction", "encrypted_content": sealed}
    for tokens in (
        responses.message(reasoning),
        anthropic.message(redacted),
        anthropic.message(hidden),
        responses.message(compaction),
    ):
        assert 1_000 <= tokens <= 1_020


PICTURE = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x03\x20\x00\x00\x02\x58" + bytes(2_000_000)
).decode()
URL = f"data:image/png;base64,{PICTURE}"


@pytest.mark.parametrize(
    ("format", "block"),
    [
        ("openai_chat", {"type": "image_url", "image_url": {"url": URL, "detail": "high"}}),
        ("openai_responses", {"type": "input_image", "image_url": URL}),
        (
            "anthropic_messages",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
        ),
        ("anthropic_messages", {"type": "image", "data": PICTURE, "mimeType": "image/png"}),
        (
            "anthropic_messages",
            {
                "type": "tool_result",
                "content": [{"type": "image", "source": {"type": "base64", "data": PICTURE}}],
            },
        ),
        ("openai_chat", {"type": "a_type_of_tomorrow", "frame": {"url": URL}}),
    ],
)
def test_a_picture_costs_by_its_pixels(format: str, block: Any) -> None:
    start = time.perf_counter()
    tokens = counter(format).message({"role": "user", "content": [block]})
    # 800 x 600: four tiles for OpenAI, the area for Anthropic.
    expected = 640 if format == "anthropic_messages" else 765
    assert expected <= tokens <= expected + 35
    assert time.perf_counter() - start < 1


def test_three_megabytes_of_no_picture_cost_a_flat_figure() -> None:
    data = base64.b64encode(bytes(3_000_000)).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    tokens = counter("anthropic_messages", "claude-opus-4-5").message({"role": "user", "content": [image]})
    assert 1_600 <= tokens <= 1_700


@pytest.mark.parametrize(
    ("format", "block"),
    [
        ("anthropic_messages", {"type": "document", "source": {"type": "base64", "data": "A" * 400_000}}),
        ("openai_chat", {"type": "file", "file": {"file_data": "A" * 400_000, "filename": "a.pdf"}}),
        ("openai_responses", {"type": "input_file", "file_data": "A" * 400_000}),
    ],
)
def test_a_document_costs_by_its_size(format: str, block: Any) -> None:
    assert 9_000 <= counter(format).message({"role": "user", "content": [block]}) <= 9_010


def test_system_text_counts_as_string_and_as_blocks() -> None:
    anthropic = counter("anthropic_messages")
    blocks = [{"type": "text", "text": WORDS, "cache_control": {"type": "ephemeral"}}]
    assert anthropic.system(WORDS) == anthropic.system(blocks) == words() + 7
    assert anthropic.system(None) == 3


def test_tools_count_by_their_json_without_cache_marks() -> None:
    tool: dict[str, Any] = {"name": "read", "description": WORDS, "input_schema": {"type": "object"}}
    anthropic = counter("anthropic_messages")
    assert anthropic.tools(None) == anthropic.tools([]) == 0
    one = anthropic.tools([tool])
    assert one > words() + 346
    assert anthropic.tools([{**tool, "cache_control": {"type": "ephemeral"}}]) == one
    assert counter("openai_chat").tools([tool, tool]) == 2 * (one - 346)


def test_fields_that_no_provider_reads_cost_nothing() -> None:
    chat = counter("openai_chat")
    message = {"role": "assistant", "content": "Read."}
    assert chat.message({**message, "extra": {"response": WORDS}}) == chat.message(message)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        None, "", [], [None], [1, True, {}], {"type": "text", "text": "x"}, [{"type": "text"}], [{"type": 5}], 7,
        [{"type": "image"}], [{"type": "image_url", "image_url": None}], [{"type": "document", "source": "x"}],
        [{"type": "tool_use", "input": "text"}], [{"type": "tool_result"}], [{"type": "redacted_thinking", "data": 4}],
        [{"type": "input_audio", "input_audio": {"data": "A" * 3_200}}],
    ],
)  # fmt: skip
def test_content_of_any_shape_is_counted(format: str, content: Any) -> None:
    chat = counter(format)
    assert 4 <= chat.message({"role": "user", "content": content}) < 7_000
    assert chat.message({"type": "function_call_output", "output": content}) >= 0
    assert chat.message({"role": "assistant", "tool_calls": content}) >= 4


def test_content_nested_beyond_the_json_modules_depth_is_counted() -> None:
    deep: Any = "bottom"
    for _ in range(20_000):
        deep = [deep]
    nested = {"type": "tool_use", "name": "f", "input": {"value": deep}}
    assert counter("anthropic_messages").message({"role": "assistant", "content": [nested]}) > 1_000


def test_counting_changes_nothing() -> None:
    message = {"role": "user", "content": [{"type": "new", "image": URL, "text": [WORDS]}], "tool_calls": None}
    before = repr(message)
    counter("openai_chat").message(message)
    assert repr(message) == before
