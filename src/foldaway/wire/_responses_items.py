"""The item types of the Responses API: which call has which output, what each says, and how it looks when changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.model.wire import Edit, Message, PartType
from foldaway.wire import _common as c
from foldaway.wire._common import Change, Place

OUTPUT_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
"""Calls that the client answers, and the type of the answer."""
CALL_OF = {output: call for call, output in OUTPUT_OF.items()}
OUTPUTS = frozenset(OUTPUT_OF.values())
SERVER_CALLS = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
)
"""Calls that the provider answered itself: the result, if any, is a field of the call."""
TEXT_TYPES = frozenset({"input_text", "output_text", "text"})

_TEXT_FIELDS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
_IMAGES = frozenset({"input_image", "output_image", "computer_screenshot"})
_DOCUMENTS = frozenset({"input_file", "input_audio"})
# Where a call keeps its arguments. Of these only `arguments` and `input` are the model's free text.
_ARGUMENT_FIELDS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
    "tool_search_call": "arguments",
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "mcp_call": "arguments",
}
_RESULT_FIELDS = {
    "mcp_call": "output",
    "code_interpreter_call": "outputs",
    "file_search_call": "results",
    "image_generation_call": "result",
}


def type_of(item: Message) -> str:
    """The item's type; messages may leave it out, and so may references."""
    kind = item.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if isinstance(item.get("role"), str):
        return "message"
    return "item_reference" if isinstance(item.get("id"), str) else ""


def is_reasoning(item: Message) -> bool:
    kind = type_of(item)
    # A reference to a stored reasoning item is known by its id only.
    return kind == "reasoning" or (kind == "item_reference" and c.as_str(item.get("id")).startswith("rs_"))


def is_empty(item: Message) -> bool:
    """A user or assistant message that says nothing."""
    if type_of(item) != "message" or item.get("role") not in ("user", "assistant"):
        return False
    content = item.get("content")
    return not content if isinstance(content, list) else c.is_blank(content)


def call_ids(item: Message) -> tuple[str, str]:
    """The ids by which an output may name this call: its call_id, and its own id."""
    return c.as_str(item.get("call_id")), c.as_str(item.get("id"))


def content_text(content: Any) -> str:
    """What the model reads of an output: its texts, one under the other; of unknown blocks their JSON."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        return "" if isinstance(content, dict) and content.get("type") in _IMAGES else c.dump(content)
    return "\n".join(text for text in map(_block_text, content) if text is not None)


def _block_text(block: Any) -> str | None:
    if isinstance(block, dict):
        kind = c.as_str(block.get("type"))
        text = block.get(_TEXT_FIELDS.get(kind, ""))
        if isinstance(text, str):
            return text
        if kind == "logs":
            return c.as_str(block.get("logs"))
        if "stdout" in block:
            printed = [block.get(key) for key in ("stdout", "stderr")]
            return "\n".join(text for text in printed if isinstance(text, str) and text)
        if kind in _IMAGES or kind in _DOCUMENTS or kind == "image":
            return None
    return c.dump(block)


def places(item: Message) -> list[Place]:
    kind = type_of(item)
    if kind == "message":
        return _message_places(item)
    if is_reasoning(item):
        return [Place("item", -1, PartType.REASONING, "assistant", _reasoning_text(item))]
    if kind in OUTPUTS:
        text = content_text(item.get("tools" if kind == "tool_search_output" else "output"))
        return [Place("result", -1, PartType.RESULT, "tool", text, _pair_id(item, kind), is_error=_failed(item))]
    if kind in OUTPUT_OF:
        return [_call_place(item, kind, _pair_id(item, kind))]
    if kind in SERVER_CALLS:
        return _server_call_places(item, kind)
    role = "assistant" if kind.endswith("_call") else "system"
    return [Place("item", -1, PartType.OTHER, role, c.dump(item))]


def _message_places(item: Message) -> list[Place]:
    role = c.as_str(item.get("role"))
    content = item.get("content")
    if not isinstance(content, list) or not content:
        return [Place("content", -1, PartType.TEXT, role, c.as_str(content))]
    found = []
    for index, block in enumerate(content):
        kind = c.as_str(block.get("type"))
        text = block.get(_TEXT_FIELDS.get(kind, ""))
        if isinstance(text, str):
            found.append(Place("content", index, PartType.TEXT, role, text))
        elif kind in _IMAGES:
            found.append(Place("content", index, PartType.IMAGE, role, ""))
        elif kind in _DOCUMENTS:
            found.append(Place("content", index, PartType.DOCUMENT, role, ""))
        else:
            found.append(Place("content", index, PartType.OTHER, role, c.dump(block)))
    return found


def _reasoning_text(item: Message) -> str:
    texts = []
    for key in ("summary", "content"):
        blocks = item.get(key)
        if isinstance(blocks, list):
            texts += [c.as_str(block.get("text")) for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if text)


def _pair_id(item: Message, kind: str) -> str:
    """What a call and its output share."""
    call_id, own_id = call_ids(item)
    # The outputs of local shell calls may go without call_id: their own id names the call.
    return call_id or (own_id if kind.startswith("local_shell") else "")


def _failed(item: Message) -> bool:
    return item.get("status") in ("failed", "incomplete")


def _call_place(item: Message, kind: str, call_id: str) -> Place:
    raw = item.get(_ARGUMENT_FIELDS.get(kind, ""))
    if kind == "computer_call" and raw is None:
        raw = item.get("actions")
    text = raw if isinstance(raw, str) else "" if raw is None else c.dump(raw)
    name = c.as_str(item.get("name")) or kind.removesuffix("_call")
    if kind == "code_interpreter_call":
        arguments: Any = {"code": text}
    elif kind == "file_search_call":
        arguments = {"queries": raw}
    else:
        arguments = c.parse_arguments(raw)
    return Place("call", -1, PartType.CALL, "assistant", text, call_id, name, arguments)


def _server_call_places(item: Message, kind: str) -> list[Place]:
    call_id = c.as_str(item.get("id"))
    call = _call_place(item, kind, call_id)
    key = _RESULT_FIELDS.get(kind, "")
    result = item.get(key)
    if result is None and item.get("error") is None:
        return [call]
    # A generated picture is base64: nothing of it is text to the model.
    text = "" if kind == "image_generation_call" else content_text(result)
    error = item.get("error")
    if error is not None and not text:
        text = error if isinstance(error, str) else c.dump(error)
    failed = error is not None or _failed(item)
    return [call, Place("own_result", -1, PartType.RESULT, "tool", text, call_id, call.name, is_error=failed)]


def stand_in(call: Message, text: str = c.NO_RESULT) -> Message | None:
    """An output of the call's own type that says `text`; None where the type cannot carry a text."""
    kind = type_of(call)
    call_id, own_id = call_ids(call)
    output: Message = {"type": OUTPUT_OF[kind], "call_id": call_id}
    match kind:
        case "function_call" | "custom_tool_call":
            return {**output, "output": text}
        case "local_shell_call":
            return {"type": output["type"], "id": own_id or call_id, "call_id": call_id or own_id, "output": text}
        case "apply_patch_call":
            return {**output, "status": "failed", "output": text}
        case "shell_call":
            outcome = {"type": "exit", "exit_code": 1}
            return {**output, "output": [{"stdout": text, "stderr": "", "outcome": outcome}]}
        case "tool_search_call":
            execution = call.get("execution", "client")
            return {**output, "call_id": call.get("call_id"), "execution": execution, "tools": []}
        case _:
            return None


