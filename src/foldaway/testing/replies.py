"""What a provider answers, written by hand: one reply as a body or as a stream, in each of the three protocols.

The events and their order are those that the official clients document and read (openai 3.57, anthropic 2.14).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PIECE_CHARS = 7
"""Text and arguments come in pieces of so many characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    """A string goes out as it is, be it JSON or not."""
    id: str = ""

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of a model."""

    text: str = ""
    calls: Sequence[Call] = ()
    thinking: str = ""
    read_tokens: int = 100
    written_tokens: int = 10
    id: str = "1"


def reply_body(format: str, reply: Reply, model: str = "m") -> dict[str, Any]:
    """The answer in one piece."""
    match format:
        case "anthropic_messages":
            return _anthropic(reply, model)
        case "openai_responses":
            return _responses(reply, model)
        case _:
            return _chat(reply, model)


def reply_stream(format: str, reply: Reply, model: str = "m", *, usage: bool = True) -> list[bytes]:
    """The answer as server-sent events. `usage`: Chat Completions tell it when they are asked to."""
    match format:
        case "anthropic_messages":
            return [_event(e, e["type"]) for e in _anthropic_events(reply, model)]
        case "openai_responses":
            return [
                _event({**e, "sequence_number": n}, e["type"]) for n, e in enumerate(_responses_events(reply, model))
            ]
        case _:
            return [*map(_event, _chat_chunks(reply, model, usage)), b"data: [DONE]\n\n"]


def _event(payload: Mapping[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(payload)}\n\n".encode()


def _pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), PIECE_CHARS):
        yield text[at : at + PIECE_CHARS]


# -- Chat Completions


def _chat_usage(reply: Reply) -> dict[str, Any]:
    read, written = reply.read_tokens, reply.written_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _chat_id(reply: Reply, n: int, call: Call) -> str:
    return call.id or f"call_{reply.id}_{n}"


def _chat(reply: Reply, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": _chat_id(reply, n, c), "type": "function", "function": {"name": c.name, "arguments": c.text}}
            for n, c in enumerate(reply.calls)
        ]
    reason = "tool_calls" if reply.calls else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return {
        "id": f"chatcmpl-{reply.id}", "object": "chat.completion", "created": 1, "model": model, "choices": [choice],
        "usage": _chat_usage(reply), "system_fingerprint": "fp",
    }  # fmt: skip


def _chat_chunks(reply: Reply, model: str, usage: bool) -> Iterator[dict[str, Any]]:
    head: dict[str, Any] = {
        "id": f"chatcmpl-{reply.id}", "object": "chat.completion.chunk", "created": 1, "model": model,
        "system_fingerprint": "fp",
    }  # fmt: skip
    if usage:
        head["usage"] = None

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": reason}
        return {**head, "choices": [choice]}

    yield chunk({"role": "assistant", "content": "" if reply.text else None, "refusal": None})
    for piece in _pieces(reply.text):
        yield chunk({"content": piece})
    for n, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield chunk(
            {"tool_calls": [{"index": n, "id": _chat_id(reply, n, call), "type": "function", "function": function}]}
        )
        for piece in _pieces(call.text):
            yield chunk({"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    if usage:
        yield {**head, "choices": [], "usage": _chat_usage(reply)}


# -- Anthropic Messages


def _anthropic_usage(reply: Reply) -> dict[str, Any]:
    return {
        "input_tokens": reply.read_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": reply.written_tokens,
    }  # fmt: skip


def _blocks(reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.thinking:
        yield {"type": "thinking", "thinking": reply.thinking, "signature": f"sig-{reply.id}"}
    if reply.text:
        yield {"type": "text", "text": reply.text}
    for n, call in enumerate(reply.calls):
        given = json.loads(call.arguments) if isinstance(call.arguments, str) else dict(call.arguments)
        yield {"type": "tool_use", "id": call.id or f"toolu_{reply.id}_{n}", "name": call.name, "input": given}


def _anthropic(reply: Reply, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{reply.id}", "type": "message", "role": "assistant", "model": model,
        "content": list(_blocks(reply)), "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None, "usage": _anthropic_usage(reply),
    }  # fmt: skip


def _anthropic_events(reply: Reply, model: str) -> Iterator[dict[str, Any]]:
    whole = _anthropic(reply, model)
    usage = {**whole["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "usage": usage}}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        empty, deltas = _block_deltas(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": reply.written_tokens}}
    yield {"type": "message_stop"}


def _block_deltas(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": p} for p in _pieces(block["thinking"])]
            sign = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*deltas, sign]
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": p} for p in _pieces(block["text"])]
        case _:
            text = json.dumps(block["input"])
            # The real ones begin with an empty piece.
            pieces = ["", *_pieces(text)]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in pieces]


# -- Responses


def _items(reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.thinking:
        yield {"type": "reasoning", "id": f"rs_{reply.id}", "summary": [], "encrypted_content": f"enc-{reply.id}"}
    if reply.text:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        yield {
            "type": "message", "id": f"msg_{reply.id}", "role": "assistant", "status": "completed", "content": [part],
        }  # fmt: skip
    for n, call in enumerate(reply.calls):
        yield {
            "type": "function_call", "id": f"fc_{reply.id}_{n}", "call_id": _chat_id(reply, n, call),
            "name": call.name, "arguments": call.text, "status": "completed",
        }  # fmt: skip


def _responses(reply: Reply, model: str) -> dict[str, Any]:
    read, written = reply.read_tokens, reply.written_tokens
    usage = {
        "input_tokens": read, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": read + written,
    }  # fmt: skip
    return {
        "id": f"resp_{reply.id}", "object": "response", "created_at": 1, "model": model, "status": "completed",
        "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, "output": list(_items(reply)),
        "usage": usage,
    }  # fmt: skip


def _responses_events(reply: Reply, model: str) -> Iterator[dict[str, Any]]:
    whole = _responses(reply, model)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(whole["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": _begun(item)}
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            yield from _text_events(item["content"][0], {**place, "content_index": 0})
        elif item["type"] == "function_call":
            for piece in _pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            told = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **place, **told}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}


def _begun(item: Mapping[str, Any]) -> dict[str, Any]:
    match item["type"]:
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "function_call":
            return {**item, "status": "in_progress", "arguments": ""}
        case _:
            return dict(item)


def _text_events(part: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in _pieces(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}
