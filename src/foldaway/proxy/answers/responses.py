"""Answers of OpenAI Responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldaway.proxy.answers._text import TextGate, stripped
from foldaway.proxy.answers.base import (
    NOTHING,
    Events,
    Listening,
    Recall,
    Whole,
    added,
    event_of,
    object_of,
    recall_of,
)

_WRITTEN = "output_tokens"
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_WHOLE = frozenset({"response.output_text.done", "response.content_part.done", "response.output_item.done"})
"""Events that say a text, or what holds it, once more as a whole."""
_UNDER_WAY = frozenset({"queued", "in_progress"})
_HEADS = frozenset({"response.created", "response.in_progress", "response.queued"})


class ResponsesAnswers:
    """The `Answers` of OpenAI Responses."""

    def read(self, answer: Mapping[str, Any], listening: Listening) -> Whole:
        items = _items(answer)
        recalls = [r for item in items for r in _asks(item, listening)]
        usage = answer.get("usage")
        return Whole(
            recalls=tuple(recalls),
            others=any(_is_call(item) and not _is_recall(item, listening) for item in items),
            usage=usage if isinstance(usage, dict) else None,
            output=tuple(_kept(items, listening)),
            # What it says is not known yet: nothing can be continued from it here.
            id="" if answer.get("status") in _UNDER_WAY else str(answer.get("id") or ""),
        )

    def joined(
        self, earlier: Sequence[Mapping[str, Any]], last: Mapping[str, Any], listening: Listening
    ) -> dict[str, Any]:
        output = [item for answer in [*earlier, last] for item in _kept(_items(answer), listening)]
        if not output and _items(last):
            output = [_message(NOTHING, "msg_foldaway")]
        joined = {**last, "output": output}
        for answer in earlier:
            if isinstance(answer.get("usage"), dict) and isinstance(joined.get("usage"), dict):
                joined["usage"] = added(answer["usage"], joined["usage"], _WRITTEN)
        return joined

    def filter(self, listening: Listening) -> ResponsesFilter:
        return ResponsesFilter(listening)

    def error(self, status: int, message: str, code: str = "") -> dict[str, Any]:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": code or None}}


class ResponsesFilter:
    """The `Filter` of OpenAI Responses.

    A reasoning item is refused later on without the item behind it: it waits until that one is known to be no recall.
    """

    def __init__(self, listening: Listening) -> None:
        self.others = False
        self.usage: dict[str, Any] | None = None
        self.output: list[dict[str, Any]] = []
        self.id = ""
        self._listening = listening
        self._events = Events()
        self._first = True
        self._number = 0
        self._moved = False
        """Events were taken out or put in: from then on they are numbered anew."""
        self._dropped: set[Any] = set()
        """Output indexes of this round that the client does not get."""
        self._indexes: dict[Any, int] = {}
        self._next = 0
        self._names: dict[Any, Any] = {}
        """Output index of this round -> the item's id."""
        self._gates: dict[tuple[Any, Any], TextGate] = {}
        self._held: dict[Any, list[tuple[bytes, dict[str, Any]]]] = {}
        """Output index -> events that wait until it is clear that the client gets this item."""
        self._altered: set[Any] = set()
        self._directives: list[Recall] = []
        self._calls: dict[Any, Recall] = {}
        self._ends: list[tuple[bytes, dict[str, Any]]] = []
        self._written: dict[str, Any] | None = None
        self._head: dict[str, Any] = {}
        self._done = self._failed = False

    @property
    def recalls(self) -> list[Recall]:
        return [*self._directives, *self._calls.values()]

    @property
    def broken(self) -> bool:
        return self._failed or not self._done

    def feed(self, data: bytes) -> bytes:
        return b"".join(self._event(event) for event in self._events.feed(data))

    def again(self) -> bytes:
        if self.usage is not None:
            self._written = added(self._written, self.usage, _WRITTEN)
        for kept in (self._dropped, self._indexes, self._gates, self._held, self._altered, self._calls):
            kept.clear()
        self._ends.clear()
        self._directives.clear()
        self.others, self._first, self._moved = False, False, True
        self._done = self._failed = False
        return b""

    def finish(self) -> bytes:
        out = b"".join(self._rest(index) for index in dict.fromkeys(key[0] for key in self._gates))
        out += b"".join(self._release(index) for index in list(self._held) if index not in self._dropped)
        if self._touched and self._done and not self.output:
            out += self._said_nothing()
        for event, told in self._ends:
            out += self._ending(event, told)
        rest, self._events.rest = self._events.rest, b""
        return out + rest

    # -- inside

    @property
    def _touched(self) -> bool:
        return bool(self._directives or self._calls) or not self._first

    def _event(self, event: bytes) -> bytes:
        told = object_of(event)
        kind = told.get("type") if told is not None else None
        if told is None or not isinstance(kind, str):
            return event
        if kind in _ENDS:
            return self._end(event, told)
        if kind == "error":
            self._failed = True
            return self._sent(event, told)
        if kind in _HEADS:
            response = told.get("response")
            if isinstance(response, dict):
                self.id = self.id or str(response.get("id") or "")
                self._head = self._head or response
            return self._sent(event, told) if self._first else b""
        if not isinstance(told.get("output_index"), int):
            return self._sent(event, told)
        return self._item_event(event, told, kind)

    def _item_event(self, event: bytes, told: dict[str, Any], kind: str) -> bytes:
        index = told["output_index"]
        if kind == "response.output_item.added":
            return self._added(event, told, index)
        if index in self._dropped:
            if kind == "response.output_item.done" and index in self._calls:
                self._calls[index] = recall_of(_told(told.get("item")).get("arguments"))
            return b""
        if kind == "response.output_text.delta" and self._listening.directives:
            return self._text(event, told, index)
        # Once the text is whole, so is its last line.
        out = self._rest(index) if kind in _WHOLE else b""
        event, told = self._altered_done(event, told, kind, index)
        if kind == "response.output_item.done":
            return out + self._item_done(event, told, index)
        if index in self._held:
            self._held[index].append((event, told))
            return out
        return out + self._sent(event, told)

    def _added(self, event: bytes, told: dict[str, Any], index: Any) -> bytes:
        item = _told(told.get("item"))
        self._names[index] = item.get("id")
        if _is_recall(item, self._listening):
            self._dropped.add(index)
            self._moved = True
            self._calls[index] = Recall(ids="")
            self._dropped |= self._waiting_reasoning()
            return b""
        out = b"".join(self._release(waiting) for waiting in self._waiting_reasoning())
        if _is_call(item):
            self.others = True
        waits = item.get("type") == "reasoning" and self._listening.tool
        if waits or (item.get("type") == "message" and self._listening.directives):
            self._held[index] = [(event, told)]
            return out
        return out + self._sent(event, told)

    def _waiting_reasoning(self) -> set[Any]:
        """Reasoning items that wait for the item behind them."""
        return {
            i for i, events in self._held.items()
            if i not in self._dropped and _told(events[0][1].get("item")).get("type") == "reasoning"
        }  # fmt: skip

    def _text(self, event: bytes, told: dict[str, Any], index: Any) -> bytes:
        part = told.get("content_index")
        gate = self._gates.setdefault((index, part if isinstance(part, int) else 0), TextGate())
        text = str(told.get("delta") or "")
        goes = gate.feed(text)
        self._found(gate, index)
        if not goes:
            self._moved = True
            return b""
        if goes != text:
            event, told = b"", {**told, "delta": goes}
        return self._release(index) + self._sent(event, told)

    def _found(self, gate: TextGate, index: Any) -> None:
        """Take over what a text asked for."""
        if gate.found:
            self._directives += gate.found
            gate.found = []
            self._altered.add(index)

    def _altered_done(self, event: bytes, told: dict[str, Any], kind: str, index: Any) -> tuple[bytes, dict[str, Any]]:
        """Events that say a text once more as a whole, with the directives taken out there as well."""
        if index not in self._altered:
            return event, told
        if kind == "response.output_text.done":
            return b"", {**told, "text": stripped(str(told.get("text") or ""))[0]}
        if kind == "response.content_part.done":
            return b"", {**told, "part": _part(_told(told.get("part")))}
        if kind == "response.output_item.done":
            return b"", {**told, "item": _shorn(_told(told.get("item")))}
        return event, told

    def _item_done(self, event: bytes, told: dict[str, Any], index: Any) -> bytes:
        held = self._held.get(index)
        item = _told(told.get("item"))
        if held is not None and item.get("type") == "reasoning":
            held.append((event, told))
            return b""
        out = self._rest(index)
        if index in self._altered and index in self._held:
            # Nothing but directives stood there.
            self._dropped.add(index)
            return out
        out += self._release(index)
        self.output.append(item)
        return out + self._sent(event, told)

    def _rest(self, index: Any) -> bytes:
        """What the text of an item still holds back."""
        out = b""
        for key in [k for k in self._gates if k[0] == index]:
            gate = self._gates.pop(key)
            text = gate.end()
            self._found(gate, index)
            if text:
                told = {
                    "type": "response.output_text.delta", "item_id": self._names.get(index), "output_index": index,
                    "content_index": key[1], "delta": text, "logprobs": [],
                }  # fmt: skip
                self._moved = True
                out += self._release(index) + self._sent(b"", told)
        return out

    def _release(self, index: Any) -> bytes:
        out = b""
        for event, told in self._held.pop(index, ()):
            if told.get("type") == "response.output_item.done":
                self.output.append(_told(told.get("item")))
            out += self._sent(event, told)
        return out

    def _sent(self, event: bytes, told: dict[str, Any]) -> bytes:
        """An event with the numbers that it has for the client; the bytes that came where these are the same."""
        changed = dict(told)
        index = told.get("output_index")
        if isinstance(index, int):
            if index not in self._indexes:
                self._indexes[index] = self._next
                self._next += 1
            changed["output_index"] = self._indexes[index]
        number = told.get("sequence_number")
        if self._moved or not event or not isinstance(number, int):
            number = self._number
        if "sequence_number" in told or not event:
            changed["sequence_number"] = number
            self._number = number + 1
        return event if event and changed == told else event_of(changed, named=True)

    def _end(self, event: bytes, told: dict[str, Any]) -> bytes:
        response = _told(told.get("response"))
        usage = response.get("usage")
        self.usage = usage if isinstance(usage, dict) else self.usage
        self.id = self.id or str(response.get("id") or "")
        self._done = told["type"] in ("response.completed", "response.incomplete")
        self._failed = not self._done
        self._ends.append((event, told))
        return b""

    def _ending(self, event: bytes, told: dict[str, Any]) -> bytes:
        response = _told(told.get("response"))
        if self._touched:
            usage = response.get("usage")
            changed = {**response, "output": list(self.output), **({"id": self.id} if self.id else {})}
            if isinstance(usage, dict):
                changed["usage"] = added(self._written, usage, _WRITTEN)
            event, told = b"", {**told, "response": changed}
        return self._sent(event, told)

    def _said_nothing(self) -> bytes:
        item = _message(NOTHING, "msg_foldaway")
        index = max([-1, *(i for i in self._indexes if isinstance(i, int))]) + 1
        place = {"output_index": index, "item_id": item["id"], "content_index": 0}
        part = item["content"][0]
        empty = {**part, "text": ""}
        self._moved = True
        events: list[dict[str, Any]] = [
            {"type": "response.output_item.added", "output_index": index,
             "item": {**item, "status": "in_progress", "content": []}},
            {"type": "response.content_part.added", **place, "part": empty},
            {"type": "response.output_text.delta", **place, "delta": NOTHING, "logprobs": []},
            {"type": "response.output_text.done", **place, "text": NOTHING, "logprobs": []},
            {"type": "response.content_part.done", **place, "part": part},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]  # fmt: skip
        self.output.append(item)
        return b"".join(self._sent(b"", told) for told in events)


