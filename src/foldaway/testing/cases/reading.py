"""Reading messages of the three formats, apart from `foldaway.wire`: the judge shares no code with the judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]

# Output types that are not simply "<call type>_output".
_OUTPUT_TYPES = {"function_call": "function_call_output", "tool_search_call": "tool_search_output"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    message: int
    id: str
    type: str
    arguments: Any
    """As sent: a JSON text (OpenAI) or an object (Anthropic). None for calls that carry something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    message: int
    id: str
    type: str
    text: str
    block: dict[str, Any]


def canonical(node: Any) -> str:
    """One text for equal JSON, whatever the order of keys."""
    return json.dumps(node, sort_keys=True, ensure_ascii=True)


def as_bytes(node: Any) -> str:
    """The JSON as it would be sent: order of keys kept."""
    return json.dumps(node, ensure_ascii=True, separators=(",", ":"))


def role_of(message: Message) -> str:
    """system, developer, user, assistant or tool; for Responses items the role their kind stands for."""
    if isinstance(role := message.get("role"), str):
        return role
    kind = str(message.get("type", ""))
    if kind.endswith("_output"):
        return "tool"
    return "assistant" if kind.endswith("_call") or kind == "reasoning" else "other"


def leaves(node: Any) -> Iterator[str]:
    """Every string in it, values only."""
    stack = [node]
    while stack:
        match stack.pop():
            case str(text):
                yield text
            case dict() as branch:
                stack.extend(reversed(list(branch.values())))
            case list() as branch:
                stack.extend(reversed(branch))


