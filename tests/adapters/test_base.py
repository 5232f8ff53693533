"""What adapters share, on a framework made up for it: messages as objects, some of which hold several of the wire's."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from foldaway.adapters._base import ContextWarning, Folding
from foldaway.adapters._matching import Translated
from foldaway.adapters._untouched import TURNS
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
    def test_a_model_that_the_user_named_counts_whatever_the_framework_calls_it(self) -> None:
        given = letters(40)
        named = Folding(Letters(), budget=1500, model="gpt-4o").fold(given, key="a", model="nobody/knows-this")
        plain = Folding(Letters(), budget=1500).fold(given, key="a", model="gpt-4o")
        other = Folding(Letters(), budget=1500).fold(given, key="a", model="nobody/knows-this")
        assert named.view is not None
        assert plain.view is not None
        assert other.view is not None
        assert named.view.tokens == plain.view.tokens != other.view.tokens

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
        with pytest.raises(TypeError, match=r"no setting buget=; did you mean budget=\?"):
            Folding(Letters(), buget=10)
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

    def test_a_recall_takes_words_in_the_wrong_place_and_says_where_nothing_is_asked_for(self) -> None:
        folding = Folding(Letters(), budget=1500)
        folding.fold(letters(40))
        assert "load_part_7" in folding.recall({"ids": "", "find": "load_part_7"})
        assert "load_part_7" in folding.recall({"find": "load_part_7"})
        assert folding.recall({"ids": " "}).startswith("Nothing was brought back: say what")

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


class Counting(Letters):
    """Tells how many messages it translated."""

    def __init__(self) -> None:
        self.translated = 0

    def to_wire(self, message: Letter) -> list[Message]:
        self.translated += 1
        return super().to_wire(message)


def changed_in_place(letter: Letter) -> None:
    """As some program changes a message that it has handed over already."""
    letter.parts[0]["content"] = "changed in place"


class TestWhatIsKnown:
    def test_only_what_is_new_is_translated(self) -> None:
        for key in ("a", None):
            codec = Counting()
            folding = Folding(codec, budget=1500)
            given = letters(60)
            for upto in range(1, len(given) + 1):
                folded = folding.fold(given[:upto], key=key)
                assert list(folded.fresh) == [given[upto - 1]]
            # A conversation without a key is compared by content once, when nothing of it is known.
            assert codec.translated <= len(given) + 1

    def test_objects_made_anew_are_recognised_by_what_they_say(self) -> None:
        folding = Folding(Letters(), budget=1500, store=MemoryStore())
        given = letters(40)
        before = folding.fold(given, key="a")
        again = folding.fold([replace(letter) for letter in given], key="a")
        assert wire_of(again.messages) == wire_of(before.messages)
        assert folding.session("a").branch == 0

    def test_a_framework_that_makes_its_messages_anew_costs_no_copies_to_compare(self) -> None:
        folding = Folding(Letters(), budget=1500)
        given = letters(40)
        for upto in range(20, 40):
            shown = folding.fold([replace(letter) for letter in given[:upto]], key="a").messages
        [desk] = folding._desks.all("a")
        assert desk.history is not None
        assert desk.history.untouched._states == []
        assert wire_of(shown) == wire_of(folding.fold(given[:39], key="a").messages)
        assert problems("openai_chat", wire_of(shown)) == []

    def test_a_message_changed_in_place_that_the_model_sees_is_noticed_at_once(self) -> None:
        folding = Folding(Letters(), budget=3000, store=MemoryStore())
        given = letters(40)
        shown = folding.fold(given, key="a").messages
        changed = next(one for one in shown[3:-3] if any(one is letter for letter in given))
        changed_in_place(changed)
        with pytest.warns(ContextWarning, match="gone or changed"):
            again = folding.fold(given, key="a")
        assert "changed in place" in str(wire_of(again.messages))
        assert folding.session("a").branch == 1

    def test_one_that_is_folded_away_is_noticed_within_some_calls(self) -> None:
        folding = Folding(Letters(), budget=1500, store=MemoryStore())
        given = letters(80)
        shown = folding.fold(given, key="a").messages
        changed = next(one for one in given[2:] if not any(one is letter for letter in shown))
        changed_in_place(changed)
        with pytest.warns(ContextWarning, match="gone or changed"):
            assert [folding.fold(given, key="a").changed for _ in range(TURNS)] == [True] * TURNS
        assert folding.session("a").branch == 1
        assert "changed in place" in str(folding.session("a").messages)

    def test_what_happened_to_the_session_beside_the_adapter_is_taken_in(self) -> None:
        folding = Folding(Letters(), budget=100_000)
        given = letters(5)
        folding.fold(given, key="a")
        session = folding.session("a")
        session.append([{"role": "assistant", "content": "Beside."}])
        more = [*given, Letter(({"role": "assistant", "content": "Instead."},))]
        assert folding.fold(more, key="a").messages == more
        assert session.messages[-1]["content"] == "Instead."

    def test_a_history_that_something_else_cuts_is_told_of_and_going_back_is_not(self) -> None:
        given = letters(40)
        folding = Folding(Letters(), budget=1500, store=MemoryStore())
        folding.fold(given[:20], key="a")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            folding.fold(given[:14], key="a")
            folding.fold([*given[:10], Letter(({"role": "user", "content": "Otherwise."},))], key="a")
            # Nor is another process that goes on with the same conversation.
            store = MemoryStore()
            one, other = (Folding(Letters(), budget=1500, store=store) for _ in range(2))
            one.fold(given[:10], key="a")
            other.fold(given[:14], key="a")
            one.fold(given[:16], key="a")
            other.fold(given[:20], key="a")
        folding.fold(given[:20], key="b")
        with pytest.warns(ContextWarning, match="something else"):
            folding.fold([given[0], *given[9:22]], key="b")

    @pytest.mark.parametrize("key", ["a", None])
    @pytest.mark.parametrize("store", [None, MemoryStore()])
    def test_a_prompt_that_is_another_at_each_call_is_no_edit_of_the_history(
        self, key: str | None, store: MemoryStore | None
    ) -> None:
        def prompt(step: int) -> Letter:
            return Letter(({"role": "system", "content": f"It is minute {step}. {'Rule. ' * 10 * (step // 20)}"},))

        folding, steady = (Folding(Letters(), budget=1500, store=s) for s in (store, None))
        given, parted = letters(40), 0
        before: list[Message] = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for step in range(1, len(given) + 1):
                if given[step - 1].parts[-1].get("tool_calls"):
                    continue
                folded = folding.fold([prompt(step), *given[:step]], key=key)
                shown = [part for letter in folded.messages for part in letter.parts]
                assert shown[0] == prompt(step).parts[0]
                assert folded.view is not None
                assert folded.view.messages == shown
                assert folded.view.tokens <= 1500
                assert not problems("openai_chat", shown)
                parted += shown[1 : len(before)] != before[1:]
                before = shown
                steady.fold([prompt(0), *given[:step]], key=key)
        assert len(folding.sessions()) == 1 + (key is None)
        assert parted <= 2 * sum(entry["type"] == "commit" for entry in steady.sessions()[0].ledger)

    @settings(max_examples=25, deadline=None)
    @drawn(steps=st.lists(st.sampled_from(["grow", "copy", "cut", "edit", "pin"]), max_size=12), data=st.data())
    def test_it_is_as_if_everything_were_new(self, steps: list[str], data: st.DataObject) -> None:
        knowing, forgetting = (Folding(Letters(), budget=1500, store=MemoryStore()) for _ in range(2))
        whole, history = letters(40), letters(20)
        for step in ["grow", *steps]:
            at = data.draw(st.integers(0, len(history) - 1))
            match step:
                case "grow":
                    history = [*history, *whole[len(history) : len(history) + 3]]
                case "copy":
                    history = [*history[:at], replace(history[at]), *history[at + 1 :]]
                case "cut":
                    history = history[: max(1, len(history) - 2)]
                case "edit":
                    history[at] = Letter(tuple({**part, "content": f"edited {at}"} for part in history[at].parts))
                case _:
                    for folding in (knowing, forgetting):
                        folding.session("a").pin(2)
            for desk in forgetting._desks.all(None):
                desk.history = None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ContextWarning)  # of a history that is edited behind our back
                one, other = (folding.fold(history, key="a") for folding in (knowing, forgetting))
            assert wire_of(one.messages) == wire_of(other.messages)
            assert one.changed == other.changed
            assert knowing.session("a").branch == forgetting.session("a").branch


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
