"""The MCP server over a stored session, asked by the SDK's own client in memory and over stdio."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

REASON = "the MCP SDK is not installed: `make adapters` sets an environment up that has it"
pytest.importorskip("mcp", reason=REASON)

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from foldaway.adapters.mcp_server import SessionTools, server
from foldaway.errors import SettingsError
from foldaway.session import Session
from foldaway.stores.memory import MemoryStore
from foldaway.testing.scripted_agent import look

BUDGET = 1500


def history(upto: int, start: int = 0) -> list[dict[str, Any]]:
    task: list[dict[str, Any]] = [{"role": "user", "content": "Look the topics up."}] if not start else []
    for n in range(start, upto):
        call = {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "look", "arguments": f'{{"topic": "topic-{n}"}}'},
        }
        task += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": look(f"topic-{n}")},
        ]
    return task


def written(store: Any, name: str = "s") -> Session:
    session = Session(budget=BUDGET, store=store, name=name)
    for n in range(14):
        session.append(history(n + 1, n))
        session.view()
    return session


def asked(tools: SessionTools, name: str, **arguments: Any) -> str:
    async def ask() -> str:
        async with Client(server(tools)) as client:
            result = await client.call_tool(name, arguments)
            assert not result.is_error
            return "".join(block.text for block in result.content)

    return asyncio.run(ask())


class TestTools:
    def test_there_are_four_small_ones(self) -> None:
        async def listed() -> list[Any]:
            async with Client(server(SessionTools(MemoryStore(), "s"))) as client:
                return list((await client.list_tools()).tools)

        tools = asyncio.run(listed())
        assert [tool.name for tool in tools] == ["search", "recall", "pin", "why"]
        assert sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools) < 2_400
        assert all(tool.input_schema["required"] for tool in tools if tool.name != "recall")

    def test_what_is_found_is_brought_back_word_for_word(self) -> None:
        store = MemoryStore()
        written(store)
        tools = SessionTools(store, "s")
        line = next(one for one in asked(tools, "search", query="topic-2").splitlines() if "topic-2" in one)
        assert "(shown as " in line
        number = line.split()[0]
        assert look("topic-2") in asked(tools, "recall", ids=number)

    def test_arguments_are_taken_as_models_send_them(self) -> None:
        store = MemoryStore()
        written(store)
        tools = SessionTools(store, "s")
        number = int(asked(tools, "search", query="topic-2").split()[0].removeprefix("#"))
        whole = asked(tools, "recall", ids=f"#{number}")
        assert look("topic-2") in whole
        assert asked(tools, "recall", ids=number) == asked(tools, "recall", ids=[f"#{number}"], find=None) == whole
        assert "end of topic-2" in asked(tools, "recall", find="end of topic-2")
        assert "say what to bring back" in asked(tools, "recall", ids="", find="")
        assert asked(tools, "why", item=number).startswith(f"#{number}")

    def test_what_is_protected_by_its_kind_is_not_said_to_be_let_go(self) -> None:
        store = MemoryStore()
        written(store)
        assert "protected by what it is" in asked(SessionTools(store, "s"), "pin", item="#1", on=False)

    def test_a_pin_holds_where_the_session_is_next_opened(self) -> None:
        store = MemoryStore()
        written(store).close()
        tools = SessionTools(store, "s")
        number = asked(tools, "search", query="topic-3").split()[0]
        assert "stays in full sight" in asked(tools, "pin", item=number)
        managing = Session(budget=BUDGET, store=store, name="s")
        managing.sync([*managing.messages, {"role": "user", "content": "Go on."}])
        assert look("topic-3") in [m.get("content") for m in managing.view().messages]
        assert "may be folded" in asked(tools, "pin", item=number, on=False)

    def test_why_tells_level_and_reason(self) -> None:
        store = MemoryStore()
        written(store)
        tools = SessionTools(store, "s")
        number = asked(tools, "search", query="topic-2").split()[0]
        text = asked(tools, "why", item=number)
        assert text.startswith(number)
        assert "shown as" in text
        assert "commit" in text

    def test_what_others_write_meanwhile_is_found(self) -> None:
        store = MemoryStore()
        managing = written(store)
        tools = SessionTools(store, "s")
        assert "topic-77" not in asked(tools, "search", query="topic-77").replace("about 'topic-77'", "")
        managing.append(history(78, 77))
        assert "topic-77" in asked(tools, "search", query="topic-77").replace("about 'topic-77'", "")

    def test_what_cannot_be_done_is_said_in_words(self) -> None:
        tools = SessionTools(MemoryStore(), "s")
        assert "no session 's'" in asked(tools, "search", query="x")
        store = MemoryStore()
        written(store)
        tools = SessionTools(store, "s")
        assert "expected an id" in asked(tools, "pin", item="goal")
        assert "9999" in asked(tools, "why", item="#9999")
        assert "9999" in asked(tools, "recall", ids="#9999")
        assert "Nothing about" in asked(tools, "search", query="zebra")

    def test_another_sessions_words_are_not_found(self) -> None:
        store = MemoryStore()
        written(store)
        Session(budget=BUDGET, store=store, name="other").append([{"role": "user", "content": "the zebra crossed"}])
        assert "crossed" not in asked(SessionTools(store, "s"), "search", query="zebra")

    def test_stores_and_names_that_cannot_be_are_refused_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match="expected sqlite"):
            SessionTools("memory:", "s")
        with pytest.raises(SettingsError, match="blank"):
            SessionTools(f"sqlite:///{tmp_path}/x.db", " ")
        assert "no store at" in SessionTools(f"sqlite:///{tmp_path}/x.db", "s").search("x")
        assert not (tmp_path / "x.db").exists()


def test_the_command_serves_over_stdio(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/f.db"
    written(url).close()
    command = ["-m", "foldaway.cli", "mcp", "--store", url, "--session", "s"]

    async def ask() -> str:
        parameters = StdioServerParameters(command=sys.executable, args=command)
        async with Client(stdio_client(parameters)) as client:
            result = await client.call_tool("search", {"query": "topic-2"})
            return "".join(block.text for block in result.content)

    assert "topic-2" in asyncio.run(ask())
