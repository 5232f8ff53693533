"""OpenAI Chat Completions, and the many servers that speak it.

An assistant message with `tool_calls` is answered by `tool` messages directly under it, one for each call. The old
`function_call` with its `function` message is read the same way. Fields of a provider's own (reasoning texts,
signatures inside calls) stay on the message as they came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.errors import WireError
from foldaway.model.wire import Edit, Message, Parsed, Quirks, Turn, TurnKind
from foldaway.wire import _common as c
from foldaway.wire._chat_blocks import (
    DOCUMENTS,
    IMAGES,
    RESULT_ROLES,
    TEXT_TYPES,
    alternate,
    block_count,
    call_body,
    content_text,
    is_empty,
    places,
    rewrite,
    tool_calls,
)
from foldaway.wire._common import Grouping


class OpenAIChat:
    """The Wire of `openai_chat`."""

    name = "openai_chat"

    def parse(
        self, messages: Sequence[Message], *, origins: Sequence[str] = (), quirks: Quirks = Quirks(), start: int = 0
    ) -> Parsed:
        reader = _Reader(Grouping(start), quirks)
        for offset, message in enumerate(messages):
            c.check_message(message, start + offset)
            reader.read(message, start + offset, origins[offset] if offset < len(origins) else "")
        return reader.finish()

    def render(self, turn: Turn, edits: Mapping[int, Edit]) -> list[Message]:
        if not edits:
            return list(turn.messages)
        return c.render_turn(turn, edits, c.dropped_parts(turn, edits), places, rewrite)

    def user_message(self, text: str) -> Message:
        return {"role": "user", "content": text}

    def exchange(self, call_id: str, name: str, arguments: Mapping[str, Any], result: str) -> list[Message]:
        function = {"name": name, "arguments": c.dump(dict(arguments))}
        call = {"id": call_id, "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": result},
        ]

    def finish(self, messages: Sequence[Message], quirks: Quirks = Quirks()) -> list[Message]:
        out = [message for message in messages if not is_empty(message)]
        if quirks.strict_alternation:
            out = alternate(out)
        if quirks.no_prefill and out and out[-1].get("role") == "assistant":
            out.append(self.user_message(c.GO_ON))
        return out


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    legacy: bool
    answer: Message | None = None


@dataclass(slots=True)
class _Exchange:
    """One run of assistant messages and the results of their calls, while some are still missing."""

    assistants: list[Message]
    calls: list[list[_Call]]
    sources: list[int]
    mended: bool
    answers: list[list[Message]] = field(default_factory=list)
    heard: bool = False
    """Something other than the assistant spoke since: the next assistant message is a new answer of the model."""

    def take(self, message: Message) -> Message | None:
        """Attach a result; None when no call waits for it. Gives the message as attached."""
        for number, calls in enumerate(self.calls):
            for call in calls:
                if call.answer is None and _answers(message, call):
                    mended = _with_id(message, call)
                    call.answer = mended
                    self.answers[number].append(mended)
                    return mended
        return None

    @property
    def missing(self) -> list[_Call]:
        return [call for calls in self.calls for call in calls if call.answer is None]


@dataclass(slots=True)
class _Reader:
    group: Grouping
    quirks: Quirks
    exchange: _Exchange | None = None

    def read(self, message: Message, position: int, origin: str) -> None:
        role = message.get("role")
        if not isinstance(role, str) or not role:
            raise WireError(f"message {position} has no role; expected system, user, assistant or tool")
        c.content_of(message, position)
        if role == "assistant":
            self._assistant(message, position)
            return
        if role in RESULT_ROLES:
            self._result(message, position)
        elif role in ("system", "developer"):
            self._plain(TurnKind.INSTRUCTION, message, position)
        elif role == "user":
            self._user(message, position, origin)
        else:
            self._plain(TurnKind.OTHER, message, position)

    def _user(self, message: Message, position: int, origin: str) -> None:
        mended = _without_blanks(message)
        if is_empty(mended):
            self.group.repair(position, "an empty user message was left out")
            return
        if mended is not message:
            self.group.repair(position, "a blank text part was left out")
        observed = origin == "environment"
        self._plain(
            TurnKind.OBSERVATION if observed else TurnKind.USER,
            mended,
            position,
            speaker="tool" if observed else "",
            repaired=mended is not message,
        )

    def _plain(
        self, kind: TurnKind, message: Message, position: int, *, speaker: str = "", repaired: bool = False
    ) -> None:
        roles = {(0, block): speaker for block in range(-1, block_count(message))} if speaker else None
        turn = c.build_turn(kind, [message], [position], places, roles=roles, repaired=repaired)
        if self.exchange is None:
            self.group.turns.append(turn)
        else:
            self.exchange.heard = True
            self.group.held.append(turn)

    def _assistant(self, message: Message, position: int) -> None:
        mended = self._mend_assistant(message, position)
        if is_empty(mended):
            self.group.repair(position, "an empty assistant message was left out")
            return
        calls = _calls(mended)
        waiting = self.exchange
        if waiting is not None and waiting.heard:
            self._close(open_=False)
            waiting = None
        if waiting is not None:
            self.group.repair(position, "assistant messages in a row: each stands behind the results of the one before")
            waiting.assistants.append(mended)
            waiting.calls.append(calls)
            waiting.answers.append([])
            waiting.sources.append(position)
            waiting.mended = True
        elif calls:
            self.exchange = _Exchange([mended], [calls], [position], mended is not message, [[]])
        else:
            self._plain(TurnKind.ASSISTANT, mended, position, repaired=mended is not message)

    def _mend_assistant(self, message: Message, position: int) -> Message:
        mended = _without_blanks(message)
        if mended is not message:
            self.group.repair(position, "a blank text part was left out")
        if self.quirks.strict_arguments:
            strict = _with_strict_arguments(mended)
            if strict is not mended:
                self.group.repair(position, "call arguments that are no JSON object were wrapped into one")
                return strict
        return mended

    def _result(self, message: Message, position: int) -> None:
        mended = _result_content(message)
        waiting = self.exchange
        taken = waiting.take(mended) if waiting is not None else None
        if waiting is None or taken is None:
            self._loose_result(message, position)
            return
        waiting.sources.append(position)
        waiting.heard = True
        if taken is not message:
            self.group.repair(position, "a tool result had no id or no content; it was given one")
            waiting.mended = True
        if self.group.held:
            self.group.repair(position, "a late tool result was moved up to its call")
            waiting.mended = True
        if not waiting.missing:
            self._close(open_=False)

    def _loose_result(self, message: Message, position: int) -> None:
        content = _loose_content(message)
        name = c.shorten(c.as_str(message.get("tool_call_id")) or c.as_str(message.get("name")))
        if content is None:
            self.group.repair(position, f"an empty tool result without its call ({name}) was left out")
            return
        self.group.repair(position, f"a tool result without its call ({name}) became plain text")
        user = {"role": "user", "content": content}
        self._plain(TurnKind.OBSERVATION, user, position, speaker="tool", repaired=True)

    def _close(self, *, open_: bool) -> None:
        waiting = self.exchange
        assert waiting is not None
        self.exchange = None
        missing = waiting.missing
        if missing and waiting.heard:
            names = ", ".join(c.shorten(call.id or call.name) for call in missing)
            self.group.repair(waiting.sources[0], f"no result came for {names}; a stand-in was put in")
        messages: list[Message] = []
        stand_ins: set[tuple[int, int]] = set()
        for assistant, calls, answers in zip(waiting.assistants, waiting.calls, waiting.answers, strict=True):
            messages += [assistant, *answers]
            for call in calls:
                if call.answer is None:
                    stand_ins.add((len(messages), -1))
                    messages.append(_stand_in(call))
        turn = c.build_turn(
            TurnKind.EXCHANGE,
            messages,
            waiting.sources,
            places,
            stand_ins=stand_ins,
            open_=open_,
            repaired=waiting.mended or bool(missing),
        )
        self.group.flush(turn)

    def finish(self) -> Parsed:
        if self.exchange is not None:
            self._close(open_=True)
        return self.group.parsed()


def _calls(message: Message) -> list[_Call]:
    found = []
    for call in tool_calls(message):
        body = call_body(call)
        found.append(_Call(c.as_str(call.get("id")), c.as_str(body.get("name")), legacy=False))
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        found.append(_Call("", c.as_str(legacy.get("name")), legacy=True))
    return found


def _answers(message: Message, call: _Call) -> bool:
    if (message.get("role") == "function") is not call.legacy:
        return False
    if call.legacy:
        return message.get("name") == call.name
    given = message.get("tool_call_id")
    if isinstance(given, str) and given:
        return given == call.id
    # Some local servers leave ids out and answer in order, at best by name.
    name = message.get("name")
    return not name or name == call.name


def _with_id(message: Message, call: _Call) -> Message:
    if call.legacy or not call.id or message.get("tool_call_id") == call.id:
        return message
    return {**message, "tool_call_id": call.id}


def _result_content(message: Message) -> Message:
    content = message.get("content")
    if isinstance(content, str):
        return message
    if not content:
        return {**message, "content": ""}
    kept = c.without_blank_texts(content, TEXT_TYPES)
    return message if kept is content else {**message, "content": kept or ""}


def _stand_in(call: _Call) -> Message:
    if call.legacy:
        return {"role": "function", "name": call.name, "content": c.NO_RESULT}
    return {"role": "tool", "tool_call_id": call.id, "content": c.NO_RESULT}


def _loose_content(message: Message) -> Any:
    content = message.get("content")
    text = content_text(content)
    pictures = (
        [block for block in content if block.get("type") in IMAGES | DOCUMENTS] if isinstance(content, list) else []
    )
    if c.is_blank(text) and not pictures:
        return None
    told = f"{c.LOOSE_RESULT}\n{text}".rstrip()
    return [{"type": "text", "text": told}, *pictures] if pictures else told


def _with_strict_arguments(message: Message) -> Message:
    calls = message.get("tool_calls")
    out = message
    if isinstance(calls, list):
        strict = [_strict_call(call) for call in calls]
        if any(new is not old for new, old in zip(strict, calls, strict=True)):
            out = {**out, "tool_calls": strict}
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and not c.is_object_text(legacy.get("arguments")):
        out = {**out, "function_call": {**legacy, "arguments": _object_text(legacy.get("arguments"))}}
    return out


def _strict_call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or c.is_object_text(function.get("arguments")):
        return call
    return {**call, "function": {**function, "arguments": _object_text(function.get("arguments"))}}


def _object_text(arguments: Any) -> str:
    return c.dump(c.arguments_object(arguments))


def _without_blanks(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    kept = c.without_blank_texts(content, TEXT_TYPES)
    if kept is content:
        return message
    return {**message, "content": kept or None}
