from __future__ import annotations

from foldaway import Level, Session
from foldaway.engine.window import Note
from foldaway.testing.histories import Writer, prose, working_session


def test_a_note_holds_what_its_ranges_cover() -> None:
    note = Note(carrier=9, turn=4, covers=((2, 5), (8, 8)), text="")
    assert [n for n in range(11) if note.holds(n)] == [2, 3, 4, 5, 8]
    assert not Note(carrier=0, turn=0, covers=(), text="").holds(1)


def test_raw_turns_are_the_clients_own_messages() -> None:
    session = Session(budget=100_000, policy="window")
    history = working_session("openai_chat", 5)
    session.append(history)
    assert session.view().messages == history


def test_small_arguments_stay_and_large_ones_are_replaced_whole() -> None:
    writer = Writer("anthropic_messages")
    writer.user("go")
    writer.call("edit_file", prose(60), path="small.py")
    writer.call("edit_file", prose(60, 1), path="large.py", text=prose(200, 2))
    writer.say("ok")
    session = Session(format="anthropic_messages", budget=100_000, policy="window")
    session.append(writer.messages)
    draft = session.engine._draft()
    for item in session.items()[1:3]:
        draft.set(item, Level.ABSTRACT, "test")
    draft.finish()
    from foldaway.engine.window import render_turn

    for item in session.items()[1:3]:
        [call] = list(render_turn(session.engine.log, draft.shown, item.turn, session.engine.stubs)[0]["content"])
        assert call["input"] == writer.messages[2 * item.turn - 1]["content"][0]["input"]


def test_evicting_leaves_the_callers_messages_untouched() -> None:
    history = working_session("openai_chat", 20)
    session = Session(budget=1500, policy="window")
    session.append(history)
    view = session.view()
    view.messages[0]["content"] = "changed by the caller"
    assert history == working_session("openai_chat", 20)
    assert session.view().messages[0]["content"] != "changed by the caller"
