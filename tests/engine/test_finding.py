"""Searching a session by words: what comes first, how much, and what is said when nothing fits."""

from __future__ import annotations

import json
from typing import Any

from foldaway import Session
from foldaway.engine.finding import find_items
from foldaway.engine.recall import LEAST_WORD_CHARS, WORD_CHARS
from foldaway.testing.histories import Writer, prose


def session_of(writer: Writer, budget: int = 200_000) -> Session:
    made = Session(budget=budget, recall="tool")
    made.append(writer.messages)
    return made


def records(count: int) -> Writer:
    writer = Writer("openai_chat")
    writer.user("Read the records.")
    for n in range(count):
        lines = prose(120, n).split("\n")
        lines[3:3] = [f"code of lot {(n * 7) % count}: L{n:04d}", f"code of record {n}: R{n:04d}"]
        writer.call("read_file", "\n".join(lines), path=f"shelf/{n:03d}.txt")
    return writer


def test_several_words_find_the_one_record_they_stand_side_by_side_in() -> None:
    session = session_of(records(60))
    for n in (0, 7, 33, 57):
        found = session.recall(f"code of record {n}", for_view=True)
        assert f"code of record {n}: R{n:04d}" in found.text
        assert found.text.index(f"R{n:04d}") < 400, "it comes first"


def test_a_search_brings_passages_in_a_bound_and_names_what_else_there_is() -> None:
    writer = Writer("openai_chat")
    writer.user("Read.")
    for n in range(12):
        text = f"{prose(900, n)}\nthe crane of gate {n} is blocked\n{prose(900, n + 50)}"
        writer.call("read_file", text, path=f"{n}.md")
    session = session_of(writer)
    found = session.recall("crane gate blocked", for_view=True)
    assert len(found.text) < WORD_CHARS + 400
    assert 1 <= len(found.items) <= 3
    assert "lines " in found.text.split("\n")[0]
    assert found.also.startswith("less close: #")


def test_the_lines_named_above_a_passage_bring_it_again_byte_for_byte() -> None:
    writer = Writer("openai_chat")
    writer.user("Read.")
    lines = [f"entry {n} {prose(6, n)}" for n in range(400)]
    lines[250] = "the hoist of quay 9 is out of order"
    writer.call("read_file", "\n".join(lines), path="log.txt")
    session = session_of(writer)
    head, *text = session.recall("hoist quay 9", for_view=True).text.split("\n")
    assert head.endswith("lines 249–253 of 400")
    assert session.recall("#2:249-253").text.split("\n") == text == lines[248:253]


def test_the_newer_of_two_equal_reads_comes_and_the_older_is_not_repeated() -> None:
    writer = Writer("openai_chat")
    writer.user("Look.")
    for _ in range(3):
        writer.call("read_file", "BERTH_LIMIT = 12\n" + prose(30, 1), path="limits.py")
    found = session_of(writer).recall("berth limit")
    assert found.items == (4,)
    assert found.text.count("BERTH_LIMIT = 12") == 1


def test_what_came_back_goes_before_what_the_agent_said_of_it() -> None:
    writer = Writer("openai_chat")
    writer.user("Look.")
    writer.call("read_file", "tide gauge offset: 17 mm\n" + prose(60, 2), path="gauge.txt")
    for _ in range(3):
        writer.say("I must look up the tide gauge offset.")
        writer.user("Go on.")
    assert find_items(session_of(writer).engine.log, "tide gauge offset", 5).hits[0].item.id == 2


def test_a_model_is_not_answered_by_the_question_it_has_before_its_eyes() -> None:
    writer = records(30)
    writer.call("ask_user", "And what was the code of record 4?", question="Anything else?")
    session = session_of(writer)
    assert session.recall("code of record 4", for_view=True).items[0] == 6
    assert session.search("anything else")[0].ref == "32"


def test_recalls_are_no_sources_of_recalls() -> None:
    writer = records(20)
    writer.call("recall", "[foldaway recall #3]\ncode of record 1: R0001\n[/foldaway recall]", ids="code of record 1")
    session = session_of(writer)
    assert session.recall("code of record 1").items[0] == 3


