"""Anthropic Messages.

Calls are `tool_use` blocks of an assistant message; the results of all of them stand together at the front of the one
user message behind it, and what the user says stands behind the results in the same message. Thinking blocks carry a
signature: they go out whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.errors import WireError
from foldaway.model.wire import Edit, Message, Parsed, Quirks, Turn, TurnKind
from foldaway.wire import _common as c
from foldaway.wire._anthropic_blocks import (
    TEXT,
    as_blocks,
    is_empty,
    is_thinking_only,
    limit_marks,
    loose_result,
    mended_result,
    places,
    rewrite,
    without_lone_thinking,
)
from foldaway.wire._common import Grouping


class AnthropicMessages:
    """The Wire of `anthropic_messages`. Arguments are always objects here, with or without `strict_arguments`.

    An assistant message that only thinks belongs to the assistant message behind it; at the very end it waits for
    that: an open turn that shows nothing yet.
    """

    name = "anthropic_messages"

    def parse(
        self, messages: Sequence[Message], *, origins: Sequence[str] = (), quirks: Quirks = Quirks(), start: int = 0
    ) -> Parsed:
        reader = _Reader(Grouping(start))
        for offset, message in enumerate(messages):
            c.check_message(message, start + offset)
            reader.read(message, start + offset, origins[offset] if offset < len(origins) else "")
        return reader.finish()

    def render(self, turn: Turn, edits: Mapping[int, Edit]) -> list[Message]:
        if not edits:
            return list(turn.messages)
        rendered = c.render_turn(turn, edits, c.dropped_parts(turn, edits), places, rewrite)
        return without_lone_thinking(rendered)

    def user_message(self, text: str) -> Message:
        return {"role": "user", "content": text}

    def exchange(self, call_id: str, name: str, arguments: Mapping[str, Any], result: str) -> list[Message]:
        call = {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}
        answer = {"type": "tool_result", "tool_use_id": call_id, "content": result}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]

    def finish(self, messages: Sequence[Message], quirks: Quirks = Quirks()) -> list[Message]:
        """As the protocol says; also keeps at most four cache marks, the last ones."""
        out = limit_marks([message for message in messages if not is_empty(message)])
        first = next((i for i, message in enumerate(out) if message.get("role") != "system"), None)
        if first is not None and out[first].get("role") == "assistant":
            out.insert(first, self.user_message(c.OPENING))
        if quirks.strict_alternation:
            out = _alternate(out)
        if quirks.no_prefill and out and out[-1].get("role") == "assistant":
            out.append(self.user_message(c.GO_ON))
        return out


Block = dict[str, Any]


@dataclass(slots=True)
class _Call:
    id: str
    answered: bool = False


@dataclass(slots=True)
class _Exchange:
    """An assistant message with calls, and what has come for them."""

    lead: list[Message]
    """Messages of thinking alone, in front."""
    assistant: Message
    calls: list[_Call]
    sources: list[int]
    mended: bool
    results: list[Block] = field(default_factory=list)
    rest: list[tuple[Block, str]] = field(default_factory=list)
    """What stands behind the results, and who speaks."""
    users: list[Message] = field(default_factory=list)
    """The client's messages that held the results."""
    heard: bool = False
    """Something other than the assistant spoke since: the next assistant message is a new answer of the model."""

    def waits_for(self, block: Block) -> bool:
        return self._call_of(block) is not None

    def take(self, block: Block) -> None:
        call = self._call_of(block)
        if call is not None:
            call.answered = True
            self.results.append(block)

    def _call_of(self, block: Block) -> _Call | None:
        wanted = block.get("tool_use_id")
        return next((call for call in self.calls if call.id == wanted and not call.answered), None)

    @property
    def missing(self) -> list[_Call]:
        return [call for call in self.calls if not call.answered]


