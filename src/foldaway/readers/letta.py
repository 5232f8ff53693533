"""Letta evaluation results: a line an agent run, its trajectory in Letta's message types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import Draft, chat_assistant, chat_call, chat_result, text_of
from foldaway.readers._source import LineFormat, Log


def _knows(record: Mapping[str, Any]) -> bool:
    result = record.get("result")
    return isinstance(result, Mapping) and isinstance(result.get("trajectory"), list) and "agent_id" in result


@dataclass(slots=True)
class _Run:
    draft: Draft = field(default_factory=Draft)
    ident: str = ""
    at: int = -1

    def feed(self, message: Mapping[str, Any]) -> None:
        match message["message_type"]:
            case "user_message" | "system_message" as kind:
                self.draft.add({"role": kind.removesuffix("_message"), "content": text_of(message["content"])})
            case "assistant_message":
                own = self._own(message)
                own["content"] = "\n".join(filter(None, (own["content"], text_of(message["content"]))))
            case "reasoning_message":
                self._own(message)["reasoning_content"] = str(message["reasoning"])
            case "tool_call_message":
                calls = message.get("tool_calls") or [message["tool_call"]]
                made = [chat_call(c["tool_call_id"], c["name"], c["arguments"]) for c in calls]
                self._own(message).setdefault("tool_calls", []).extend(made)
            case "tool_return_message":
                for returned in message.get("tool_returns") or [message]:
                    text = text_of(returned.get("tool_return", returned.get("func_response")))
                    self.draft.add(chat_result(returned["tool_call_id"], text))

    def _own(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The assistant message this part belongs to: parts of one answer share an id."""
        if message["id"] != self.ident or self.at < 0:
            self.ident, self.at = message["id"], self.draft.add(chat_assistant(""))
        return self.draft.messages[self.at]


def _read(records: Iterable[tuple[int, dict[str, Any]]], log: Log) -> Iterator[Recorded]:
    for line, record in records:
        if "result" not in record:
            continue
        with log.guard(line, "a Letta result with a trajectory"):
            result = record["result"]
            run = _Run(Draft(model=str(result.get("model_name") or "")))
            for part in result["trajectory"]:
                for message in part:
                    run.feed(message)
            sample = result.get("sample") or {}
            meta = {
                "sample": sample.get("id"),
                "ground_truth": sample.get("ground_truth"),
                "score": (result.get("grade") or {}).get("score"),
            }
            yield run.draft.recorded(log.name(f"sample-{sample.get('id', line)}"), "letta", "openai_chat", meta=meta)


LINES = LineFormat("letta", _knows, _read)
