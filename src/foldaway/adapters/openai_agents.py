"""OpenAI Agents SDK: an input filter in front of the model, a recall tool, and optionally the session as well.

    foldaway = FoldawayFilter(budget=100_000, store="sqlite:///foldaway.db")
    agent = Agent(name="clerk", tools=[*tools, *foldaway.tools])
    session = SQLiteSession("thread-1", "history.db")  # or foldaway.history("thread-1")
    await Runner.run(agent, task, session=session, run_config=foldaway.run_config(session))

The SDK's history stays whole; only the input of a call is managed. A conversation that the server keeps
(`conversation_id`, `previous_response_id`) is not ours to manage: its input goes out untouched.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from foldaway.adapters._base import (
    RECALL,
    RECALL_DESCRIPTION,
    RECALL_SCHEMA,
    ContextWarning,
    Folded,
    Folding,
    declaration,
    missing,
)
from foldaway.adapters._matching import call_names
from foldaway.errors import OverBudget, SettingsError
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from agents import FunctionTool, Handoff, RunConfig, SessionABC
    from agents.exceptions import AgentsException
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise missing("openai-agents", error) from error

__all__ = ["ContextOverflow", "ContextWarning", "FoldawayFilter", "FoldawaySession"]

SERVER_KEPT = (
    "the conversation is kept by the server (conversation_id or previous_response_id): Foldaway sees only what is new "
    "and leaves it as it is"
)
ANOTHER = (
    "agent {!r} was given a history that does not begin as session {!r} does (SessionSettings(limit=), an edited "
    "history?): it is managed as a conversation of its own"
)
TWO_MANAGERS = "{} is at work on the same history as Foldaway; take one of the two out"


class ContextOverflow(OverBudget, AgentsException):  # type: ignore[misc, unused-ignore]
    """What may not be evicted does not fit, as an error of the SDK's own, so that it carries the run's data."""

    def __init__(self, error: OverBudget) -> None:
        OverBudget.__init__(self, str(error), missing_tokens=error.missing_tokens, largest=error.largest)
        self.run_data = None


class ResponsesItems:
    """The codec: the SDK's items are Responses items already."""

    format = "openai_responses"

    def to_wire(self, message: Message) -> list[Message]:
        return [message]

    def from_wire(self, messages: Sequence[Message], like: Message | None) -> list[Message]:
        return list(messages)


