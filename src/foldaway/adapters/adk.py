"""Google ADK: a plugin of the app, for all its agents and sessions.

    app = App(name="clerk", root_agent=agent, plugins=[FoldawayPlugin(budget=100_000)])

ADK's session keeps all events; only the contents of each request are managed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
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
from foldaway.errors import SettingsError
from foldaway.protocols import Store
from foldaway.session import Session

try:
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
    from google.adk.tools.base_tool import BaseTool
    from google.genai import types

    from foldaway.adapters._adk_messages import AdkContents, Numbered, numbered
except ImportError as error:
    raise missing("adk", error) from error

__all__ = ["ContextWarning", "FoldawayPlugin", "session_key"]

TWO_MANAGERS = (
    "{} is at work on the same history as Foldaway: what it takes out, Foldaway never sees and nobody can recall; "
    "take one of the two out"
)
MOST_OPEN = 256


class FoldawayPlugin(BasePlugin):  # type: ignore[misc, unused-ignore]
    """Manages what the app's models see. Each agent of each session has a session of its own (`session_key`).

    ADK hands what a plugin raises on as RuntimeError; where nothing valid fits, its cause is OverBudget.
    """

    def __init__(
        self, *, budget: int | None = None, store: str | Store | None = None, recall: str = "tool",
        name: str = "foldaway", **settings: Any,
    ) -> None:  # fmt: skip
        """Takes the settings of `foldaway.Session` and `declared=`; `name`: of the plugin."""
        super().__init__(name)
        self.folding: Folding[Numbered] = Folding(AdkContents(), budget=budget, store=store, recall=recall, **settings)
        self._budgeted = budget is not None or "window" in settings
        self._recall = RecallTool(self.folding) if recall == "tool" else None
        self._open: OrderedDict[str, Folded[Numbered]] = OrderedDict()
        """Requests whose usage is still to come."""

    def session(self, key: str | None = None) -> Session:
        """The session of a `session_key`; None: the only one there is."""
        return self.folding.session(key)

    async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
        if llm_request.previous_interaction_id:
            self.folding.warn("the provider keeps this conversation (Interactions API): Foldaway leaves it alone")
            return
        for manager in _managers(callback_context):
            self.folding.warn(TWO_MANAGERS.format(manager))
        self._heed(llm_request)
        key, config = session_key(callback_context), llm_request.config
        folded = await self.folding.afold(
            numbered(llm_request.contents), key=key, system=_system(config), tools=_definitions(config),
            model="" if self._budgeted else llm_request.model or "",
        )  # fmt: skip
        if folded.changed:
            llm_request.contents = [message.content for message in folded.messages]
        if self._recall is not None and folded.recallable:
            llm_request.append_tools([self._recall])
        self._open[key] = folded
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)

    async def after_model_callback(self, *, callback_context: Any, llm_response: LlmResponse) -> None:
        usage = llm_response.usage_metadata
        folded = None if llm_response.partial else self._open.pop(session_key(callback_context), None)
        if folded is not None and usage is not None and usage.prompt_token_count:
            self.folding.report(folded, {"prompt_tokens": usage.prompt_token_count})

    async def close(self) -> None:
        self.folding.close()

    def _heed(self, request: LlmRequest) -> None:
        for name, tool in request.tools_dict.items():
            if self._recall is not None and name == RECALL and tool is not self._recall:
                raise SettingsError(
                    "the agent has a tool named recall already; rename it, or FoldawayPlugin(recall='directive')"
                )
            declared = declaration(getattr(tool, "func", None))
            if declared is not None:
                self.folding.declare(replace(declared, tool=name))


class RecallTool(BaseTool):  # type: ignore[misc, unused-ignore]
    """Brings back what is folded in the conversation it is called from."""

    def __init__(self, folding: Folding[Numbered]) -> None:
        super().__init__(name=RECALL, description=RECALL_DESCRIPTION)
        self._folding = folding

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=RECALL, description=RECALL_DESCRIPTION, parameters_json_schema=RECALL_SCHEMA
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> dict[str, str]:
        return {"result": await self._folding.arecall(args, key=session_key(tool_context))}


def session_key(context: Any) -> str:
    """The name of the session in a callback's or tool's context: `APP:USER:SESSION:AGENT`, and the task's scope."""
    session = context.session
    key = f"{session.app_name}:{session.user_id}:{session.id}:{context.agent_name}"
    scope = getattr(context, "isolation_scope", None)
    return f"{key}:{scope}" if scope else key


def _managers(context: Any) -> list[str]:
    """What else manages this history."""
    found = []
    if any(event.actions and event.actions.compaction for event in context.session.events):
        found.append("ADK's events compaction")
    # No public way leads from a callback to the other plugins.
    invocation = getattr(context, "_invocation_context", None)
    plugins = getattr(getattr(invocation, "plugin_manager", None), "plugins", ())
    if any(isinstance(plugin, ContextFilterPlugin) for plugin in plugins):
        found.append("ADK's ContextFilterPlugin")
    return found


def _system(config: types.GenerateContentConfig) -> str | None:
    given = config.system_instruction
    if given is None or isinstance(given, str):
        return given
    contents = given if isinstance(given, list) else [given]
    parts = [part for content in contents for part in getattr(content, "parts", None) or [content]]
    return "\n".join(part if isinstance(part, str) else getattr(part, "text", None) or "" for part in parts)


def _definitions(config: types.GenerateContentConfig) -> list[Mapping[str, Any]]:
    made: list[Mapping[str, Any]] = []
    for tool in config.tools or ():
        for one in getattr(tool, "function_declarations", None) or ():
            schema = one.parameters_json_schema
            if schema is None:
                schema = one.parameters.model_dump(mode="json", exclude_none=True) if one.parameters else {}
            made.append({"name": one.name, "description": one.description or "", "input_schema": schema})
    return made
