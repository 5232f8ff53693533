"""LangChain messages as they are serialised: `lc` constructors, plain dicts with a type, or a LangGraph thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import Draft, chat_assistant, chat_call, chat_result, text_of
from foldaway.readers._source import DocumentFormat, Log

TYPES = {
    "human",
    "ai",
    "tool",
    "system",
    "HumanMessageChunk",
    "AIMessageChunk",
    "ToolMessageChunk",
    "SystemMessageChunk",
}
CLASSES = {"HumanMessage": "human", "AIMessage": "ai", "ToolMessage": "tool", "SystemMessage": "system"}


def _typed(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Kind and fields of one serialised message; None where it is none."""
    if not isinstance(value, Mapping):
        return None
    kind = value.get("type")
    if "lc" in value and kind == "constructor" and isinstance(value.get("kwargs"), Mapping):
        name = str((value.get("id") or [""])[-1]).removesuffix("Chunk")
        return (CLASSES[name], value["kwargs"]) if name in CLASSES else None
    if kind in TYPES:
        data = value.get("data")
        kind = str(kind).removesuffix("MessageChunk").lower()
        return (kind, data) if isinstance(data, Mapping) else (kind, value) if "content" in value else None
    return None


def _find(value: Any) -> list[Any] | None:
    """The list of messages, wherever the document keeps it."""
    if isinstance(value, list):
        return value if any(_typed(item) for item in value[:5]) else None
    if not isinstance(value, Mapping):
        return None
    places = [value.get("values"), *(v for k, v in value.items() if "messages" in k.lower()), value.get("history")]
    return next((found for place in places if place is not value and (found := _find(place))), None)


def _plain(kind: str, message: Mapping[str, Any]) -> Message | None:
    extra = message.get("additional_kwargs") or {}
    if kind == "tool":
        return chat_result(message["tool_call_id"], text_of(message["content"]))
    if kind != "ai":
        return {"role": {"human": "user"}.get(kind, kind), "content": message["content"]}
    content = message["content"]
    calls = [chat_call(c["id"], c["name"], c["args"]) for c in message.get("tool_calls") or ()]
    # Anthropic's blocks repeat the calls that stand under tool_calls.
    texts = (
        [b for b in content if isinstance(b, str) or b.get("type") == "text"] if isinstance(content, list) else content
    )
    plain = chat_assistant(text_of(texts), calls)
    if extra.get("reasoning_content"):
        plain["reasoning_content"] = extra["reasoning_content"]
    # Marks of the user interface, never sent to a model.
    return None if extra.get("hidden") and not calls else plain


def _read(value: Any, log: Log) -> Iterator[Recorded]:
    draft = Draft()
    for number, item in enumerate(_find(value) or ()):
        with log.guard(0, f"a LangChain message as element {number}"):
            kind, message = _typed(item) or ("", {})
            plain = _plain(kind, message)
            if plain is None:
                continue
            at = draft.add(plain)
            if kind == "ai":
                response = message.get("response_metadata") or {}
                usage = message.get("usage_metadata") or response.get("token_usage") or response.get("usage")
                if usage:
                    draft.usage[at] = usage
                draft.model = draft.model or str(response.get("model_name") or response.get("model") or "")
    format = "langgraph" if isinstance(value, Mapping) and "values" in value else "langchain"
    yield draft.recorded(log.name(), format, "openai_chat")


DOCUMENT = DocumentFormat("langchain", lambda value: _find(value) is not None, _read)