class FoldawayFilter:
    """A `call_model_input_filter` that serves any number of agents and conversations.

    Used as it is, a conversation is told by its history and kept in memory; `run_config(session)` gives it its name.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, recall: str = "tool", **settings: Any
    ) -> None:
        """Takes the settings of `foldaway.Session` and `declared=` (functions under `@foldaway.tool`)."""
        self.folding: Folding[Message] = Folding(
            ResponsesItems(), budget=budget, store=store, recall=recall, **settings
        )
        self._stored = store is not None
        self._agents: dict[str, set[str]] = {}
        # What the last call of the running task was given: its tools run in the same task, or in children of it.
        self._at: ContextVar[tuple[str | None, list[Message]] | None] = ContextVar("foldaway", default=None)
        self._remote: dict[int, tuple[Any, list[dict[str, Any]]]] = {}
        self.tools: list[Any] = [self._recall_tool()] if recall == "tool" else []

    def run_config(self, session: Any, **fields: Any) -> RunConfig:
        """A RunConfig of these fields under which runs belong to a session of the SDK's, or to a key (a str)."""
        key = session if isinstance(session, str) else str(session.session_id)
        return RunConfig(call_model_input_filter=_Keyed(self, key), **fields)

    def history(self, key: str) -> FoldawaySession:
        """A session of the SDK's whose items stand in Foldaway's own store, so that there is one place to keep.

        Raises SettingsError without a store.
        """
        if not self._stored:
            raise SettingsError("history() keeps items in the store; FoldawayFilter(store='sqlite:///foldaway.db')")
        return FoldawaySession(self, key)

    def session(self, key: str | None = None) -> Session:
        """The session of a conversation; None: the only one there is."""
        return self.folding.session(key)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        return await self.filtered(data, None)

    async def filtered(self, data: CallModelData[Any], key: str | None) -> ModelInputData:
        """The input that this call is to have. Raises ContextOverflow, SettingsError."""
        items = list(data.model_data.input)
        if _server_kept(items):
            self.folding.warn(SERVER_KEPT)
            return data.model_data
        tools = await self._tools(data.agent)
        self._check(data.agent, items)
        try:
            key, folded = await asyncio.to_thread(self._fold, data, items, tools, key)
        except OverBudget as error:
            raise ContextOverflow(error) from error
        self._at.set((key, items))
        if not folded.changed:
            return data.model_data
        return ModelInputData(input=folded.messages, instructions=data.model_data.instructions)

    # -- inside

    def _fold(
        self, data: CallModelData[Any], items: list[Message], tools: list[dict[str, Any]], key: str | None
    ) -> tuple[str | None, Folded[Message]]:
        if key is not None and not self._goes_on(key, data.agent.name, items):
            key = None
        folded = self.folding.fold(
            items, key=key, system=data.model_data.instructions, tools=tools, model=_model_name(data.agent)
        )
        return key, folded

    def _goes_on(self, key: str, agent: str, items: list[Message]) -> bool:
        """Whether this is the conversation of that key: agents as tools run under their caller's RunConfig."""
        known = self.folding.session(key).messages
        agents = self._agents.setdefault(key, set())
        if not known or not items or known[0] == items[0]:
            agents.add(agent)
            return True
        if agent in agents:
            self.folding.warn(ANOTHER.format(agent, key))
        return False

    async def _tools(self, agent: Any) -> list[dict[str, Any]]:
        definitions = []
        for tool in [*agent.tools, *agent.handoffs]:
            declared = declaration(getattr(tool, "__wrapped__", None))
            if declared is not None:
                self.folding.declare(replace(declared, tool=tool.name))
            definition = _definition(tool)
            if definition is not None:
                definitions.append(definition)
        return definitions + await self._of_servers(agent)

    async def _of_servers(self, agent: Any) -> list[dict[str, Any]]:
        """What the agent's MCP servers offer; asked once, since each question goes over the wire."""
        if not agent.mcp_servers:
            return []
        known = self._remote.get(id(agent))
        if known is None or known[0] is not agent:
            found = [
                {"type": "function", "name": t.name, "description": t.description, "parameters": t.inputSchema}
                for server in agent.mcp_servers
                for t in await server.list_tools()
            ]
            known = self._remote[id(agent)] = (agent, found)
        return known[1]

    def _check(self, agent: Any, items: Sequence[Message]) -> None:
        if self.tools and any(getattr(t, "name", None) == RECALL and t not in self.tools for t in agent.tools):
            raise SettingsError(
                "the agent has a tool named recall already; rename it, or FoldawayFilter(recall='directive')"
            )
        settings = agent.model_settings
        if getattr(settings, "truncation", None) == "auto":
            self.folding.warn(TWO_MANAGERS.format("the provider's own truncation (truncation='auto')"))
        if getattr(settings, "context_management", None):
            self.folding.warn(TWO_MANAGERS.format("the provider's own compaction (context_management=)"))
        if any(item.get("type") in ("compaction", "compaction_summary") for item in items):
            self.folding.warn(TWO_MANAGERS.format("OpenAIResponsesCompactionSession"))

    def _recall_tool(self) -> FunctionTool:
        async def invoke(context: Any, arguments: str) -> str:
            key, items = self._at.get() or (None, None)
            return await self.folding.arecall(_arguments(arguments), key=key, messages=items)

        return FunctionTool(
            name=RECALL, description=RECALL_DESCRIPTION, params_json_schema=dict(RECALL_SCHEMA),
            on_invoke_tool=invoke, strict_json_schema=False,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Keyed:
    """The filter of one conversation."""

    owner: FoldawayFilter
    key: str

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        return await self.owner.filtered(data, self.key)


class FoldawaySession(SessionABC):  # type: ignore[misc, unused-ignore]
    """A session of the SDK's in Foldaway's log: one store holds the history and what was decided about it.

    A run's items are in the log as soon as a model has seen them; `get_items` gives those that the SDK has added.
    """

    def __init__(self, owner: FoldawayFilter, key: str) -> None:
        self.session_id = key
        self.session_settings = None
        self._owner = owner
        self._added = len(self._session.messages)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        kept = self._session.messages[: self._added]
        # The SDK may change what it is given.
        return [json.loads(json.dumps(item)) for item in (kept if limit is None else kept[max(0, len(kept) - limit) :])]

    async def add_items(self, items: list[Any]) -> None:
        await asyncio.to_thread(self._put, [json.loads(json.dumps(item)) for item in items])

    async def pop_item(self) -> Any:
        kept = self._session.messages[: self._added]
        if not kept:
            return None
        await asyncio.to_thread(self._cut, kept[:-1])
        return json.loads(json.dumps(kept[-1]))

    async def clear_session(self) -> None:
        await asyncio.to_thread(self._cut, [])

    @property
    def _session(self) -> Session:
        return self._owner.folding.session(self.session_id)

    def _put(self, items: list[Message]) -> None:
        known = self._session.messages
        upto = self._added + len(items)
        # Most of a run's items were seen by a model before they are added, so they are in the log already.
        if known[self._added : upto] != items:
            self._session.sync([*known[: self._added], *items])
        self._added = upto

    def _cut(self, kept: list[Message]) -> None:
        self._session.sync(kept)
        self._added = len(kept)


def _server_kept(items: Sequence[Message]) -> bool:
    """Results whose calls are not there: the server has them."""
    names = [name for item in items if isinstance(item, Mapping) for name in call_names(item)]
    made = {id for side, id in names if side == "call"}
    return any(side == "result" and id not in made for side, id in names)


def _definition(tool: Any) -> dict[str, Any] | None:
    if isinstance(tool, FunctionTool):
        name, text, schema = tool.name, tool.description, tool.params_json_schema
    elif isinstance(tool, Handoff):
        name, text, schema = tool.tool_name, tool.tool_description, tool.input_json_schema
    elif hasattr(tool, "handoffs"):
        name, text, schema = Handoff.default_tool_name(tool), Handoff.default_tool_description(tool), {}
    else:
        # Hosted tools: the provider counts them in ways of its own.
        return None
    return {"type": "function", "name": name, "description": text, "parameters": schema}


def _model_name(agent: Any) -> str:
    return agent.model if isinstance(agent.model, str) else ""


def _arguments(text: str) -> dict[str, Any]:
    try:
        made = json.loads(text or "{}")
    except ValueError:
        return {"ids": text}
    return made if isinstance(made, dict) else {"ids": str(made)}
