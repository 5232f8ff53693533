"""The front door: append and sync, views, recall, control, restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldaway import Level, MemoryStore, RecallError, Session, SettingsError, StoreError, WireError
from foldaway.engine import ledger
from foldaway.errors import MovedOn
from foldaway.model.wire import Message
from foldaway.protocols import SessionKey
from foldaway.settings.parts import policy_names
from foldaway.stores.sqlite import SqliteStore
from foldaway.testing.histories import FORMATS, SYSTEM, Writer, working_session
from foldaway.testing.walks import dumped


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def folded_session(format: str = "openai_chat", **settings: Any) -> Session:
    """A session after its first commit."""
    session = Session(**{"format": format, "budget": 1500, "policy": "window", "system": SYSTEM, **settings})
    session.append(working_session(format, 20))
    assert session.view().commit is not None
    return session


def texts(session: Session) -> list[Any]:
    return [m["content"] for m in session.view().messages]


def a_folded_read(session: Session) -> int:
    return next(i.id for i in session.items() if i.name == "read_file" and session.level(i.id) < Level.RAW)


# -- append and sync


def test_what_fits_goes_out_as_it_came_and_is_copied() -> None:
    history = working_session("openai_chat", 5)
    session = Session(budget=50_000)
    session.append(history)
    history[0]["content"] = "changed afterwards"
    assert session.view().messages == working_session("openai_chat", 5)


@pytest.mark.parametrize("bad", ["text", None, 5, ["x"]])
def test_what_is_no_message_is_refused(bad: Any) -> None:
    with pytest.raises(WireError):
        Session(budget=900).append([bad])


def test_sending_the_history_again_adds_only_what_is_new() -> None:
    session = folded_session()
    history = working_session("openai_chat", 20)
    assert session.sync(history) == 0
    assert session.sync([*history, user("and now?")]) == 1
    assert session.view().messages[-1] == user("and now?")


def test_cache_marks_that_a_client_moves_make_no_branch() -> None:
    session = Session(format="anthropic_messages", budget=9000)
    block = {"type": "text", "text": "Mend it."}
    session.sync([{"role": "user", "content": [{**block, "cache_control": {"type": "ephemeral"}}]}])
    assert session.sync([{"role": "user", "content": [block]}, said("ok"), user("go")]) == 2


def test_an_edited_history_starts_a_branch_and_the_old_one_stays_in_the_store() -> None:
    store = MemoryStore()
    session = Session(budget=9000, store=store)
    session.sync([user("1"), said("a"), user("2")])
    session.view()
    session.sync([user("1"), said("b"), user("3")])
    assert texts(session) == ["1", "b", "3"]
    key = session.engine.log
    assert len(key.raws) == 3
    assert len(store.read(session._kept.session, 0)) == 3
    assert texts(Session(budget=9000, store=store)) == ["1", "b", "3"]


def test_a_shortened_history_is_taken_as_it_is() -> None:
    session = Session(budget=9000)
    session.sync([user("1"), said("a"), user("2"), said("b"), user("3")])
    session.view()
    session.sync([user("1"), said("a"), user("2")])
    assert texts(session) == ["1", "a", "2"]


def test_an_edit_behind_the_last_view_starts_a_branch_too() -> None:
    session = Session(budget=9000)
    session.sync([user("1")])
    session.view()
    session.sync([user("1"), said("a"), user("2")])
    session.sync([user("1"), said("another answer")])
    assert texts(session) == ["1", "another answer"]


def test_a_branch_after_commits_survives_a_restart() -> None:
    store = MemoryStore()
    session = folded_session(store=store)
    history = working_session("openai_chat", 20)
    session.sync([*history[:5], user("No: another way.")])
    before = dumped(session.view().messages)
    assert len(before) == 6
    again = Session(budget=1500, policy="window", system=SYSTEM, store=store)
    assert dumped(again.view().messages) == before


@pytest.mark.parametrize("stored", [False, True])
def test_a_client_that_goes_on_from_our_own_view_is_understood(stored: bool) -> None:
    store = MemoryStore() if stored else None
    session = folded_session(store=store)
    view = session.view().messages
    assert session.sync([*view, user("and now?")]) == 1
    assert dumped(session.view().messages) == dumped([*view, user("and now?")])
    assert session.recall(f"#{a_folded_read(session)}").found


# -- restart


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("policy", policy_names())
def test_a_restart_on_one_file_gives_the_same_bytes_and_levels(tmp_path: Path, policy: str, format: str) -> None:
    settings: dict[str, Any] = {"format": format, "policy": policy, "store": f"sqlite:///{tmp_path}/s.db"}
    with folded_session(**settings) as session:
        session.recall("#2")
        session.pin(3)
        before = dumped(session.view().messages)
        levels = [session.level(i.id) for i in session.items()]
        made = [ledger.dumps(entry) for entry in session.ledger]
    with Session(**{"budget": 1500, "system": SYSTEM, **settings}) as again:
        assert dumped(again.view().messages) == before
        assert [again.level(i.id) for i in again.items()] == levels
        assert [ledger.dumps(entry) for entry in again.ledger] == made
        assert again.explain(3).pinned
        assert again.explain(2).faults == session.explain(2).faults


def test_a_session_that_another_process_went_on_with_takes_its_messages_in_first() -> None:
    store = MemoryStore()
    one, two = Session(budget=900, store=store), Session(budget=900, store=store)
    one.append([user("mine")])
    two.append([user("something else")])
    assert [m["content"] for m in two.view().messages] == ["mine", "something else"]
    assert len(Session(budget=900, store=store).view().messages) == 2


# -- control


def test_undo_takes_the_last_commit_back_and_without_one_says_no() -> None:
    session = folded_session()
    session.set_budget(budget=50_000)
    assert session.undo()
    view = session.view()
    assert view.commit is None
    assert view.messages == working_session("openai_chat", 20)
    assert not session.undo()


def test_pin_raises_and_holds_and_unpin_lets_go() -> None:
    session = folded_session()
    item = a_folded_read(session)
    session.pin(item)
    assert session.level(item) is Level.RAW
    writer = Writer("openai_chat")
    for n in range(12):
        session.append(writer.call("grep", "word " * 150, pattern=f"{n}"))
        session.view()
        assert session.level(item) is Level.RAW
    assert session.explain(item).pinned
    session.unpin(item)
    for n in range(6):
        session.append(writer.call("grep", "word " * 150, pattern=f"{n}"))
        session.view()
    assert session.level(item) < Level.RAW


def test_preview_is_the_commit_to_come_and_changes_nothing() -> None:
    session = Session(budget=1500, policy="auto")
    session.append(working_session("openai_chat", 20))
    planned = session.preview()
    assert planned is not None
    assert session.ledger == []
    assert all(session.level(i.id) is Level.RAW for i in session.items())
    made = session.view().commit
    assert made is not None
    assert made.changes == planned.changes


def test_explain_says_why_an_item_is_gone_and_who_needs_it() -> None:
    session = folded_session()
    item = a_folded_read(session)
    told = session.explain(item)
    assert told.level in ("hidden", "stub")
    assert told.reason == "oldest first"
    assert told.commit == 0
    assert told.needed_by
    assert told.stand_in is not None
    assert "[foldaway" in told.stand_in
    fresh = session.explain(session.items()[-1].id)
    assert (fresh.level, fresh.reason, fresh.stand_in) == ("raw", "never changed", None)


def test_declared_links_show_up_and_outlive_a_restart() -> None:
    store = MemoryStore()
    session = folded_session(store=store)
    session.link(9, [2, 3], why="rests on both")
    again = Session(budget=1500, policy="window", system=SYSTEM, store=store)
    for one in (session, again):
        assert {(t, w, p) for t, w, p, why in one.explain(9).needs if why == "rests on both"} == {
            (2, 1.0, "declared"),
            (3, 1.0, "declared"),
        }


@pytest.mark.parametrize("method", ["pin", "unpin", "explain"])
def test_an_unknown_item_is_named(method: str) -> None:
    with pytest.raises(RecallError, match="#99"):
        getattr(Session(budget=900), method)(99)


@pytest.mark.parametrize(
    "wrong",
    [
        {"low_share": 0.9, "high_share": 0.5},
        {"policy": "no-such"},
        {"recall": "shout"},
        {"store": "ftp://x"},
        {"format": "smoke-signals"},
        {"fixed_over_budget": "pray"},
    ],
)
def test_wrong_settings_are_refused_before_any_work(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Session(**{"budget": 900, **wrong})


# -- recall, search, notes


def test_recall_brings_the_bytes_and_counts_a_fault() -> None:
    session = folded_session()
    item = a_folded_read(session)
    position = next(
        n for n in range(99) if item in session.items_of(n) and session.engine.log.raws[n]["role"] == "tool"
    )
    assert session.recall(f"#{item}").text == session.engine.log.raws[position]["content"]
    assert session.explain(item).faults == 1


@pytest.mark.parametrize("format", FORMATS)
def test_a_directive_in_the_newest_answer_is_served_once_at_the_tail(format: str) -> None:
    session = folded_session(format)
    item = a_folded_read(session)
    wanted = session.engine.log.result_text(session.engine.log.items[item])
    session.append(Writer(format).say(f"I need #{item}. [RETRIEVE: #{item}]"))
    view = session.view()
    assert wanted[:30] in str(view.messages[-1]).replace("\\n", "\n")
    assert session.view().messages == view.messages
    session.append([user("go on")])
    assert session.view().messages[: len(view.messages)] == view.messages
    assert [e["type"] for e in session.ledger].count("inject") == 1


def test_a_directive_of_the_user_or_for_nothing_does_no_harm() -> None:
    session = folded_session()
    session.append([user("what does [RETRIEVE: #2] mean?")])
    session.view()
    assert [e["type"] for e in session.ledger].count("inject") == 0
    session.append([said("[RETRIEVE: #4000]")])
    assert "no item #4000" in str(session.view().messages[-1])


def test_positions_still_name_the_clients_messages_after_an_injection() -> None:
    session = Session(budget=9000)
    session.append([user("one"), said("[RETRIEVE: #1]")])
    session.view()
    session.append([user("two")])
    session.view()
    assert [session.engine.log.items[i].title for i in session.items_of(2)] == ["two"]


@pytest.mark.parametrize("format", FORMATS)
def test_recall_messages_are_a_call_and_its_result(format: str) -> None:
    session = folded_session(format)
    messages = session.recall_messages("#2, #3")
    session.append(messages)
    view = session.view()
    assert "foldaway recall #2, #3" in str(view.messages[-1])
    assert len(messages) == 2


def test_search_finds_items_and_notes_and_takes_any_text() -> None:
    session = folded_session()
    session.remember("the crane limit is 12", key="crane")
    assert session.search("crane limit")[0].ref.startswith("n:")
    hits = session.search("load_part_5")
    assert any("load_part_5" in session.recall(h.ref).text for h in hits if h.ref.isdigit())
    for odd in ("", '"', "*", "AND", "\0", "(", "n:1"):
        session.search(odd)


def test_the_same_key_supersedes_a_note_and_handles_are_private() -> None:
    session = Session(budget=900)
    old = session.remember("limit 12", key="limit")
    new = session.remember("limit 14", key="limit")
    assert [n.superseded for n in session.notes()] == [True, False]
    assert session.note(key="limit") == new
    found = session.note(handle=old.handle)
    assert found is not None
    assert found.text == "limit 12"


# -- redaction


def test_with_redaction_no_secret_reaches_the_store_and_a_resend_is_recognised() -> None:
    store = MemoryStore()
    secret = "sk-" + "a1B2c3D4e5F6g7H8i9J0"
    history = [user(f"My key is {secret}."), said("Noted."), user("go on")]
    session = Session(budget=9000, store=store, redact=True)
    session.append(history)
    assert texts(session) == [m["content"] for m in history]
    stored = "".join(store.read(session._kept.session, 0) + store.read_ledger(session._kept.session, 0))
    assert secret not in stored
    assert "[redacted:" in stored
    again = Session(budget=9000, store=store, redact=True)
    assert again.sync(history) == 0


def test_an_append_that_other_processes_never_let_through_is_refused_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    session = Session(budget=900, store=store)
    session.append([user("mine")])
    monkeypatch.setattr(store, "append", lambda *_: False)
    with pytest.raises(StoreError, match="not stored"):
        session.append([user("late")])
    monkeypatch.undo()
    session.append([user("later")])
    assert [m["content"] for m in session.view().messages] == ["mine", "later"]
    assert [m["content"] for m in Session(budget=900, store=store).view().messages] == ["mine", "later"]


def test_appended_messages_can_say_what_they_need() -> None:
    session = Session(budget=9000)
    session.append([user("Find the rate."), said("It is in the third table."), said("Now the other one.")])
    session.append([said("The sum follows from both.")], needs=[2, 3])
    assert [(t, w, by) for t, w, by, _ in session.explain(4).needs] == [(2, 1.0, "declared"), (3, 1.0, "declared")]
    with pytest.raises(RecallError):
        session.append([said("And this.")], needs=[77])
    assert len(session.items()) == 4


def test_a_history_synced_in_two_processes_is_one_log(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    history = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Going."}]
    with Session(budget=1_000, store=url, name="s") as one, Session(budget=1_000, store=url, name="s") as two:
        assert one.sync(history) == 2
        assert two.sync(history) == 0
        assert one.sync([*history, {"role": "user", "content": "More."}]) == 1
        assert two.sync([*history, {"role": "user", "content": "More."}, {"role": "assistant", "content": "Yes."}]) == 1
        assert [m["content"] for m in two.messages] == ["Go.", "Going.", "More.", "Yes."]
    with Session(budget=1_000, store=url, name="s") as again:
        assert len(again.messages) == 4


def test_an_append_at_a_place_that_another_process_passed_takes_nothing_in(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Session(budget=1_000, store=url, name="s") as one, Session(budget=1_000, store=url, name="s") as two:
        one.append([{"role": "user", "content": "first"}], at=0)
        with pytest.raises(MovedOn, match="another process"):
            two.append([{"role": "user", "content": "second"}], at=0)
        assert [m["content"] for m in two.messages] == ["first"]


class Contended(SqliteStore):
    """A store in which another process writes whenever this one has just read all."""

    other: Session | None = None
    written = 0

    def read(self, session: str, branch: int, start: int = 0) -> list[str]:
        records = super().read(session, branch, start)
        if self.other is not None and not start:
            self.written += 1
            self.other.append([{"role": "user", "content": f"theirs {self.written}"}])
        return records


@pytest.mark.parametrize("redact", [False, True])
def test_one_that_writes_without_a_pause_does_not_keep_the_others_out(tmp_path: Path, redact: bool) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    secret = "my key is sk-proj-" + "a1B2c3D4" * 6
    with SqliteStore(tmp_path / "a.db") as store, Session(store=url, name="n") as other:
        contended = Contended(tmp_path / "a.db")
        mine = Session(store=contended, name="n", budget=5_000, redact=redact)
        mine.append([{"role": "user", "content": "first"}])
        other.append([{"role": "user", "content": "theirs 0"}])
        contended.other = other
        mine.append([{"role": "user", "content": secret}, {"role": "assistant", "content": "done"}], needs=[1])
        contended.other = None
        assert [m["content"] for m in mine.messages][:4] == ["first", "theirs 0", secret, "done"]
        assert len(mine.messages) == 4
        assert [link.target for link in mine._engine.log.graph.needs(3)] == [1]
        kept = "".join(store.read(store.open(SessionKey(user="default", name="n")), 0))
        assert ("sk-proj" in kept) is not redact
        mine.close()
        contended.close()
