"""The tool decorator and the delimiter tool."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import pytest

from foldaway import SettingsError
from foldaway.engine.itemise import DELIMITER
from foldaway.linking.declared import Declaration, declaration_of
from foldaway.linking.episodes import Episodes, EpisodeType
from foldaway.model.items import Item, Kind
from foldaway.model.wire import Part, PartType, Turn, TurnKind
from foldaway.tools import delimiter_result, delimiter_tool, tool


@tool(reads=["path"], produces=["path"])
def edit(path: str, text: str = "") -> str:
    return f"{path}: {len(text)}"


def test_a_declared_function_is_the_function_itself() -> None:
    assert edit("a.py", text="xy") == "a.py: 2"
    assert list(inspect.signature(edit).parameters) == ["path", "text"]
    assert declaration_of(edit) == Declaration(tool="edit", reads=("path",), produces=("path",))


def test_async_functions_stay_async() -> None:
    @tool(reads=["url"], produces=["result"], name="web.fetch")
    async def fetch(url: str) -> str:
        return url.upper()

    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(fetch("x")) == "X"
    assert declaration_of(fetch).tool == "web.fetch"


def test_methods_carry_their_declaration_when_bound() -> None:
    class Shop:
        @tool(produces=["order_id"])
        def find(self, customer: str) -> str:
            return customer

    assert declaration_of(Shop().find).produces == ("order_id",)


def test_slips_are_told_where_they_are_made() -> None:
    with pytest.raises(TypeError, match=r"expected a list of names, as in reads=\['path'\]"):
        tool(reads="path")
    with pytest.raises(ValueError, match="no parameter file; it has: path"):

        @tool(reads=["file"])
        def read(path: str) -> str:
            return path

    with pytest.raises(TypeError, match="takes no attributes"):
        tool()(len)
    with pytest.raises(TypeError, match="declares nothing"):
        declaration_of(len)


def test_keyword_catch_alls_may_be_named() -> None:
    @tool(reads=["anything"])
    def call(**arguments: Any) -> None: ...

    assert declaration_of(call).reads == ("anything",)


def test_the_definition_has_each_formats_shape() -> None:
    chat = delimiter_tool("openai_chat")["function"]
    responses = delimiter_tool("openai_responses")
    anthropic = delimiter_tool("anthropic_messages")
    assert chat["name"] == responses["name"] == anthropic["name"] == DELIMITER
    assert chat["parameters"] == responses["parameters"] == anthropic["input_schema"]
    assert set(chat["parameters"]["properties"]) == {"action", "name", "type", "dependencies", "description"}
    with pytest.raises(SettingsError, match="expected openai_chat"):
        delimiter_tool("xml")


def test_a_definition_may_be_changed_without_harm() -> None:
    delimiter_tool()["function"]["parameters"]["properties"].clear()
    assert delimiter_tool()["function"]["parameters"]["properties"]


def follow(episodes: Episodes, call: dict[str, Any]) -> str:
    """Answer a call as an agent's loop would, then let its turn join the session."""
    answer = delimiter_result(call, episodes)
    index = len(episodes.of_turn)
    parts = (Part(type=PartType.CALL, role="assistant", text="", message=0, name=DELIMITER, arguments=call),)
    turn = Turn(kind=TurnKind.EXCHANGE, messages=(), parts=parts, sources=(index,))
    item = Item(
        id=index + 1, turn=index, parts=(0,), kind=Kind.ANNOTATION, tokens=1, created_step=index, title="delimiter"
    )
    episodes.observe(index, turn, [item], index)
    episodes.of_turn.setdefault(index, 0)
    return answer


