"""Several sessions as one: a working day, as an agent would see it that is never restarted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers._build import ENVIRONMENT, Draft


def chain(recorded: Sequence[Recorded], name: str) -> Recorded:
    """The sessions one after the other, as one session in the format they share.

    System prompt and tools of the first stay. A system prompt that says the same as the one in force is left out;
    another one stays where it came (openai_chat: a system message; openai_responses: a developer message;
    anthropic_messages: a user message of the environment, since only one system prompt is possible).
    A call id that was used before gets a number behind it, its result too. `meta["parts"]` says where each part
    begins. Nothing given is changed.

    Raises ValueError when there is nothing to chain, or the formats differ.
    """
    if not recorded:
        raise ValueError("nothing to chain: expected at least one recorded session")
    if len(formats := {part.format for part in recorded}) > 1:
        raise ValueError(f"cannot chain sessions of different formats: {', '.join(sorted(formats))}")
    draft, ids, parts = Draft(), _Ids(), list[dict[str, Any]]()
    prompt: Any = recorded[0].system
    for part in recorded:
        ids.next_part()
        parts.append({"name": part.name, "start": len(draft.messages), **part.meta})
        prompt = _append(draft, part, prompt, ids)
    first = recorded[0]
    result = draft.recorded(
        name,
        first.source_format,
        first.format,
        system=first.system,
        tools=first.tools,
        problems=tuple(problem for part in recorded for problem in part.problems),
        meta={"parts": parts},
    )
    return replace(result, model=first.model)


def _append(draft: Draft, part: Recorded, prompt: Any, ids: _Ids) -> Any:
    """Add one part; returns the system prompt now in force."""
    places: dict[int, int] = {}
    draft.at(part.times[0] if part.times else None)
    if part.system is not None and part.system != prompt:
        prompt = part.system
        draft.add(*_late_system(part))
    for position, message in enumerate(part.messages):
        if position == 0 and message.get("role") in ("system", "developer"):
            if message.get("content") == prompt:
                continue
            prompt = message.get("content")
        origin = part.origins[position] if part.origins else ""
        draft.at(part.times[position] if part.times else None)
        places[position] = draft.add(ids.apply(message), origin)
    draft.compactions += [places[at] for at in part.compactions if at in places]
    draft.usage.update({places[at]: usage for at, usage in part.usage.items() if at in places})
    for at, dropped in part.forgotten.items():
        if at in places:
            draft.forgotten[places[at]] = tuple(places[i] for i in dropped if i in places)
    draft.summaries.update({places[at]: list(kept) for at, kept in part.summaries.items() if at in places})
    return prompt


def _late_system(part: Recorded) -> tuple[Message, str]:
    text = part.system
    if part.format == "openai_responses":
        return {"type": "message", "role": "developer", "content": text}, ""
    return {"role": "user", "content": text}, ENVIRONMENT


class _Ids:
    """Makes call ids unique: within the chain, and within a part whose provider used one id for several calls."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._current: dict[str, str] = {}

    def next_part(self) -> None:
        self._current.clear()

    def _call(self, old: str) -> str:
        new, number = old, 1
        while new in self._used:
            number += 1
            new = f"{old}-{number}"
        self._used.add(new)
        self._current[old] = new
        return new

    def _holder(self, holder: Mapping[str, Any], key: str, *, call: bool) -> Mapping[str, Any]:
        old = holder.get(key)
        if not isinstance(old, str):
            return holder
        new = self._call(old) if call else self._current.get(old, old)
        return holder if new == old else {**holder, key: new}

    def _block(self, block: Any) -> Any:
        if not isinstance(block, Mapping):
            return block
        if block.get("type") == "tool_use":
            return self._holder(block, "id", call=True)
        return self._holder(block, "tool_use_id", call=False)

    def apply(self, message: Message) -> Message:
        """The message with its ids made unique; the very same one where nothing changes."""
        new = self._holder(message, "tool_call_id", call=False)
        new = self._holder(new, "call_id", call=str(message.get("type")).endswith("_call"))
        for key, replaced in (("tool_calls", self._tool_call), ("content", self._block)):
            old = new.get(key)
            if isinstance(old, list):
                changed = [replaced(entry) for entry in old]
                if any(a is not b for a, b in zip(old, changed, strict=True)):
                    new = {**new, key: changed}
        return message if new is message else dict(new)

    def _tool_call(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._holder(call, "id", call=True)
