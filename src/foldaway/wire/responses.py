"""OpenAI Responses: one flat list of input items.

A call item is answered by an output item of its own type, somewhere behind it. A reasoning item belongs to the item
right behind it: neither goes out without the other. So a turn is a message with its reasoning, or the calls of one
answer of the model, with their reasoning and all their outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.errors import WireError
from foldaway.model.wire import Edit, Message, Parsed, Part, PartType, Quirks, Turn, TurnKind
from foldaway.wire import _common as c
from foldaway.wire._common import Grouping
from foldaway.wire._responses_items import (
    CALL_OF,
    OUTPUT_OF,
    OUTPUTS,
    SERVER_CALLS,
    TEXT_TYPES,
    call_ids,
    content_text,
    is_empty,
    is_reasoning,
    places,
    rewrite,
    stand_in,
    type_of,
)


class OpenAIResponses:
    """The Wire of `openai_responses`; a message is an input item.

    A reasoning item at the very end waits for its follower: it makes an open turn that shows nothing yet.
    """

    name = "openai_responses"

    def parse(
        self, messages: Sequence[Message], *, origins: Sequence[str] = (), quirks: Quirks = Quirks(), start: int = 0
    ) -> Parsed:
        reader = _Reader(Grouping(start), quirks)
        for offset, item in enumerate(messages):
            c.check_message(item, start + offset)
            reader.read(item, start + offset, origins[offset] if offset < len(origins) else "")
        return reader.finish()

    def render(self, turn: Turn, edits: Mapping[int, Edit]) -> list[Message]:
        if not edits:
            return list(turn.messages)

        def pair_key(part: Part) -> object:
            kind = type_of(turn.messages[part.message])
            return part.call_id, CALL_OF.get(kind, kind)

        dropped = _with_reasoning(turn, c.dropped_parts(turn, edits, pair_key), edits)
        return c.render_turn(turn, edits, dropped, places, rewrite)

    def user_message(self, text: str) -> Message:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def exchange(self, call_id: str, name: str, arguments: Mapping[str, Any], result: str) -> list[Message]:
        return [
            {"type": "function_call", "call_id": call_id, "name": name, "arguments": c.dump(dict(arguments))},
            {"type": "function_call_output", "call_id": call_id, "output": result},
        ]

    def finish(self, messages: Sequence[Message], quirks: Quirks = Quirks()) -> list[Message]:
        out = [item for item in messages if not is_empty(item)]
        if quirks.strict_alternation:
            out = self._alternate(out)
        if quirks.no_prefill and out and _speaker(out[-1]) == "assistant":
            out.append(self.user_message(c.GO_ON))
        return out

    def _alternate(self, items: Sequence[Message]) -> list[Message]:
        """User and assistant messages in turn. Other items do not count, nor what stands between call and output."""
        out: list[Message] = []
        turn = "user"
        waiting = 0
        for item in items:
            # Not below 0: outputs behind references have no call here.
            waiting = max(0, waiting + (type_of(item) in OUTPUT_OF) - (type_of(item) in OUTPUTS))
            speaker = "" if waiting > 0 else _speaker(item)
            if speaker == "user" and out and _speaker(out[-1]) == "user":
                content = c.joined_content(out[-1].get("content"), item.get("content"), "input_text")
                out[-1] = {**item, **out[-1], "content": content}
                continue
            if speaker and speaker != turn:
                filler = {"type": "message", "role": "assistant", "content": c.NO_ANSWER}
                if speaker == "assistant":
                    filler = self.user_message(c.GO_ON if out else c.OPENING)
                out.insert(_before_reasoning(out), filler)
            if speaker:
                turn = "assistant" if speaker == "user" else "user"
            out.append(item)
        return out


def _speaker(item: Message) -> str:
    role = item.get("role")
    return role if type_of(item) == "message" and role in ("user", "assistant") else ""


def _before_reasoning(items: Sequence[Message]) -> int:
    at = len(items)
    while at and is_reasoning(items[at - 1]):
        at -= 1
    return at


def _with_reasoning(turn: Turn, dropped: set[int], edits: Mapping[int, Edit]) -> set[int]:
    """Reasoning goes exactly when what stands right behind it goes, whatever the edits say."""
    shown_messages = {
        part.message
        for index, part in enumerate(turn.parts)
        if index not in dropped and part.type is not PartType.REASONING and not _blanked(edits.get(index), part.type)
    }
    out = set(dropped)
    followed_by_shown = False
    for index in range(len(turn.parts) - 1, -1, -1):
        part = turn.parts[index]
        if part.type is not PartType.REASONING:
            followed_by_shown = part.message in shown_messages
        elif followed_by_shown:
            out.discard(index)
        else:
            out.add(index)
    return out


def _blanked(edit: Edit | None, type_: PartType) -> bool:
    return edit is not None and edit.text is not None and type_ is PartType.TEXT and c.is_blank(edit.text)


@dataclass(slots=True)
class _Call:
    item: Message
    answered: bool = False

    def is_answered_by(self, output: Message) -> bool:
        if self.answered:
            return False
        wanted = c.as_str(output.get("call_id"))
        call_id, own_id = call_ids(self.item)
        if type_of(self.item) == "local_shell_call" and not wanted:
            return output.get("id") in (call_id, own_id)
        return wanted == call_id

    @property
    def name(self) -> str:
        return c.shorten(next(filter(None, call_ids(self.item)), type_of(self.item)))


@dataclass(slots=True)
class _Exchange:
    items: list[Message]
    calls: list[_Call]
    sources: list[int]
    mended: bool = False
    heard: bool = False
    """An output or a message of someone else came since: the next item of the model is a new answer."""

    @property
    def missing(self) -> list[_Call]:
        return [call for call in self.calls if not call.answered]


@dataclass(slots=True)
class _Reader:
    group: Grouping
    quirks: Quirks
    exchange: _Exchange | None = None
    lead: list[tuple[int, Message]] = field(default_factory=list)
    """Reasoning items whose follower has not come yet."""
    references: list[tuple[int, Message]] = field(default_factory=list)
    """References to stored items, and outputs behind them whose calls only the server knows."""

    def read(self, item: Message, position: int, origin: str) -> None:
        kind = type_of(item)
        if not kind:
            raise WireError(f"item {position} has neither type nor role; expected an input item")
        if kind == "message":
            c.content_of(item, position)
        if is_reasoning(item):
            self._flush_references()
            self.lead.append((position, item))
        elif kind in OUTPUTS:
            self._output(item, position, kind)
        elif kind == "item_reference":
            self._close_if_heard()
            self.references += [*self.lead, (position, item)]
            self.lead = []
        else:
            self._flush_references()
            if kind == "message" and item.get("role") != "assistant":
                self._drop_lead("a message of someone else")
                self._message(item, position, origin)
            else:
                self._from_model(item, position, kind)

    def _message(self, item: Message, position: int, origin: str) -> None:
        role = item.get("role")
        if role == "user":
            mended = self._without_blanks(item, position)
            if mended is None:
                return
            observed = origin == "environment"
            kind = TurnKind.OBSERVATION if observed else TurnKind.USER
            self._plain(kind, [(position, mended)], speaker="tool" if observed else "", repaired=mended is not item)
        else:
            known = role in ("system", "developer")
            self._plain(TurnKind.INSTRUCTION if known else TurnKind.OTHER, [(position, item)])

    def _without_blanks(self, item: Message, position: int) -> Message | None:
        mended = item
        content = item.get("content")
        if isinstance(content, list):
            kept = c.without_blank_texts(content, TEXT_TYPES)
            if kept is not content:
                mended = {**item, "content": kept}
        if is_empty(mended):
            self.group.repair(position, f"an empty {item.get('role')} message was left out")
            return None
        if mended is not item:
            self.group.repair(position, "a blank text part was left out")
        return mended

    def _plain(
        self, kind: TurnKind, found: Sequence[tuple[int, Message]], *, speaker: str = "", repaired: bool = False
    ) -> None:
        items = [item for _, item in found]
        content = items[0].get("content")
        blocks = range(-1, len(content) if isinstance(content, list) else 0)
        roles = {(0, block): speaker for block in blocks} if speaker else None
        sources = [position for position, _ in found]
        turn = c.build_turn(kind, items, sources, places, roles=roles, repaired=repaired)
        if self.exchange is None:
            self.group.turns.append(turn)
        else:
            self.exchange.heard = True
            self.group.held.append(turn)

    def _from_model(self, item: Message, position: int, kind: str) -> None:
        """An assistant message, a call, or an item of a type that only the model writes."""
        self._close_if_heard()
        found = [*self.lead, (position, item)]
        self.lead = []
        mended: Message | None = item
        if kind == "message":
            mended = self._without_blanks(item, position)
            if mended is None:
                for at, _ in found[:-1]:
                    self.group.repair(at, "a reasoning item in front of an empty message was left out")
                return
        elif kind == "function_call" and self.quirks.strict_arguments and not c.is_object_text(item.get("arguments")):
            self.group.repair(position, "call arguments that are no JSON object were wrapped into one")
            mended = {**item, "arguments": c.dump(c.arguments_object(item.get("arguments")))}
        assert mended is not None
        found[-1] = (position, mended)
        changed = mended is not item
        if self.exchange is None and kind not in OUTPUT_OF:
            alone = {"message": TurnKind.ASSISTANT}.get(kind, TurnKind.OTHER)
            self._plain(TurnKind.EXCHANGE if kind in SERVER_CALLS else alone, found, repaired=changed)
            return
        if self.exchange is None:
            self.exchange = _Exchange([], [], [])
        self.exchange.items += [one for _, one in found]
        self.exchange.sources += [at for at, _ in found]
        self.exchange.mended = self.exchange.mended or changed
        if kind in OUTPUT_OF:
            self.exchange.calls.append(_Call(mended))

    def _output(self, item: Message, position: int, kind: str) -> None:
        waiting = self.exchange
        calls = [call for call in waiting.calls if call.is_answered_by(item)] if waiting is not None else []
        call = next((call for call in calls if OUTPUT_OF[type_of(call.item)] == kind), None)
        if call is None and item.get("call_id"):
            call = next(iter(calls), None)
        answer = self._as_answer(call, item, position, kind) if call is not None else None
        if waiting is None or call is None or answer is None:
            self._loose_output(item, position)
            return
        self._flush_references()
        self._drop_lead("a result")
        if self.group.held:
            self.group.repair(position, "a late tool result was moved up to its call")
            waiting.mended = True
        waiting.mended = waiting.mended or answer is not item
        waiting.items.append(answer)
        waiting.sources.append(position)
        waiting.heard = True
        call.answered = True
        if not waiting.missing:
            self._close(open_=False)

    def _as_answer(self, call: _Call, output: Message, position: int, kind: str) -> Message | None:
        """The output in the type and under the id of this call; None where its type cannot carry a text."""
        call_id = c.as_str(call.item.get("call_id"))
        if OUTPUT_OF[type_of(call.item)] == kind:
            if output.get("call_id") or not call_id or output.get("id") == call_id:
                return output
            self.group.repair(position, "a result named its call by another id; it was given the call's")
            return {**output, "call_id": call_id}
        answer = stand_in(call.item, content_text(output.get("output")))
        if answer is not None:
            self.group.repair(position, f"a {kind} answered for a {type_of(call.item)}; its type was put right")
        return answer

    def _loose_output(self, item: Message, position: int) -> None:
        if self.references:
            # Its call may be one of the referenced items.
            self.references.append((position, item))
            return
        self._drop_lead("a result without its call")
        name = c.shorten(c.as_str(item.get("call_id")) or c.as_str(item.get("id")))
        text = content_text(item.get("output"))
        if c.is_blank(text):
            self.group.repair(position, f"an empty tool result without its call ({name}) was left out")
            return
        self.group.repair(position, f"a tool result without its call ({name}) became plain text")
        content = [{"type": "input_text", "text": f"{c.LOOSE_RESULT}\n{text}"}]
        said = {"type": "message", "role": "user", "content": content}
        self._plain(TurnKind.OBSERVATION, [(position, said)], speaker="tool", repaired=True)

    def _drop_lead(self, follower: str) -> None:
        for position, _ in self.lead:
            self.group.repair(position, f"a reasoning item in front of {follower} was left out")
        self.lead = []

    def _flush_references(self, *, open_: bool = False) -> None:
        if not self.references:
            return
        items = [item for _, item in self.references]
        sources = [position for position, _ in self.references]
        self.references = []
        turn = c.build_turn(TurnKind.OTHER, items, sources, places, open_=open_ and self.exchange is None)
        if self.exchange is None:
            self.group.turns.append(turn)
        else:
            self.exchange.heard = True
            self.group.held.append(turn)

    def _close_if_heard(self) -> None:
        if self.exchange is not None and self.exchange.heard:
            self._close(open_=False)

    def _close(self, *, open_: bool) -> None:
        waiting = self.exchange
        assert waiting is not None
        self.exchange = None
        missing = waiting.missing
        if missing and waiting.heard:
            names = ", ".join(call.name for call in missing)
            self.group.repair(waiting.sources[0], f"no result came for {names}; a stand-in was put in")
        items = list(waiting.items)
        answers = [(call.item, stand_in(call.item)) for call in missing]
        for item, answer in answers:
            if answer is None:
                _take_out(items, item)
        first = len(items)
        items += [answer for _, answer in answers if answer is not None]
        turn = c.build_turn(
            TurnKind.EXCHANGE,
            items,
            sorted(waiting.sources),
            places,
            stand_ins={(index, -1) for index in range(first, len(items))},
            open_=open_,
            repaired=waiting.mended or bool(missing),
        )
        self.group.flush(turn)

    def finish(self) -> Parsed:
        if self.exchange is not None:
            self.exchange.sources += [position for position, _ in self.lead]
            self.lead = []
            self._flush_references()
            self._close(open_=True)
        self._flush_references(open_=True)
        if self.lead:
            sources = [position for position, _ in self.lead]
            self.group.turns.append(c.build_turn(TurnKind.OTHER, [], sources, places, open_=True, repaired=True))
        return self.group.parsed()


def _take_out(items: list[Message], call: Message) -> None:
    """Remove a call that no text can answer for, with the reasoning in front of it."""
    at = next(index for index, item in enumerate(items) if item is call)
    first = at
    while first and is_reasoning(items[first - 1]):
        first -= 1
    del items[first : at + 1]