def rewrite(item: Message, changes: Sequence[Change]) -> Message | None:
    kind = type_of(item)
    if kind == "message":
        return _rewrite_message(item, changes)
    if any(edit is not None and edit.drop for _, edit in changes):
        return None
    out = item
    for place, edit in changes:
        if edit is None:
            continue
        if place.where == "call" and edit.arguments is not None:
            out = _with_arguments(out, kind, edit.arguments)
        elif place.where == "result" and edit.text is not None:
            out = _with_output(out, kind, edit.text)
        elif place.where == "own_result" and edit.text is not None and kind == "mcp_call":
            out = {**out, "output": edit.text}
        elif place.where == "own_result" and edit.text is not None and kind == "code_interpreter_call":
            out = {**out, "outputs": [{"type": "logs", "logs": edit.text}]}
    return out


def _with_arguments(item: Message, kind: str, arguments: Mapping[str, Any]) -> Message:
    if kind in ("function_call", "mcp_call"):
        return {**item, "arguments": c.dump(arguments)}
    if kind == "custom_tool_call":
        return {**item, "input": c.dump(arguments)}
    return item


def _with_output(item: Message, kind: str, text: str) -> Message:
    old = item.get("output")
    if kind in ("function_call_output", "custom_tool_call_output"):
        as_list = isinstance(old, list) and not c.is_blank(text)
        return {**item, "output": [{"type": "input_text", "text": text}] if as_list else text}
    if kind in ("local_shell_call_output", "apply_patch_call_output"):
        return {**item, "output": text}
    if kind == "shell_call_output" and isinstance(old, list) and old:
        # One entry a command: the count stays, the whole text goes to the first.
        texts = [text] + [""] * (len(old) - 1)
        return {**item, "output": [{**entry, "stdout": t, "stderr": ""} for entry, t in zip(old, texts, strict=True)]}
    return item


def _rewrite_message(item: Message, changes: Sequence[Change]) -> Message | None:
    content = item.get("content")
    if not isinstance(content, list):
        edit = changes[0][1]
        text = content if edit is None else edit.text
        return None if c.is_blank(text) else {**item, "content": text}
    text_type = "output_text" if item.get("role") == "assistant" else "input_text"
    blocks = []
    for place, edit in changes:
        block = content[place.at]
        if edit is None or (edit.text is not None and place.type is PartType.OTHER):
            blocks.append(block)
        elif edit.text is not None and not c.is_blank(edit.text):
            blocks.append(_text_after(block, place, edit, text_type))
    return {**item, "content": blocks} if blocks else None


def _text_after(block: dict[str, Any], place: Place, edit: Edit, text_type: str) -> dict[str, Any]:
    if place.type is PartType.TEXT:
        return {**block, _TEXT_FIELDS[block["type"]]: edit.text}
    return {"type": text_type, "text": edit.text}
