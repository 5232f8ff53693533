"""Microsoft Agent Framework: a chat middleware, or a compaction strategy.

    foldaway = FoldawayMiddleware(budget=100_000)
    agent = Agent(client, instructions=prompt, tools=[*tools, *foldaway.tools], middleware=[foldaway])

The middleware manages what each model call sees, with the agent's session as its session, and offers the recall tool
only while there is something to recall. `FoldawayStrategy` stands where compaction strategies stand (an agent's or a
client's `compaction_strategy`); it is for one conversation and is not told of prompt, tools and sessions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
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
from foldaway.errors import OverBudget, SettingsError
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from agent_framework import (
        EXCLUDE_REASON_KEY,
        EXCLUDED_KEY,
        ChatContext,
        ChatMiddleware,
        FunctionInvocationContext,
        FunctionTool,
        Message,
    )
    from agent_framework.exceptions import ChatClientInvalidRequestException

    from foldaway.adapters._agent_framework_messages import AgentFrameworkMessages
except ImportError as error:
    raise missing("agent-framework", error) from error

__all__ = ["ContextOverflow", "ContextWarning", "FoldawayMiddleware", "FoldawayStrategy"]

TWO_MANAGERS = (
    "{} is at work on the same history as Foldaway: what it takes out, Foldaway never sees and nobody can recall; "
    "take one of the two out"
)
ELSEWHERE = (
    "this conversation has an id: the service keeps its history, or it is loaded behind the middleware "
    "(require_per_service_call_history_persistence); FoldawayMiddleware leaves it alone"
)
REASON = "foldaway"
MADE = "_foldaway"
"""Marks messages that the strategy put into the history, so that the next call takes them out again."""


class ContextOverflow(OverBudget, ChatClientInvalidRequestException):  # type: ignore[misc, unused-ignore]
    """What may not be evicted does not fit, as the framework's own error for a request that no model takes."""


class FoldawayMiddleware(ChatMiddleware):  # type: ignore[misc, unused-ignore]
    """Manages what agents' models see. One object may serve several agents and sessions.

    Runs without a session are told by their history and kept in memory alone.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, recall: str = "tool", **settings: Any
    ) -> None:
        """Takes the settings of `foldaway.Session` and `declared=` (functions under `@foldaway.tool`)."""
        self.folding: Folding[Message] = Folding(
            AgentFrameworkMessages(), budget=budget, store=store, recall=recall, **settings
        )
        self.tools = [_recall_tool(self.folding, "")] if recall == "tool" else []

    def session(self, session_id: str | None = None) -> Session:
        """The session of an agent session; None: the only one there is."""
        return self.folding.session(session_id)

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        options = dict(context.options or {})
        if options.get("conversation_id"):
            self.folding.warn(ELSEWHERE)
            return await call_next()
        self._check(context)
        tools = list(options.get("tools") or ())
        others = [tool for tool in tools if tool not in self.tools]
        folded = await _folded(
            self.folding, list(context.messages), key=None if context.session is None else context.session.session_id,
            system=options.get("instructions"), tools=_definitions(self.folding, others, bool(self.tools)),
        )  # fmt: skip
        if folded.changed:
            context.messages = folded.messages
        if self.tools and not folded.recallable and len(others) < len(tools):
            context.options = {**options, "tools": others}
        if context.stream:
            context.stream_result_hooks.append(lambda response: self._report(folded, response))
        await call_next()
        if not context.stream and context.result is not None:
            self._report(folded, context.result)
        return None

    def _report(self, folded: Folded[Message], response: Any) -> Any:
        read = (getattr(response, "usage_details", None) or {}).get("input_token_count")
        if read:
            self.folding.report(folded, {"prompt_tokens": read})
        return response

    def _check(self, context: ChatContext) -> None:
        client = getattr(context.client, "compaction_strategy", None)
        for strategy in (context.kwargs.get("compaction_strategy"), client):
            if strategy is not None:
                self.folding.warn(TWO_MANAGERS.format(f"the compaction strategy {type(strategy).__name__}"))
        if any(_excluded_by_others(message) for message in context.messages):
            self.folding.warn(TWO_MANAGERS.format("a compaction strategy"))


class FoldawayStrategy:
    """A compaction strategy. Nothing is lost: what is folded is marked as excluded, and stands in the list.

    Say `system` and `tools` as the agent has them, so that they count towards the budget and `@foldaway.tool` is heard.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, name: str = "", recall: str = "tool",
        system: str | None = None, tools: Sequence[Any] = (), **settings: Any,
    ) -> None:  # fmt: skip
        """Takes the settings of `foldaway.Session`; `name`: of the session, needed with a store."""
        if store is not None and not name:
            raise SettingsError(
                "a strategy with a store needs name=, the session's name there: each conversation its own"
            )
        self.folding: Folding[Message] = Folding(
            AgentFrameworkMessages(), budget=budget, store=store, recall=recall, **settings
        )
        self.name = name or "main"
        self.tools = [_recall_tool(self.folding, self.name)] if recall == "tool" else []
        self._system = system
        self._definitions = _definitions(self.folding, tools, bool(self.tools))

    def session(self) -> Session:
        return self.folding.session(self.name)

    async def __call__(self, messages: list[Message]) -> bool:
        """Marks and inserts in place; whether anything changed. Raises ContextOverflow where nothing valid fits."""
        originals = [message for message in messages if not message.additional_properties.get(MADE)]
        history = [message for message in originals if not _excluded_by_others(message)]
        if len(history) < len(originals):
            self.folding.warn(TWO_MANAGERS.format("another compaction strategy"))
        folded = await _folded(
            self.folding, history, key=self.name, system=self._system, tools=self._definitions or None
        )
        before = [(id(message), _is_excluded(message)) for message in messages]
        shown = {id(message) for message in folded.messages}
        for message in history:
            _exclude(message, id(message) not in shown)
        messages[:] = _arranged(originals, folded.messages)
        return before != [(id(message), _is_excluded(message)) for message in messages]


