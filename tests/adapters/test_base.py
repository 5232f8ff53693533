"""What adapters share, on a framework made up for it: messages as objects, some of which hold several of the wire's."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from foldaway.adapters._base import ContextWarning, Folding
from foldaway.adapters._matching import Translated
from foldaway.errors import OverBudget, SettingsError
from foldaway.model.wire import Message
from foldaway.stores.memory import MemoryStore
from foldaway.testing.histories import working_session
from foldaway.wire import problems


@dataclass(frozen=True)
class Letter:
    """A message of the made-up framework."""

    parts: tuple[Any, ...]
    number: int = 0
    marks: dict[str, Any] = field(default_factory=dict)


class Letters:
    format = "openai_chat"

    def to_wire(self, message: Letter) -> list[Message]:
        return list(message.parts)

    def from_wire(self, messages: Sequence[Message], like: Letter | None) -> list[Letter]:
        return [replace(like or Letter((), number=-1), parts=tuple(messages))]


class Failing(Letters):
    def from_wire(self, messages: Sequence[Message], like: Letter | None) -> list[Letter]:
        raise RuntimeError("no way back")


def letters(steps: int) -> list[Letter]:
    """A working session in which all results of one exchange come in one letter."""
    made: list[Letter] = []
    for message in working_session("openai_chat", steps):
        if message["role"] == "tool" and made[-1].parts[0]["role"] == "tool":
            made[-1] = Letter((*made[-1].parts, message), len(made) - 1)
        else:
            made.append(Letter((message,), len(made)))
    return made


def wire_of(messages: Sequence[Letter]) -> list[Message]:
    return [part for letter in messages for part in letter.parts]


class TestFold:
    def test_unchanged_messages_are_the_objects_that_came_and_the_rest_is_valid(self) -> None:
        given = letters(40)
        folded = Folding(Letters(), budget=1500).fold(given, key="a")
        assert folded.changed
        assert folded.recallable
        assert problems("openai_chat", wire_of(folded.messages)) == []
        kept = [letter for letter in folded.messages if any(letter is one for one in given)]
        assert len(kept) >= len(folded.messages) - 2
        assert kept[0] is given[0]
        assert kept[-1] is given[-1]

    def test_with_room_enough_the_list_is_the_one_that_came(self) -> None:
        given = letters(10)
        folded = Folding(Letters(), budget=100_000).fold(given)
        assert all(a is b for a, b in zip(folded.messages, given, strict=True))
        assert not folded.changed
        assert not folded.recallable

    def test_what_has_no_wire_form_stays_in_its_place(self) -> None:
        given = letters(40)
        given.insert(1, Letter((), 1000))
        given.append(Letter((), 1001))
        shown = Folding(Letters(), budget=1500).fold(given).messages
        assert shown[1] is given[1]
        assert shown[-1] is given[-1]

    def test_cache_marks_move_without_making_anything_anew(self) -> None:
        folding = Folding(Letters(), budget=1500)
        given = letters(40)
        folding.fold(given, key="a")
        marked = Letter(({**given[-1].parts[0], "cache_control": {"type": "ephemeral"}}, *given[-1].parts[1:]))
        folded = folding.fold([*given[:-1], marked], key="a")
        assert folded.messages[-1] is marked
        assert folding.session("a").branch == 0

    def test_a_failure_lets_the_call_go_out_as_it_was_and_says_so(self) -> None:
        given = letters(40)
        folding = Folding(Failing(), budget=1500)
        with pytest.warns(ContextWarning, match="no way back"):
            folded = folding.fold(given, key="a")
        assert folded.messages == given
        assert not folded.changed
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert folding.fold(given, key="a").messages == given

    def test_what_cannot_fit_is_an_error(self) -> None:
        with pytest.raises(OverBudget):
            Folding(Letters(), budget=10).fold(letters(1), system="You are " + "very " * 100)

    def test_settings_are_looked_at_before_the_first_call(self) -> None:
        with pytest.raises(SettingsError, match="budget"):
            Folding(Letters(), budget=0)
        with pytest.raises(SettingsError, match="format="):
            Folding(Letters(), budget=10, format="openai_chat")
        with pytest.raises(SettingsError, match="most_sessions"):
            Folding(Letters(), budget=10, most_sessions=0)


class TestConversations:
    def test_histories_that_begin_alike_are_told_apart(self) -> None:
        folding = Folding(Letters(), budget=1500)
        start = letters(3)
        ends = [[*start, Letter(({"role": "user", "content": f"Now {way}."},))] for way in ("left", "right")]
        first = folding.fold(start)
        left, right = folding.fold(ends[0]), folding.fold(ends[1])
        assert first.desk is left.desk is not right.desk
        assert folding.fold([*ends[0], Letter(({"role": "assistant", "content": "Yes."},))]).desk is left.desk

    def test_a_recall_never_guesses_whose_words_to_bring(self) -> None:
        folding = Folding(Letters(), budget=1500)
        given = letters(40)
        folding.fold(given)
        assert "load_part_0" in folding.recall({"ids": "#3"})
        other = [Letter(({"role": "user", "content": "Another matter."},))]
        folding.fold(other)
        assert folding.recall({"ids": "#3"}).startswith("Nothing was brought back: 2 conversations")
        assert "load_part_0" in folding.recall({"ids": ["#3"]}, messages=given)
        assert "load_part_0" not in folding.recall({"ids": "#3"}, messages=other)

    def test_a_recall_of_a_folded_item_is_shown_at_the_end_of_the_next_view(self) -> None:
        folding = Folding(Letters(), budget=3000)
        given = letters(40)
        folded = folding.fold(given, key="a")
        folding.bring(folded, "#3")
        shown = folding.fold(given, key="a").messages
        assert shown[-1].number == -1
        assert "load_part_0" in shown[-1].parts[-1]["content"]
        assert problems("openai_chat", wire_of(shown)) == []

    def test_the_ones_used_longest_ago_are_opened_again_from_the_store(self) -> None:
        folding = Folding(Letters(), budget=1500, store=MemoryStore(), most_sessions=2)
        folding.fold(letters(40), key="a")
        folding.session("a").pin(3)
        for key in ("b", "c", "d"):
            folding.fold(letters(2), key=key)
        assert len(folding.sessions()) == 2
        assert 3 in folding.session("a").engine.pins

    def test_threads_share_an_adapter(self) -> None:
        folding = Folding(Letters(), budget=1500)
        given = letters(30)

        def play(key: str) -> list[int]:
            return [folding.fold(given[:upto], key=key).messages[-1].number for upto in range(3, len(given), 3)]

        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(play, "abcdef"))
        assert all(result == results[0] for result in results)


class TestBack:
    def test_repeated_messages_are_taken_in_their_order(self) -> None:
        same = [Letter(({"role": "user", "content": "Go on."},), n) for n in range(3)]
        history = Translated.of(Letters(), same)
        assert [m.number for m in history.back(history.wire)] == [0, 1, 2]
        assert [m.number for m in history.back(history.wire[:2])] == [0, 1]

    def test_a_changed_result_is_made_like_the_message_it_came_in(self) -> None:
        given = letters(6)
        history = Translated.of(Letters(), given)
        view = [{**m, "content": "less"} if m["role"] == "tool" else m for m in history.wire]
        back = history.back(view)
        assert [m.number for m in back] == [m.number for m in given]
        assert wire_of(back) == view

    def test_a_message_of_which_a_part_was_folded_is_made_like_the_one_it_was(self) -> None:
        picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
        words = [{"role": "user", "content": [{"type": "text", "text": f"log {n}"}, picture]} for n in range(3)]
        history = Translated.of(Letters(), [Letter((message,), n) for n, message in enumerate(words)])
        folded = {"role": "user", "content": [{"type": "text", "text": "[folded]"}, picture]}
        assert [m.number for m in history.back([words[0], folded, words[2]])] == [0, 1, 2]
