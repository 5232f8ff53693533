"""A history finds the session in which its longest prefix was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldaway.model.wire import Message
from foldaway.protocols import SessionKey
from foldaway.proxy.chains import Chains, Place, chain


class Marks:
    """A store's marks, in a dict."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def open(self, key: SessionKey) -> str:
        return key.user

    def put_marks(self, session: str, marks: Mapping[str, str]) -> None:
        self.kept.update({(session, key): value for key, value in marks.items()})

    def marks(self, user: str, keys: Sequence[str]) -> dict[str, str]:
        return {key: self.kept[user, key] for key in keys if (user, key) in self.kept}


def history(*texts: str) -> list[Message]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(texts)]


def test_a_longer_history_continues_the_one_it_begins_with() -> None:
    chains = Chains()
    chains.note("t", chain(history("a", "b"), ""), "first", 0, 0)
    assert chains.find("t", chain(history("a", "b", "c"), "")) == Place("first", 0, 2)
    assert chains.find("t", chain(history("a", "x"), "")) == Place("first", 0, 1)
    assert chains.find("t", chain(history("z"), "")) is None


def test_where_two_histories_part_each_finds_its_own() -> None:
    chains = Chains()
    chains.note("t", chain(history("a", "b", "c"), ""), "first", 0, 0)
    chains.note("t", chain(history("a", "b", "d"), ""), "first", 1, 2)
    assert chains.find("t", chain(history("a", "b", "c", "e"), "")) == Place("first", 0, 3)
    assert chains.find("t", chain(history("a", "b", "d", "e"), "")) == Place("first", 1, 3)


def test_tenants_and_seeds_are_apart() -> None:
    chains = Chains()
    chains.note("one", chain(history("a"), "chat"), "first", 0, 0)
    assert chains.find("two", chain(history("a"), "chat")) is None
    assert chains.find("one", chain(history("a"), "responses")) is None


def test_cache_marks_and_the_order_of_keys_do_not_count() -> None:
    marked: list[Message] = [
        {"content": [{"text": "a", "type": "text", "cache_control": {"type": "ephemeral"}}], "role": "user"}
    ]
    plain: list[Message] = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    assert chain(marked, "") == chain(plain, "")


def test_another_process_finds_it_in_the_store() -> None:
    store = Marks()
    Chains(store).note("t", chain(history("a", "b"), ""), "first", 3, 0)
    assert Chains(store).find("t", chain(history("a", "b", "c"), "")) == Place("first", 3, 2)


def test_what_is_saved_later_is_known_here_at_once_and_elsewhere_once_it_is_saved() -> None:
    store = Marks()
    chains, elsewhere = Chains(store), Chains(store)
    whole = chain(history("a", "b"), "")
    chains.note("t", chain(history("a"), ""), "first", 0, 0)
    chains.note("t", whole, "first", 0, 1, at_once=False)
    assert chains.find("t", whole) == Place("first", 0, 2)
    assert Chains(store).find("t", whole) == Place("first", 0, 1)
    chains.save("t", "first")
    chains.save("t", "never seen")
    assert elsewhere.find("t", whole) == Place("first", 0, 2)


def test_memory_is_bounded_and_the_store_still_knows() -> None:
    store = Marks()
    chains = Chains(store, most=10)
    for n in range(50):
        chains.note("t", chain(history(f"task {n}"), ""), f"s{n}", 0, 0)
    assert chains.find("t", chain(history("task 0", "more"), "")) == Place("s0", 0, 1)
    assert len(chains._known) == 10


def test_an_answer_is_kept_under_its_id() -> None:
    store = Marks()
    Chains(store).keep("t", "response r1", Place("s", 0, 4), [{"type": "message"}])
    assert Chains(store).kept("t", "response r1") == (Place("s", 0, 4), [{"type": "message"}])
    assert Chains(store).kept("u", "response r1") is None