def _arranged(originals: Sequence[Message], shown: Sequence[Message]) -> list[Message]:
    """All originals in their order, and what was made for them where it is to be read."""
    places = {id(message): at for at, message in enumerate(originals)}
    out: list[Message] = []
    done = 0
    for message in shown:
        at = places.get(id(message))
        if at is None:
            # Nothing that the framework or others noted about the original holds for it.
            message.additional_properties, message.message_id = {MADE: True}, None
            out.append(message)
        else:
            out += originals[done : at + 1]
            done = at + 1
    return [*out, *originals[done:]]


def _is_excluded(message: Message) -> bool:
    return bool(message.additional_properties.get(EXCLUDED_KEY))


def _excluded_by_others(message: Message) -> bool:
    return _is_excluded(message) and message.additional_properties.get(EXCLUDE_REASON_KEY) != REASON


def _exclude(message: Message, excluded: bool) -> None:
    if excluded:
        message.additional_properties |= {EXCLUDED_KEY: True, EXCLUDE_REASON_KEY: REASON}
    elif _is_excluded(message):
        del message.additional_properties[EXCLUDED_KEY]
        del message.additional_properties[EXCLUDE_REASON_KEY]


async def _folded(folding: Folding[Message], messages: Sequence[Message], **call: Any) -> Folded[Message]:
    try:
        return await folding.afold(messages, **call)
    except OverBudget as error:
        raise ContextOverflow(str(error), missing_tokens=error.missing_tokens, largest=error.largest) from error


def _definitions(folding: Folding[Message], tools: Sequence[Any], recalls: bool) -> list[Mapping[str, Any]]:
    """The tools as Chat Completions define them; what they declare is taken over."""
    made: list[Mapping[str, Any]] = []
    for tool in tools:
        if not isinstance(tool, FunctionTool):
            if isinstance(tool, Mapping):
                made.append(tool)
                continue
            if not callable(tool):
                continue
            tool = FunctionTool(name=tool.__name__, description=tool.__doc__ or "", func=tool)
        if recalls and tool.name == RECALL:
            raise SettingsError("the agent has a tool named recall already; rename it, or recall='directive'")
        declared = declaration(tool.func)
        if declared is not None:
            folding.declare(replace(declared, tool=tool.name))
        made.append(tool.to_json_schema_spec())
    return made


def _recall_tool(folding: Folding[Message], name: str) -> FunctionTool:
    # Annotations as objects: the framework reads them, and this module's are text.
    async def recall(ctx: Any, ids: Any, find: Any = "") -> str:
        key = name or (None if ctx.session is None else ctx.session.session_id)
        return await folding.arecall({"ids": ids, "find": find}, key=key)

    recall.__annotations__ = {"ctx": FunctionInvocationContext, "ids": str, "find": str, "return": str}
    return FunctionTool(name=RECALL, description=RECALL_DESCRIPTION, func=recall, input_model=RECALL_SCHEMA)