def test_a_piece_of_work_from_start_to_end() -> None:
    episodes = Episodes()
    assert (
        follow(episodes, {"action": "start", "name": "look", "type": "explore"}) == "Episode 'look' (explore) is open."
    )
    assert follow(episodes, {"action": "end", "description": "rates are in a.py"}) == "Episode 'look' is ended."
    act = {"action": "start", "name": "fix", "type": "act", "dependencies": ["look"]}
    assert follow(episodes, act) == "Episode 'fix' (act) is open."
    current = episodes.current()
    assert current is not None
    assert (current.type, current.depends_on) == (EpisodeType.ACT, (0,))
    assert episodes.refusals == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({}, "Error: delimiter needs action start or end."),
        ({"action": "end"}, "Error: delimiter end: no open episode."),
        ({"action": "start", "name": "x"}, "Error: delimiter start needs name and type (explore or act)."),
        ({"action": "start", "name": "x", "type": "think"}, "Error: delimiter start needs name and type"),
        ("{", "Error: the arguments are not JSON."),
        ("[]", "Error: the arguments are no object."),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(call: dict[str, Any] | str, said: str) -> None:
    assert delimiter_result(call, Episodes()).startswith(said)


def test_answers_change_nothing_and_agree_with_what_the_session_does() -> None:
    episodes = Episodes()
    start = {"action": "start", "name": "a", "type": "explore"}
    for _ in range(2):
        assert delimiter_result(json.dumps(start), episodes) == "Episode 'a' (explore) is open."
    assert episodes.all == []
    follow(episodes, start)
    assert delimiter_result(start, episodes) == "Error: episode 'a' exists already; choose another name."
    assert episodes.all[0].open


def test_a_new_start_says_what_it_ended_and_what_it_could_not_link() -> None:
    episodes = Episodes()
    follow(episodes, {"action": "start", "name": "a", "type": "explore"})
    answer = follow(episodes, {"action": "start", "name": "b", "type": "act", "dependencies": ["a", "z"]})
    assert answer == (
        "Episode 'b' (act) is open. Episode 'a' was ended by it, without a description. "
        "Not linked: episode 'b': no closed explore episode a, z."
    )
    follow(episodes, {"action": "end"})
    follow(episodes, {"action": "start", "name": "c", "type": "explore"})
    assert delimiter_result({"action": "end"}, episodes).endswith("It has no description: say what you found.")


def test_the_four_legal_calls_of_the_paper_are_legal() -> None:
    """start and end of an explore and of an act, as in section 4.2 of arXiv 2606.11213."""
    episodes = Episodes()
    for call in (
        {"action": "start", "name": "look", "type": "expl"},
        {"action": "end", "description": "rates are in a.py"},
        {"action": "start", "name": "fix", "type": "act", "dependencies": ["look"]},
        {"action": "end"},
    ):
        assert "Error" not in follow(episodes, call)
        assert "Not linked" not in delimiter_result(call, episodes)
    assert episodes.refusals == []
    look, fix = episodes.all
    assert (look.description, fix.description, fix.depends_on) == ("rates are in a.py", "", (0,))


def test_what_the_paper_forbids_is_answered_and_never_leaves_work_open_for_good() -> None:
    episodes = Episodes()
    follow(episodes, {"action": "start", "name": "look", "type": "explore"})
    follow(episodes, {"action": "end", "description": "seen"})
    answer = follow(episodes, {"action": "start", "name": "again", "type": "explore", "dependencies": ["look"]})
    assert answer.endswith("Not linked: episode 'again': an explore episode rests on no other.")
    assert episodes.all[1].depends_on == ()
    assert follow(episodes, {"action": "end"}).endswith("say what you found.")
    answer = follow(episodes, {"action": "start", "name": "fix", "type": "act"})
    assert answer == "Episode 'fix' (act) is open. It names no explore episode that it rests on."
    answer = follow(episodes, {"action": "end", "description": "fixed"})
    assert answer.endswith("The description of an act is not kept: what it did stands in the environment.")
    assert episodes.all[2].description == ""
    act = {"action": "start", "name": "more", "type": "act", "dependencies": ["fix"]}
    assert follow(episodes, act).endswith("Not linked: episode 'more': no closed explore episode fix.")
    assert all(not e.open for e in episodes.all[:-1])
