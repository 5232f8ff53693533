"""The blocks of an Anthropic message: what each says, and how a message looks with some of them changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldaway.model.wire import Edit, Message, PartType
from foldaway.wire import _common as c
from foldaway.wire._common import Change, Place

TEXT = frozenset({"text"})
THINKING = frozenset({"thinking", "redacted_thinking"})
MARKS_ALLOWED = 4
"""Cache marks that a request may have, those on tools and system included."""


def is_empty(message: Message) -> bool:
    content = message.get("content")
    return not content if isinstance(content, list) else c.is_blank(content)


def is_thinking_only(message: Message) -> bool:
    content = message.get("content")
    return isinstance(content, list) and bool(content) and all(block.get("type") in THINKING for block in content)


def places(message: Message) -> list[Place]:
    role = c.as_str(message.get("role"))
    content = message.get("content")
    if isinstance(content, list):
        return [_place(index, block, role) for index, block in enumerate(content)]
    return [Place("content", -1, PartType.TEXT, role, c.as_str(content))]


def _place(index: int, block: Mapping[str, Any], role: str) -> Place:
    kind = c.as_str(block.get("type"))
    if kind == "text" and isinstance(block.get("text"), str):
        return Place("content", index, PartType.TEXT, role, block["text"])
    if kind == "tool_result" and role == "user":
        call_id = c.as_str(block.get("tool_use_id"))
        text = content_text(block.get("content"))
        error = block.get("is_error") is True
        return Place("content", index, PartType.RESULT, "tool", text, call_id, is_error=error)
    if kind == "tool_use" and role == "assistant":
        given = block.get("input")
        call_id, name = c.as_str(block.get("id")), c.as_str(block.get("name"))
        return Place("content", index, PartType.CALL, role, c.dump(given), call_id, name, given)
    if kind in THINKING:
        return Place("content", index, PartType.REASONING, role, c.as_str(block.get("thinking")))
    if kind == "image":
        return Place("content", index, PartType.IMAGE, role, "")
    if kind in ("document", "search_result"):
        return Place("content", index, PartType.DOCUMENT, role, _document_text(block))
    # The provider's own tools: call and result stand in one message and are tied by this id.
    tie = c.as_str(block.get("tool_use_id")) or c.as_str(block.get("id"))
    return Place("content", index, PartType.OTHER, role, c.dump(block), tie, c.as_str(block.get("name")))


def content_text(content: Any) -> str:
    """What the model reads of a result: its texts, one under the other; of unknown blocks their JSON."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        return c.dump(content)
    texts = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif kind in ("document", "search_result"):
            texts.append(_document_text(block))
        elif kind != "image":
            texts.append(c.dump(block))
    return "\n".join(texts)


def _document_text(block: Mapping[str, Any]) -> str:
    if block.get("type") == "search_result":
        return content_text(block.get("content"))
    source = block.get("source")
    if isinstance(source, dict):
        if source.get("type") == "text":
            return c.as_str(source.get("data"))
        if source.get("type") == "content":
            return content_text(source.get("content"))
    return ""


def as_blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [] if c.is_blank(content) else [{"type": "text", "text": content}]
    return list(content or ())


def loose_result(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A result without a call as what a user message may hold: its text, then its pictures. [] when it says nothing."""
    content = block.get("content")
    text = content_text(content)
    pictures = (
        [inner for inner in content if isinstance(inner, dict) and inner.get("type") == "image"]
        if isinstance(content, list)
        else []
    )
    if c.is_blank(text) and not pictures:
        return []
    return [{"type": "text", "text": f"{c.LOOSE_RESULT}\n{text}".rstrip()}, *pictures]


def mended_result(block: dict[str, Any]) -> dict[str, Any]:
    content = block.get("content")
    if not isinstance(content, list) or not all(isinstance(inner, dict) for inner in content):
        return block
    kept = c.without_blank_texts(content, TEXT)
    return block if kept is content else {**block, "content": kept or ""}


def rewrite(message: Message, changes: Sequence[Change]) -> Message | None:
    content = message.get("content")
    if not isinstance(content, list):
        edit = changes[0][1]
        text = content if edit is None else edit.text
        return None if c.is_blank(text) else {**message, "content": text}
    changed = [_block_after(content[place.at], place, edit) for place, edit in changes]
    blocks = [block for block in changed if block is not None]
    return {**message, "content": blocks} if blocks else None


def without_lone_thinking(messages: list[Message]) -> list[Message]:
    """Thinking belongs to what the assistant said after it; with nothing left of that, it goes, too."""
    out: list[Message] = []
    for message in reversed(messages):
        said_after = bool(out) and out[-1].get("role") == "assistant"
        if said_after or message.get("role") != "assistant" or not is_thinking_only(message):
            out.append(message)
    out.reverse()
    return out


def _block_after(block: dict[str, Any], place: Place, edit: Edit | None) -> dict[str, Any] | None:
    if edit is None:
        return block
    if edit.drop:
        return None
    if place.type is PartType.CALL:
        return {**block, "input": edit.arguments}
    text = edit.text or ""
    match place.type:
        case PartType.RESULT:
            return _result_after(block, text)
        case PartType.TEXT:
            return None if c.is_blank(text) else {**block, "text": text}
        case PartType.IMAGE | PartType.DOCUMENT:
            return None if c.is_blank(text) else {"type": "text", "text": text, **_mark_of(block)}
        case _:
            return block


def _result_after(block: dict[str, Any], text: str) -> dict[str, Any]:
    if c.is_blank(text):
        return {**c.without(block, ["cache_control"]), "content": ""}
    old = block.get("content")
    if not isinstance(old, list):
        return {**block, "content": text}
    marks = [_mark_of(inner) for inner in old if isinstance(inner, Mapping) and "cache_control" in inner]
    return {**block, "content": [{"type": "text", "text": text, **(marks[-1] if marks else {})}]}


def _mark_of(block: Mapping[str, Any]) -> dict[str, Any]:
    return {"cache_control": block["cache_control"]} if "cache_control" in block else {}


def count_marks(value: Any) -> int:
    """Cache marks on blocks of a list (system blocks, tools, messages), those inside results included."""
    return sum(1 for _ in _marked(value)) if isinstance(value, (list, tuple)) else 0


def _marked(blocks: Sequence[Any]) -> Iterator[None]:
    for block in blocks:
        if isinstance(block, dict):
            if block.get("cache_control"):
                yield None
            inner = block.get("content")
            if isinstance(inner, list):
                yield from _marked(inner)


def limit_marks(messages: Sequence[Message], most: int = MARKS_ALLOWED) -> list[Message]:
    """Messages with only the last `most` cache marks left, as a request with more is refused.

    Marks on tools and system count, too: a caller that knows them asks for `MARKS_ALLOWED` less these.
    """
    excess = count_marks(messages) - max(most, 0)
    out = list(messages)
    for index, message in enumerate(out):
        if excess <= 0:
            break
        here = count_marks([message])
        if here:
            out[index] = _unmarked(message, min(here, excess))
            excess -= here
    return out


def _unmarked(block: dict[str, Any], first: int) -> dict[str, Any]:
    """A copy without its first `first` marks, in reading order."""
    out = dict(block)
    if first and out.get("cache_control"):
        del out["cache_control"]
        first -= 1
    inner = out.get("content")
    if first and isinstance(inner, list):
        copies = []
        for child in inner:
            here = min(count_marks([child]), first)
            copies.append(_unmarked(child, here) if here else child)
            first -= here
        out["content"] = copies
    return out
