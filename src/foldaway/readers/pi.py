"""pi session files: messages in pi's own shape, told here as Anthropic messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import ENVIRONMENT, Draft
from foldaway.readers._source import LineFormat, Log


def _knows(record: Mapping[str, Any]) -> bool:
    if record.get("type") == "session":
        return "id" in record and "cwd" in record
    message = record.get("message")
    return record.get("type") == "message" and isinstance(message, Mapping) and "role" in message


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "toolCall":
            return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block.get("arguments") or {}}
        case "thinking" if block.get("thinkingSignature"):
            return {"type": "thinking", "thinking": block["thinking"], "signature": block["thinkingSignature"]}
        case "thinking":
            # A stream that was cut off has no signature, and a provider refuses thinking without one.
            return {"type": "text", "text": block["thinking"]}
        case "image" if "data" in block:
            source = {"type": "base64", "media_type": block.get("mimeType", "image/png"), "data": block["data"]}
            return {"type": "image", "source": source}
        case _:
            return {"type": "text", "text": str(block["text"])}


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks = [_block(block) for block in content]
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


@dataclass(slots=True)
class _Reading:
    draft: Draft = field(default_factory=Draft)
    gathering: bool = False
    """The last message holds results, and may take more."""
    entries: dict[int | str, int] = field(default_factory=dict)
    """Index of an entry in the file, and its id where it has one -> position of the first message from there on."""

    def feed(self, index: int, record: Mapping[str, Any]) -> None:
        result = self.gathering and (record.get("message") or {}).get("role") == "toolResult"
        self.entries[index] = self.entries[str(record.get("id", ""))] = len(self.draft.messages) - result
        self.draft.at(record.get("timestamp"))
        if record.get("type") == "session":
            self.draft.model = self.draft.model or str(record.get("modelId") or "")
        elif record.get("type") == "compaction":
            self.draft.compacted(self._kept(record))
        elif record.get("type") == "message":
            self._message(record["message"])

    def _kept(self, record: Mapping[str, Any]) -> list[Message]:
        """The summary and the messages behind it; newer files name the first of them by id."""
        summary = {"role": "user", "content": [{"type": "text", "text": str(record.get("summary") or "")}]}
        first = self.entries.get(record.get("firstKeptEntryId") or record.get("firstKeptEntryIndex") or 0)
        return [summary, *(self.draft.messages[first:] if first is not None else ())]

    def _message(self, message: Mapping[str, Any]) -> None:
        role = message["role"]
        if role == "toolResult":
            self._result(message)
            return
        if role == "bashExecution":
            text = f"Ran `{message['command']}`\n```\n{message.get('output') or '(no output)'}\n```"
            self.draft.add({"role": "user", "content": [{"type": "text", "text": text}]}, ENVIRONMENT)
        elif role in ("user", "assistant"):
            blocks = _blocks(message["content"])
            if not blocks:
                return
            at = self.draft.add({"role": role, "content": blocks})
            if role == "assistant":
                self.draft.model = str(message.get("model") or "") or self.draft.model
                if (message.get("usage") or {}).get("totalTokens", 1):
                    self.draft.usage[at] = message.get("usage") or {}
        else:
            raise ValueError(f"role {role!r}")
        self.gathering = False

    def _result(self, message: Mapping[str, Any]) -> None:
        block: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": message["toolCallId"],
            "content": _blocks(message["content"]),
        }
        if message.get("isError"):
            block["is_error"] = True
        if self.gathering:
            self.draft.messages[-1]["content"].append(block)
        else:
            self.draft.add({"role": "user", "content": [block]})
            self.gathering = True


def _last_branch(records: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Without the branches that were left: newer files are trees, each entry names its parent, the last one is live."""
    tree: list[tuple[int, dict[str, Any]]] = []
    for line, record in records:
        if isinstance(record.get("id"), str) and "parentId" in record:
            tree.append((line, record))
        else:
            yield line, record
    parents = {record["id"]: record["parentId"] for _, record in tree}
    live, at = set[str](), tree[-1][1]["id"] if tree else None
    while isinstance(at, str) and at in parents and at not in live:
        live.add(at)
        at = parents[at]
    yield from ((line, record) for line, record in tree if record["id"] in live)


def _read(records: Iterable[tuple[int, dict[str, Any]]], log: Log) -> Iterator[Recorded]:
    reading = _Reading()
    for line, record in _last_branch(records):
        with log.guard(line, "a pi entry with a message"):
            reading.feed(line - 1, record)
    yield reading.draft.recorded(log.name(), "pi", "anthropic_messages")


LINES = LineFormat("pi", _knows, _read)
