"""Whether a provider would take a message list: the rules of each format, read without the code that parses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from foldaway.errors import SettingsError
from foldaway.model.wire import Message, Quirks


def problems(format: str, messages: Sequence[Message], quirks: Quirks = Quirks()) -> list[str]:
    """What is wrong with `messages`, each with its position; [] when they are legal.

    Pairs valid and side by side, no second result, nothing empty, first role legal, reasoning followed; with quirks
    also roles in turn and the last role. Shapes and fields beyond that are not looked at. Linear.
    """
    rules = _RULES.get(format)
    if rules is None:
        raise SettingsError(f"unknown format {format!r}; choose from {', '.join(sorted(_RULES))}")
    found = list(rules(messages))
    if quirks.strict_alternation:
        found += _not_in_turn(messages, format)
    if quirks.no_prefill and messages and messages[-1].get("role") == "assistant":
        found.append(f"{len(messages) - 1}: the last message is from the assistant")
    return found


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip() == "")


def _empty_parts(at: int, content: Any) -> Iterator[str]:
    if content == [] or _blank(content):
        yield f"{at}: no content"
    elif isinstance(content, list):
        for index, block in enumerate(content):
            if block.get("type") in ("text", "input_text", "output_text") and _blank(block.get("text")):
                yield f"{at}: content[{index}] is a blank text"


def _chat(messages: Sequence[Message]) -> Iterator[str]:
    expected: Counter[tuple[str, Any]] = Counter()
    for at, message in enumerate(messages):
        role = message.get("role")
        if role in ("tool", "function"):
            key = ("function", message.get("name")) if role == "function" else ("tool", message.get("tool_call_id"))
            if expected[key] <= 0:
                yield f"{at}: result {key[1]!r} without a call directly above, or a second result"
            expected[key] -= 1
            if message.get("content") is None or message.get("content") == []:
                yield f"{at}: a result without content"
            continue
        yield from _unanswered(at, expected)
        expected = Counter()
        if role == "assistant":
            expected.update(("tool", call.get("id")) for call in message.get("tool_calls") or ())
            if message.get("function_call"):
                expected[("function", message["function_call"].get("name"))] += 1
            said = any(message.get(key) for key in ("refusal", "audio"))
            if not (expected or said) or isinstance(message.get("content"), list):
                yield from _empty_parts(at, message.get("content"))
        elif role == "user":
            yield from _empty_parts(at, message.get("content"))
    yield from _unanswered(len(messages), expected)


def _unanswered(at: int, expected: Counter[tuple[str, Any]]) -> Iterator[str]:
    for (_, name), count in expected.items():
        if count > 0:
            yield f"{at}: call {name!r} above has no result"


def _anthropic(messages: Sequence[Message]) -> Iterator[str]:
    roles = [message.get("role") for message in messages if message.get("role") != "system"]
    if roles and roles[0] != "user":
        yield f"0: the first message is from {roles[0]}, not from the user"
    called: list[str] = []
    marks = 0
    for at, message in enumerate(messages):
        content = message.get("content")
        yield from _empty_parts(at, content)
        blocks = content if isinstance(content, list) else []
        results = [index for index, block in enumerate(blocks) if block.get("type") == "tool_result"]
        given = sorted(str(blocks[index].get("tool_use_id")) for index in results)
        if given != sorted(called):
            yield f"{at}: results {given} for the calls {sorted(called)} of the message above"
        if results != list(range(len(results))):
            yield f"{at}: results are not at the front of the message"
        if results and message.get("role") != "user":
            yield f"{at}: results in a message of role {message.get('role')}"
        called = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if called and message.get("role") != "assistant":
            yield f"{at}: calls in a message of role {message.get('role')}"
        for block in blocks:
            inner = block.get("content")
            marks += sum(
                1
                for candidate in [block, *(inner if isinstance(inner, list) else [])]
                if isinstance(candidate, dict) and candidate.get("cache_control")
            )
        if blocks and all(block.get("type") in ("thinking", "redacted_thinking") for block in blocks):
            following = messages[at + 1].get("role") if at + 1 < len(messages) else None
            if following != "assistant":
                yield f"{at}: thinking with nothing behind it"
    if called:
        yield f"{len(messages)}: calls {called} have no result"
    if marks > 4:
        yield f"{marks} cache marks; at most 4 are taken"


_ANSWERS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "computer_call_output": "computer_call",
    "tool_search_output": "tool_search_call",
}


def _responses(items: Sequence[Message]) -> Iterator[str]:
    waiting: Counter[tuple[str, Any]] = Counter()
    referenced = False
    reasoning = False
    for at, item in enumerate(items):
        kind = item.get("type") or ("message" if "role" in item else "item_reference")
        if kind in _ANSWERS:
            key = (_ANSWERS[kind], item.get("call_id") or (item.get("id") if kind.startswith("local_shell") else None))
            if waiting[key] > 0:
                waiting[key] -= 1
            elif not referenced:
                yield f"{at}: {kind} {key[1]!r} without a call of its type above, or a second output"
        elif kind in _ANSWERS.values():
            own_id = item.get("id") if kind == "local_shell_call" else None
            waiting[(kind, item.get("call_id") or own_id)] += 1
        foreign = kind == "message" and item.get("role") != "assistant"
        if foreign and waiting.total():
            yield f"{at}: a message between a call and its output"
        if reasoning and (foreign or kind in _ANSWERS):
            yield f"{at - 1}: a reasoning item in front of something that is not its follower"
        reasoning = kind == "reasoning"
        referenced = kind == "item_reference" or (referenced and kind in _ANSWERS)
        if kind == "message" and item.get("role") in ("user", "assistant"):
            yield from _empty_parts(at, item.get("content"))
    for (kind, name), count in waiting.items():
        if count > 0:
            yield f"{len(items)}: {kind} {name!r} has no output"
    if reasoning:
        yield f"{len(items) - 1}: a reasoning item with nothing behind it"


def _not_in_turn(messages: Sequence[Message], format: str) -> Iterator[str]:
    before = ""
    waiting = 0
    for at, message in enumerate(messages):
        role = message.get("role")
        kind = message.get("type")
        waiting = max(0, waiting + (kind in _ANSWERS.values()) - (kind in _ANSWERS))
        if waiting > 0:
            continue
        calls = message.get("tool_calls") or message.get("function_call")
        if role not in ("user", "assistant") or calls:
            continue
        if role == before or (not before and role == "assistant" and format != "anthropic_messages"):
            yield f"{at}: {role} again, or first; user and assistant must take turns"
        before = role


_RULES: dict[str, Callable[[Sequence[Message]], Iterator[str]]] = {
    "openai_chat": _chat,
    "anthropic_messages": _anthropic,
    "openai_responses": _responses,
}