def test_words_that_nothing_holds_are_named_and_with_none_known_nothing_comes() -> None:
    session = session_of(records(5))
    assert "zeppelin" in session.recall("code of zeppelin", for_view=True).problem
    nothing = session.recall("zeppelin hangar")
    assert (nothing.found, nothing.text) == (False, "")
    assert "zeppelin hangar" in nothing.problem


def test_a_range_with_words_is_searched_and_not_brought_whole() -> None:
    session = session_of(records(60))
    found = session.recall("#2–#61 code of record 44", for_view=True)
    assert "R0044" in found.text
    assert len(found.text) < WORD_CHARS + 400
    assert not session.recall("#2–#20 zeppelin").found
    assert session.recall("#2–#20 code of record 44").items != session.recall("code of record 44").items


def test_figures_in_front_of_words_are_an_id_only_where_there_is_one() -> None:
    writer = Writer("openai_chat")
    writer.user("Look.")
    writer.call("bash", "404 page not found", command="curl localhost")
    session = session_of(writer)
    assert session.recall("404 page not found").text == "404 page not found"
    assert not session.recall("#404 page not found").found


def test_words_that_no_line_of_a_long_item_holds_bring_its_beginning_and_say_so() -> None:
    writer = Writer("openai_chat")
    writer.user("Look.")
    text = prose(3000, 4)
    writer.call("read_file", text, path="long.txt")
    found = session_of(writer).recall("#2 zeppelin")
    assert text.startswith(found.text[:500])
    assert len(found.text) < 1_100
    assert "no line of #2 is about 'zeppelin'" in found.problem


def test_code_that_the_agent_wrote_is_found_in_its_call() -> None:
    writer = Writer("openai_chat")
    writer.user("Write.")
    writer.call("write_file", "ok", path="a.py", content="def berth_angle(ship):\n    return ship.heading")
    found = session_of(writer).recall("berth_angle heading", for_view=True)
    assert "its call" in found.text
    assert "ship.heading" in found.text


def test_a_search_asked_by_a_model_brings_less_where_the_view_has_less_room() -> None:
    writer = Writer("openai_chat")
    writer.user("Read.")
    for n in range(8):
        lines = prose(1_500, n).split("\n")
        lines[10::30] = [f"the crane of gate {n} is blocked"] * len(lines[10::30])
        writer.call("read_file", "\n".join(lines), path=f"{n}.md")
    session = session_of(writer)
    answers = {}
    for free in (3_000, 20):
        session.set_budget(budget=session.view().tokens + free)
        session.view()
        answers[free] = session.recall_result({"ids": "crane gate blocked"})
    assert all("is blocked" in answer for answer in answers.values())
    assert len(answers[20]) < LEAST_WORD_CHARS + 700 < len(answers[3_000]) < WORD_CHARS + 700
    assert len(session.recall("crane gate blocked").text) > len(answers[20]), "a program is not bound by the view"


def test_a_read_that_was_edited_since_says_so_and_goes_behind_what_is_current() -> None:
    writer = Writer("openai_chat")
    writer.user("Mend.")
    writer.call("read_file", "crane_limit = 12\n" + prose(60, 1), path="src/crane.py")
    writer.call("edit_file", "crane_limit = 14", path="src/crane.py", old_string="= 12", new_string="= 14")
    answer = session_of(writer).recall_result({"ids": "#2"})
    assert "edited since by #3" in answer
    assert session_of(writer).recall("crane_limit").items[0] == 3


def test_a_picture_that_fits_is_shown_again_and_never_searched_as_its_bytes() -> None:
    data = "gate" * 200
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Compare."},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]},
        {"role": "assistant", "content": "Seen."},
    ]
    session = Session(budget=50_000)
    session.append(messages)
    assert data not in json.dumps(session.recall("gate", for_view=True).text)


def test_a_served_search_reads_the_same_after_a_restart() -> None:
    from foldaway.stores.memory import MemoryStore

    store = MemoryStore()
    writer = records(40)
    session = Session(budget=3_000, store=store, name="s")
    session.append([*writer.messages, {"role": "assistant", "content": "I need it. [RETRIEVE: code of record 3]"}])
    view = session.view().messages
    assert "R0003" in json.dumps(view[-1])
    again = Session(budget=3_000, store=store, name="s")
    assert again.view().messages == view