def _told(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    output = answer.get("output")
    return [i for i in output if isinstance(i, dict)] if isinstance(output, list) else []


def _is_call(item: Mapping[str, Any]) -> bool:
    """A call that the client answers: those of the provider's own tools come with what they gave."""
    return item.get("type") in ("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call")


def _is_recall(item: Mapping[str, Any], listening: Listening) -> bool:
    return bool(listening.tool) and item.get("type") == "function_call" and item.get("name") == listening.tool


def _asks(item: Mapping[str, Any], listening: Listening) -> list[Recall]:
    if _is_recall(item, listening):
        return [recall_of(item.get("arguments"))]
    if item.get("type") != "message" or not listening.directives:
        return []
    return [r for part in _parts(item) for r in stripped(str(part.get("text") or ""))[1]]


def _kept(items: Sequence[dict[str, Any]], listening: Listening) -> list[dict[str, Any]]:
    """The items that the client gets: no recalls, no reasoning that led to one, no directives."""
    kept: list[dict[str, Any]] = []
    for item in items:
        if _is_recall(item, listening):
            while kept and kept[-1].get("type") == "reasoning":
                kept.pop()
        elif _asks(item, listening):
            shorn = _shorn(item)
            if any(str(_told(p).get("text") or "").strip() for p in shorn["content"]):
                kept.append(shorn)
        else:
            kept.append(item)
    return kept


def _shorn(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "content": [_part(part) for part in _parts(item)]}


def _parts(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    return [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []


def _part(part: dict[str, Any]) -> dict[str, Any]:
    return {**part, "text": stripped(part["text"])[0]} if isinstance(part.get("text"), str) else part


def _message(text: str, name: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": name, "role": "assistant", "status": "completed", "content": [part]}
