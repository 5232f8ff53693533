from __future__ import annotations

import json
import re

import pytest

from foldaway import Session
from foldaway.engine.recall import as_data, part_about
from foldaway.engine.recall_tool import recall_tool
from foldaway.testing.histories import Writer


@pytest.fixture
def session() -> Session:
    writer = Writer("openai_chat")
    writer.user("Look at the gates.")
    writer.call("read_file", "\n".join(f"gate {n} width {n * 7}" for n in range(1, 60)), path="gates.md")
    writer.call("grep", "berth_table: 4 hits", pattern="berth_table")
    made = Session(budget=100_000)
    made.append(writer.messages)
    return made


@pytest.mark.parametrize("reference", ["3", "#3", " #3 ", "#3-#3", "berth_table"])
def test_all_ways_to_name_one_item_find_it(session: Session, reference: str) -> None:
    found = session.recall(reference)
    assert found.found
    assert "berth_table: 4 hits" in found.text
    assert 3 in found.items


@pytest.mark.parametrize("dash", ["-", "–", " - "])
def test_a_range_brings_all_its_items_in_order(session: Session, dash: str) -> None:
    assert session.recall(f"#1{dash}#3").items == (1, 2, 3)


def test_lines_are_counted_from_one_both_ends_included(session: Session) -> None:
    assert session.recall("#2:2-3").text == "gate 2 width 14\ngate 3 width 21"
    assert session.recall("#2:5").text == "gate 5 width 35"


def test_several_lines_of_one_item_come_in_one_call(session: Session) -> None:
    found = session.recall("#2:2, #2:40")
    assert found.text.split("\n") == ["gate 2 width 14", "gate 40 width 280"]


@pytest.mark.parametrize("lines", ["900-950", "60", "5-2", "0"])
def test_lines_that_an_item_does_not_have_are_told_with_those_it_has(session: Session, lines: str) -> None:
    found = session.recall(f"#2:{lines}")
    assert (found.found, found.text) == (False, "")
    assert "#2 has lines 1–59" in found.problem


@pytest.mark.parametrize("blank", ["", "  ", [], [""]])
def test_a_recall_of_nothing_says_so_and_words_beside_it_are_searched(session: Session, blank: str | list[str]) -> None:
    assert "nothing was asked for" in session.recall(blank).problem
    assert "nothing was asked for" in session.recall_result({"ids": blank})
    assert 3 in session.recall(blank, find="berth_table").items


def test_an_id_below_the_first_is_none_and_no_word(session: Session) -> None:
    found = session.recall("#-1")
    assert (found.items, found.problem) == ((), "no item #-1 in this session")


def test_several_references_in_one_call(session: Session) -> None:
    assert session.recall("#3, #1").items == (3, 1)
    assert session.recall(["#3", "#1"]).items == (3, 1)


def test_words_behind_an_id_bring_the_part_about_them(session: Session) -> None:
    text = session.recall("#2 width 287").text
    assert "gate 41 width 287" in text
    assert len(text.split("\n")) < 20
    assert session.recall("#2", find="width 287").text == text


def test_unknown_ids_are_named_and_found_ones_still_come(session: Session) -> None:
    found = session.recall("#3, #99")
    assert found.items == (3,)
    assert "#99" in found.problem
    nothing = session.recall("#99")
    assert (nothing.found, nothing.text, nothing.items) == (False, "", ())


@pytest.mark.parametrize(
    "odd", ["", " ", ",", "#", "-", "#2:", "#2:0", "#2:9-3", "#999999999", "[", "*", "\0", "#3-#1"]
)
def test_odd_references_never_raise(session: Session, odd: str) -> None:
    found = session.recall(odd)
    assert found.found or found.problem or not odd.strip(" ,")


def test_a_range_longer_than_one_recall_brings_says_so() -> None:
    session = Session(budget=100_000)
    session.append([{"role": ("user", "assistant")[n % 2], "content": f"word {n}"} for n in range(300)])
    found = session.recall("#1-#290")
    assert len(found.items) == 290 or found.problem


def test_a_frame_is_closed_once_and_bounded(session: Session) -> None:
    framed = as_data(session.recall("#2"), 100)
    assert framed.startswith("[foldaway recall #2: recorded text follows")
    assert framed.endswith("[/foldaway recall]")
    assert "more characters" in framed
    assert len(framed) < 350


def test_the_part_about_nothing_is_the_whole() -> None:
    assert part_about("a\nb", "zebra") == "a\nb"


@pytest.mark.parametrize("asked_by_user", [True, False])
def test_the_question_that_made_the_model_ask_is_not_what_it_gets(asked_by_user: bool) -> None:
    writer = Writer("openai_chat")
    writer.user("Read the log.")
    writer.call("next_page", "Page 3.\nThe night guard has got a dog at last; he calls it Marzipan.\nIt rained.")
    writer.call("next_page", "Page 4.\nNothing happened.")
    question = "What is the night guard's dog called?"
    if asked_by_user:
        writer.user(question)
    else:
        writer.call("ask_user", question)
    made = Session(budget=100_000)
    made.append(writer.messages)
    found = made.recall_into_view("night guard's dog called")
    assert found.items == (2,)
    assert "Marzipan" in found.text


def test_the_definition_of_the_tool_holds_no_id_that_a_model_could_copy() -> None:
    for name in ("openai_chat", "openai_responses", "anthropic_messages"):
        assert "#N" in json.dumps(recall_tool(name))
        assert not re.search(r"#\d", json.dumps(recall_tool(name)))
