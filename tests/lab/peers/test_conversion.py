"""Recorded messages to chat messages and back, with peers made up here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import foldaway
from foldaway.lab.peers._base import Kept, PeerSession, Setting
from foldaway.lab.peers._chat import OWN, Chat
from foldaway.lab.timeline import steps_of
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.readers import read_sessions
from foldaway.testing.histories import FORMATS, Call, Writer
from foldaway.wire import get_wire, problems

BUNDLED = sorted((Path(foldaway.__file__).parent / "data" / "sessions").glob("*.gz"))

Cut = Callable[[Sequence[Chat]], Sequence[Chat]]


class Fake(Kept):
    """Cuts with a function."""

    def __init__(self, cut: Cut) -> None:
        super().__init__()
        self._cut = cut

    def add(self, chats: Sequence[Chat]) -> None:
        self.chats.extend(chats)

    def cut(self) -> Sequence[Chat]:
        return self._cut(self.chats)


def history(format: str) -> list[Message]:
    """A user, two calls at once with their results, an answer, a user."""
    writer = Writer(format)
    writer.user("look at both")
    writer.calls(
        Call(name="read", arguments={"path": "a.py"}, result="alpha text"),
        Call(name="read", arguments={"path": "b.py"}, result="beta text"),
        thought="I read both.",
    )
    writer.say("Both are read.")
    writer.user("go on")
    return writer.messages


def recorded(format: str, messages: Sequence[Message] | None = None, **fields: Any) -> Recorded:
    given = history(format) if messages is None else messages
    return Recorded(name="made-up", source_format="test", format=format, messages=given, **fields)


def session(cut: Cut, format: str, messages: Sequence[Message] | None = None) -> PeerSession:
    made = recorded(format, messages)
    result = PeerSession(made, 10_000, lambda setting: Fake(cut))
    result.append(made.messages)
    return result


def view(cut: Cut, format: str) -> list[Message]:
    return list(session(cut, format).view().messages)


def without(*numbers: int) -> Cut:
    return lambda chats: [chat for chat in chats if chat.number not in numbers]


def numbers_of(role: str, format: str) -> list[int]:
    seen: list[Chat] = []
    session(lambda chats: seen.extend(chats) or chats, format).view()  # type: ignore[func-returns-value]
    return [chat.number for chat in seen if chat.role == role]


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.name[:20])
def test_what_a_peer_left_alone_is_the_recorded_object_at_every_call(path: Path) -> None:
    for one in read_sessions(path):
        peer = PeerSession(one, 16_000, lambda setting: Fake(list))
        done = 0
        for step in steps_of(one):
            peer.append(one.messages[done : step.start], origins=one.origins[done : step.start])
            done = step.start
        sent = peer.view().messages
        assert problems(one.format, sent) == []
        turns = get_wire(one.format).parse(one.messages[:done], origins=one.origins[:done]).turns
        expected = [(message, turn.repaired) for turn in turns for message in turn.messages]
        assert len(sent) == len(expected)
        # What the recording itself has wrong is mended; all else is what was recorded.
        assert all(a == b if mended else a is b for a, (b, mended) in zip(sent, expected, strict=True))


@pytest.mark.parametrize("format", FORMATS)
def test_a_history_goes_in_and_out_unchanged(format: str) -> None:
    messages = history(format)
    sent = session(list, format, messages).view().messages
    assert all(a is b for a, b in zip(sent, messages, strict=True))


@pytest.mark.parametrize("format", FORMATS)
def test_calls_results_and_texts_are_told_apart(format: str) -> None:
    seen: list[Chat] = []
    session(lambda chats: seen.extend(chats) or chats, format).view()  # type: ignore[func-returns-value]
    assert [chat.role for chat in seen] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert "I read both." in (seen[1].text, seen[1].reasoning)
    assert [call.name for call in seen[1].calls] == ["read", "read"]
    assert [(chat.text, chat.name) for chat in seen[2:4]] == [("alpha text", "read"), ("beta text", "read")]
    assert [chat.call_id for chat in seen[2:4]] == [call.id for call in seen[1].calls]


@pytest.mark.parametrize("format", FORMATS)
def test_a_cleared_result_changes_nothing_else(format: str) -> None:
    cleared = numbers_of("tool", format)[0]
    sent = view(lambda chats: [replace(c, text="[cleared]") if c.number == cleared else c for c in chats], format)
    text = str(sent)
    assert "alpha text" not in text
    assert "[cleared]" in text
    assert "beta text" in text
    assert problems(format, sent) == []
    assert len(sent) == len(history(format))


@pytest.mark.parametrize("format", FORMATS)
def test_a_result_without_its_call_goes_out_as_the_peer_left_it(format: str) -> None:
    call = numbers_of("assistant", format)[0]
    sent = view(without(call), format)
    assert "alpha text" in str(sent)
    assert problems(format, sent)


@pytest.mark.parametrize("format", FORMATS)
def test_one_result_of_two_can_be_dropped_and_is_missed(format: str) -> None:
    dropped = numbers_of("tool", format)[1]
    sent = view(without(dropped), format)
    assert "alpha text" in str(sent)
    assert "beta text" not in str(sent)
    assert problems(format, sent)


@pytest.mark.parametrize("format", FORMATS)
def test_a_whole_exchange_can_be_dropped(format: str) -> None:
    sent = view(without(*numbers_of("tool", format), numbers_of("assistant", format)[0]), format)
    assert problems(format, sent) == []
    assert len(sent) == 3


@pytest.mark.parametrize("format", FORMATS)
def test_a_message_of_the_peers_own_is_shaped_like_the_format(format: str) -> None:
    sent = view(lambda chats: [Chat(number=OWN, role="user", text="what was: x"), *chats[4:]], format)
    assert problems(format, sent) == []
    assert len(sent) == 3
    assert "what was: x" in str(sent[0])
    assert sent[0]["role"] == "user"


@pytest.mark.parametrize("format", FORMATS)
def test_arguments_and_words_of_an_answer_can_be_changed(format: str) -> None:
    def cut(chats: Sequence[Chat]) -> list[Chat]:
        answer = chats[1]
        calls = (replace(answer.calls[0], arguments='{"path": "other.py"}'), answer.calls[1])
        return [chats[0], replace(answer, text="shorter", calls=calls), *chats[2:]]

    sent = view(cut, format)
    text = str(sent)
    # The made-up Responses history has the thought as reasoning, which is not among the words.
    assert ("I read both." in text) == (format == "openai_responses")
    assert text.index("shorter") < text.index("other.py")
    assert "other.py" in text
    assert "a.py" not in text
    assert "b.py" in text
    assert problems(format, sent) == []


@pytest.mark.parametrize("format", FORMATS)
def test_what_can_be_recalled_is_covered_by_position(format: str) -> None:
    made = recorded(format)
    fake = Fake(list)
    peer = PeerSession(made, 10_000, lambda setting: fake)
    peer.append(made.messages)
    fake.recallable = {numbers_of("tool", format)[0]}
    sent = peer.view()
    covered = [at for at in range(len(made.messages)) if any(sent.covers(item) for item in peer.items_of(at))]
    assert len(covered) == 1
    assert "alpha text" in str(made.messages[covered[0]])


@pytest.mark.parametrize("format", FORMATS)
def test_a_tool_of_the_peer_is_added_in_the_shape_of_the_format(format: str) -> None:
    fake = Fake(list)
    fake.tools = [
        {"type": "function", "function": {"name": "fetch", "description": "d", "parameters": {"type": "object"}}}
    ]
    tools = PeerSession(recorded(format), 10_000, lambda setting: fake).view().tools
    assert tools is not None
    shaped = {
        "openai_chat": fake.tools[0],
        "anthropic_messages": {"name": "fetch", "description": "d", "input_schema": {"type": "object"}},
        "openai_responses": {"type": "function", "name": "fetch", "description": "d", "parameters": {"type": "object"}},
    }
    assert tools[-1] == shaped[format]


def test_the_room_is_the_budget_less_what_stands_beside_the_messages() -> None:
    rooms: list[int] = []

    def make(setting: Setting) -> Fake:
        rooms.append(setting.room)
        return Fake(list)

    PeerSession(recorded("anthropic_messages"), 1000, make)
    PeerSession(recorded("anthropic_messages", system="be careful " * 50), 1000, make)
    assert rooms[0] == 1000
    assert 800 < rooms[1] < 960


def test_blank_blocks_of_a_recording_are_not_held_against_a_peer() -> None:
    messages = history("anthropic_messages")
    blank = {"type": "text", "text": "\n\n"}
    messages[1] = {**messages[1], "content": [blank, *messages[1]["content"]]}
    sent = session(list, "anthropic_messages", messages).view().messages
    assert problems("anthropic_messages", messages)
    assert problems("anthropic_messages", sent) == []
    assert sent[0] is messages[0]