def blocks(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def flat_text(content: Any) -> str:
    """The text of a result's content: a string, or the text blocks of a list joined by line breaks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (block.get("text") for block in content if isinstance(block, dict))
        return "\n".join(text for text in texts if isinstance(text, str))
    return "" if content is None else as_bytes(content)


def calls_of(message: Message, index: int = 0) -> list[Call]:
    """The calls that this message makes and that the client must answer."""
    found = []
    for call in message.get("tool_calls") or []:
        body = call.get("function") or call.get("custom") or {}
        arguments = body.get("arguments", body.get("input"))
        found.append(Call(message=index, id=str(call.get("id")), type="function_call", arguments=arguments))
    for block in blocks(message):
        if block.get("type") == "tool_use":
            found.append(Call(message=index, id=str(block.get("id")), type="tool_use", arguments=block.get("input")))
    kind = str(message.get("type", ""))
    if kind.endswith("_call") and message.get("call_id") is not None:
        found.append(Call(message=index, id=str(message["call_id"]), type=kind, arguments=message.get("arguments")))
    return found


def results_of(message: Message, index: int = 0) -> list[Result]:
    if message.get("role") == "tool":
        text = flat_text(message.get("content"))
        return [Result(message=index, id=str(message.get("tool_call_id")), type="tool", text=text, block=message)]
    kind = str(message.get("type", ""))
    if kind.endswith("_output"):
        text = flat_text(message.get("output"))
        return [Result(message=index, id=str(message.get("call_id")), type=kind, text=text, block=message)]
    return [
        Result(
            message=index,
            id=str(block.get("tool_use_id")),
            type="tool_result",
            text=flat_text(block.get("content")),
            block=block,
        )
        for block in blocks(message)
        if block.get("type") == "tool_result"
    ]


def calls(messages: Sequence[Message]) -> list[Call]:
    return [call for index, message in enumerate(messages) for call in calls_of(message, index)]


def results(messages: Sequence[Message]) -> list[Result]:
    return [result for index, message in enumerate(messages) for result in results_of(message, index)]


def spoken(message: Message) -> str:
    """What the message's own role says in plain text: no calls, no results, no thinking."""
    content = message.get("content")
    if message.get("role") == "tool":
        return ""
    if isinstance(content, str):
        return content
    kinds = ("text", "input_text", "output_text")
    return "\n".join(str(b.get("text") or "") for b in blocks(message) if b.get("type") in kinds)


def texts_by_role(message: Message) -> list[tuple[str, str]]:
    """(role, text) of each piece: results count as tool, all else as the message's own role."""
    found = [("tool", text) for result in results_of(message) for text in leaves(_result_content(result.block))]
    if message.get("role") == "tool" or str(message.get("type", "")).endswith("_output"):
        return found
    own: dict[str, Any] = {k: v for k, v in message.items() if k not in ("role", "type", "id", "call_id", "content")}
    own["content"] = message.get("content")
    if blocks(message):
        own["content"] = [b for b in message["content"] if not _is_result(b)]
    return found + [(role_of(message), text) for text in leaves(own)]


def _result_content(block: dict[str, Any]) -> Any:
    return block.get("output") if "output" in block else block.get("content")


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def pair_faults(format: str, messages: Sequence[Message]) -> list[str]:
    """Where calls and results are not as the provider wants them; [] when all is well."""
    if format == "openai_chat":
        return list(_chat_faults(messages))
    if format == "anthropic_messages":
        return list(_anthropic_faults(messages))
    return list(_responses_faults(messages))


def _chat_faults(messages: Sequence[Message]) -> Iterator[str]:
    index = 0
    while index < len(messages):
        message = messages[index]
        if message.get("role") == "tool":
            yield f"message {index}: the result of {message.get('tool_call_id')} has no call directly above"
        wanted = [call.id for call in calls_of(message)]
        index += 1
        if not wanted:
            continue
        start = index
        while index < len(messages) and messages[index].get("role") == "tool":
            index += 1
        got = [str(messages[at].get("tool_call_id")) for at in range(start, index)]
        yield from _compare(f"message {start - 1}", wanted, got)


def _anthropic_faults(messages: Sequence[Message]) -> Iterator[str]:
    for index, message in enumerate(messages):
        wanted = [call.id for call in calls_of(message)]
        before = [call.id for call in calls_of(messages[index - 1])] if index else []
        if not before:
            for result in results_of(message):
                yield f"message {index}: the result of {result.id} has no call in the message above"
        if not wanted:
            continue
        if message.get("role") != "assistant":
            yield f"message {index}: calls in a message of role {message.get('role')}"
        follower = messages[index + 1] if index + 1 < len(messages) else {}
        if follower.get("role") != "user":
            yield f"message {index}: no user message with the results of {', '.join(wanted)} behind it"
            continue
        content = follower.get("content")
        content = content if isinstance(content, list) else []
        front = 0
        while front < len(content) and _is_result(content[front]):
            front += 1
        if any(_is_result(block) for block in content[front:]):
            yield f"message {index + 1}: results stand behind other blocks"
        got = [str(block.get("tool_use_id")) for block in content if _is_result(block)]
        yield from _compare(f"message {index}", wanted, got)


def _responses_faults(messages: Sequence[Message]) -> Iterator[str]:
    waiting: dict[str, str] = {}
    for index, item in enumerate(messages):
        for call in calls_of(item, index):
            if call.id in waiting:
                yield f"item {index}: call {call.id} is made again before its output"
            waiting[call.id] = _OUTPUT_TYPES.get(call.type, f"{call.type}_output")
        for result in results_of(item, index):
            wanted = waiting.pop(result.id, None)
            if wanted is None:
                yield f"item {index}: output of {result.id} without a call in front"
            elif wanted != result.type:
                yield f"item {index}: {result.type} answers for {result.id}, which wants {wanted}"
    for call_id in waiting:
        yield f"call {call_id} has no output"


def _compare(where: str, wanted: list[str], got: list[str]) -> Iterator[str]:
    if len(set(wanted)) != len(wanted):
        yield f"{where}: the same call id twice in one message"
    if missing := [each for each in wanted if each not in got]:
        yield f"{where}: no result for {', '.join(missing)}"
    if loose := [each for each in got if each not in wanted]:
        yield f"{where}: results that nobody asked for: {', '.join(loose)}"
    if len(set(got)) != len(got):
        yield f"{where}: a call has two results"


# A picture's price by the plain estimate, whatever its bytes.
_PICTURE_TOKENS = 1500
_PICTURES = frozenset({"image", "image_url", "input_image"})


def plain_estimate(*nodes: Any) -> int:
    """Tokens of the JSON: a quarter of the ASCII bytes, one for any other character, 1500 for a picture."""
    pictures = 0

    def without_pictures(node: Any) -> Any:
        nonlocal pictures
        if isinstance(node, dict):
            if node.get("type") in _PICTURES:
                pictures += 1
                return {}
            return {key: without_pictures(value) for key, value in node.items()}
        return [without_pictures(each) for each in node] if isinstance(node, list) else node

    text = "".join(
        json.dumps(without_pictures(node), ensure_ascii=False, separators=(",", ":"))
        for node in nodes
        if node is not None
    )
    wide = len(text) - sum(character < "\x80" for character in text) if not text.isascii() else 0
    return (len(text) - wide + 3) // 4 + wide + pictures * _PICTURE_TOKENS