@dataclass(slots=True)
class _Reader:
    group: Grouping
    exchange: _Exchange | None = None
    lead: list[tuple[int, Message]] = field(default_factory=list)
    """Assistant messages that only think and whose follower has not come yet."""
    lead_mended: bool = False

    def read(self, message: Message, position: int, origin: str) -> None:
        role = message.get("role")
        if not isinstance(role, str) or not role:
            raise WireError(f"message {position} has no role; expected user or assistant")
        c.content_of(message, position)
        if role == "assistant":
            self._assistant(message, position)
            return
        for at, _ in self.lead:
            self.group.repair(at, "thinking with nothing behind it was left out")
        self.lead, self.lead_mended = [], False
        if role == "user":
            self._user(message, position, origin)
        else:
            known = role in ("system", "developer")
            self._plain(TurnKind.INSTRUCTION if known else TurnKind.OTHER, [(position, message)])

    def _plain(
        self,
        kind: TurnKind,
        found: Sequence[tuple[int, Message]],
        *,
        roles: Mapping[tuple[int, int], str] | None = None,
        repaired: bool = False,
    ) -> None:
        messages = [message for _, message in found]
        sources = [position for position, _ in found]
        turn = c.build_turn(kind, messages, sources, places, roles=roles, repaired=repaired)
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
        calls = [_Call(c.as_str(block.get("id"))) for block in _blocks_of(mended, "tool_use")]
        waiting = self.exchange
        if waiting is not None and waiting.heard:
            self._close(open_=False)
            waiting = None
        if is_thinking_only(mended):
            self.lead.append((position, mended))
            self.lead_mended = self.lead_mended or mended is not message
            return
        changed = mended is not message or (bool(self.lead) and self.lead_mended)
        lead, self.lead, self.lead_mended = self.lead, [], False
        if waiting is not None:
            # The provider reads assistant messages in a row as one; so their results may stand together.
            self.group.repair(position, "an assistant message was joined with the one before, whose calls wait")
            contents = [waiting.assistant["content"], *(one["content"] for _, one in lead), mended["content"]]
            both = [block for content in contents for block in as_blocks(content)]
            waiting.assistant = {**mended, **waiting.assistant, "content": both}
            waiting.calls += calls
            waiting.sources += [*(at for at, _ in lead), position]
            waiting.mended = True
        elif calls:
            sources = [*(at for at, _ in lead), position]
            self.exchange = _Exchange([one for _, one in lead], mended, calls, sources, changed)
        else:
            self._plain(TurnKind.ASSISTANT, [*lead, (position, mended)], repaired=changed)

    def _mend_assistant(self, message: Message, position: int) -> Message:
        content = message.get("content")
        if not isinstance(content, list):
            return message
        kept = c.without_blank_texts(content, TEXT)
        if kept is not content:
            self.group.repair(position, "a blank text block was left out")
        out: list[Block] = []
        for block in kept:
            kind = block.get("type")
            if kind == "tool_use" and not isinstance(block.get("input"), dict):
                self.group.repair(position, "call arguments that are no JSON object were wrapped into one")
                out.append({**block, "input": c.arguments_object(block.get("input"))})
            elif kind == "tool_result":
                self.group.repair(position, "a tool result inside an assistant message became plain text")
                out += loose_result(block)
            else:
                out.append(block)
        same = len(out) == len(content) and all(new is old for new, old in zip(out, content, strict=True))
        return message if same else {**message, "content": out}

    def _user(self, message: Message, position: int, origin: str) -> None:
        speaker = "tool" if origin == "environment" else "user"
        content = message.get("content")
        if not isinstance(content, list):
            if c.is_blank(content):
                self.group.repair(position, "an empty user message was left out")
            else:
                self._said(message, position, [speaker], speaker, repaired=False)
            return
        results, rest, clean = self._sort_blocks(content, position, speaker)
        if results:
            self._answered(message, position, results, rest, clean=clean)
        elif rest:
            kept = message if clean else {**message, "content": [block for block, _ in rest]}
            self._said(kept, position, [role for _, role in rest], speaker, repaired=not clean)
        else:
            self.group.repair(position, "an empty user message was left out")

    def _said(self, message: Message, position: int, speakers: list[str], speaker: str, *, repaired: bool) -> None:
        """A user message without results; `speakers` says who speaks, block by block."""
        observed = speaker == "tool" or all(role == "tool" for role in speakers)
        first = 0 if isinstance(message.get("content"), list) else -1
        roles = {(0, first + index): role for index, role in enumerate(speakers)}
        kind = TurnKind.OBSERVATION if observed else TurnKind.USER
        self._plain(kind, [(position, message)], roles=roles, repaired=repaired)

    def _sort_blocks(
        self, content: list[Block], position: int, speaker: str
    ) -> tuple[list[Block], list[tuple[Block, str]], bool]:
        """Results that a call waits for, everything else with who says it, and whether all stood as it should."""
        waiting = self.exchange
        results: list[Block] = []
        rest: list[tuple[Block, str]] = []
        clean = True
        for block in content:
            kind = block.get("type")
            if kind == "text" and c.is_blank(block.get("text")):
                self.group.repair(position, "a blank text block was left out")
                clean = False
            elif kind == "tool_result" and waiting is not None and waiting.waits_for(block):
                mended = mended_result(block)
                clean = clean and mended is block and not rest
                waiting.take(mended)
                results.append(mended)
            elif kind == "tool_result":
                name = c.shorten(c.as_str(block.get("tool_use_id")))
                self.group.repair(position, f"a tool result without its call ({name}) became plain text")
                rest += [(loose, "tool") for loose in loose_result(block)]
                clean = False
            elif kind == "tool_use":
                self.group.repair(position, "a tool call inside a user message became plain text")
                rest.append(({"type": "text", "text": c.dump(block)}, speaker))
                clean = False
            else:
                rest.append((block, speaker))
        return results, rest, clean

    def _answered(
        self, message: Message, position: int, results: list[Block], rest: list[tuple[Block, str]], *, clean: bool
    ) -> None:
        waiting = self.exchange
        assert waiting is not None
        if waiting.users or self.group.held or not clean:
            self.group.repair(position, "tool results were gathered at the front of one user message")
            waiting.mended = True
        if rest and self.group.held:
            self._absorb_held(waiting)
        waiting.heard = True
        waiting.users.append(message)
        waiting.sources.append(position)
        waiting.rest += rest
        if not waiting.missing:
            self._close(open_=False)

    def _absorb_held(self, waiting: _Exchange) -> None:
        # What was said between the calls and these results came before what stands behind these results; both end
        # up in one message, so that the order of the user's words stays.
        for turn in self.group.held:
            (said,) = turn.messages
            if said.get("role") != "user":
                return
        for turn in self.group.held:
            blocks = as_blocks(turn.messages[0]["content"])
            waiting.rest += [(block, part.role) for block, part in zip(blocks, turn.parts, strict=True)]
            waiting.sources += turn.sources
        self.group.held.clear()

    def _close(self, *, open_: bool) -> None:
        waiting = self.exchange
        assert waiting is not None
        self.exchange = None
        missing = waiting.missing
        if missing and waiting.heard:
            names = ", ".join(c.shorten(call.id) for call in missing)
            self.group.repair(waiting.sources[0], f"no result came for {names}; a stand-in was put in")
        if len(waiting.users) == 1 and not waiting.mended and not missing:
            user = waiting.users[0]
        else:
            gathered = [*waiting.results, *map(_stand_in, missing), *(block for block, _ in waiting.rest)]
            user = {**(waiting.users[0] if waiting.users else {"role": "user"}), "content": gathered}
        at = len(waiting.lead) + 1
        behind = len(waiting.results) + len(missing)
        turn = c.build_turn(
            TurnKind.EXCHANGE,
            [*waiting.lead, waiting.assistant, user],
            sorted(waiting.sources),
            places,
            roles={(at, behind + index): role for index, (_, role) in enumerate(waiting.rest)},
            stand_ins={(at, index) for index in range(len(waiting.results), behind)},
            open_=open_,
            repaired=waiting.mended or bool(missing),
        )
        self.group.flush(turn)

    def finish(self) -> Parsed:
        sources = [position for position, _ in self.lead]
        if self.exchange is not None:
            self.exchange.sources += sources
            self._close(open_=True)
        elif sources:
            self.group.turns.append(c.build_turn(TurnKind.OTHER, [], sources, places, open_=True, repaired=True))
        return self.group.parsed()


def _blocks_of(message: Message, kind: str) -> list[Block]:
    content = message.get("content")
    return [block for block in content if block.get("type") == kind] if isinstance(content, list) else []


def _stand_in(call: _Call) -> Block:
    return {"type": "tool_result", "tool_use_id": call.id, "content": c.NO_RESULT}


def _alternate(messages: Sequence[Message]) -> list[Message]:
    """Messages of one role side by side are joined, as some gateways take no two in a row."""
    out: list[Message] = []
    for message in messages:
        before = out[-1] if out else None
        if before is not None and before.get("role") == message.get("role"):
            content = c.joined_content(before.get("content"), message.get("content"), "text")
            out[-1] = {**message, **before, "content": content}
        else:
            out.append(message)
    return out
