"""What an agent's tools can say about themselves: declared inputs and outputs, and the delimiter tool.

Both are optional. Without them links come from value reuse and episodes from what the agent does.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from foldaway.errors import SettingsError
from foldaway.linking.declared import Declaration, attach
from foldaway.linking.episodes import Episodes, EpisodeType

P = ParamSpec("P")
R = TypeVar("R")

DELIMITER = "delimiter"
DELIMITER_DESCRIPTION = (
    "Marks where a piece of work begins and ends, so that finished work can be folded away without losing track. "
    "Start an explore episode before you look things up, an act episode before you change things; end it when done. "
    "When an explore episode ends, write what you found into description: it stays in sight."
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["start", "end"]},
        "name": {"type": "string", "description": "start: a new short name for this piece of work"},
        "type": {"type": "string", "enum": [t.value for t in EpisodeType], "description": "start: explore or act"},
        "dependencies": {
            "type": "array",
            "items": {"type": "string"},
            "description": "start of an act: names of the ended explore episodes it rests on",
        },
        "description": {"type": "string", "description": "end of an explore: what was found, with exact values"},
    },
    "required": ["action"],
}


def tool(
    *, reads: Sequence[str] = (), produces: Sequence[str] = (), name: str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare what a tool function (plain or async) takes in and gives out; the function itself comes back.

    `reads` names arguments. `produces` names arguments (a path that is written), keys of a JSON result, or "result"
    for the whole of it. `name` is the name under which the model calls it, else the function's. Tell a session with
    `Session.use_tools`; nothing is registered anywhere else.

    Raises TypeError for a str instead of a list of names, ValueError when `reads` names no parameter.
    """
    for what, names in (("reads", reads), ("produces", produces)):
        if isinstance(names, str):
            raise TypeError(f"{what}={names!r}: expected a list of names, as in {what}=[{names!r}]")

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        called = name or getattr(function, "__name__", "")
        if not called:
            raise TypeError(f"{function!r} has no name; give name=")
        parameters = inspect.signature(function).parameters
        free = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if unknown := [n for n in reads if n not in parameters and not free]:
            raise ValueError(f"tool {called!r} has no parameter {', '.join(unknown)}; it has: {', '.join(parameters)}")
        attach(function, Declaration(tool=called, reads=tuple(reads), produces=tuple(produces)))
        return function

    return declare


def delimiter_tool(format: str = "openai_chat") -> dict[str, Any]:
    """The definition of the delimiter tool in a wire format, to offer to the model. A new dict each time."""
    schema = json.loads(json.dumps(_SCHEMA))
    match format:
        case "anthropic_messages":
            return {"name": DELIMITER, "description": DELIMITER_DESCRIPTION, "input_schema": schema}
        case "openai_responses":
            return {
                "type": "function", "name": DELIMITER, "description": DELIMITER_DESCRIPTION, "parameters": schema,
            }  # fmt: skip
        case "openai_chat":
            function = {"name": DELIMITER, "description": DELIMITER_DESCRIPTION, "parameters": schema}
            return {"type": "function", "function": function}
    raise SettingsError(f"format {format!r}: expected openai_chat, anthropic_messages or openai_responses")


def delimiter_result(arguments: Mapping[str, Any] | str, episodes: Episodes) -> str:
    """What to answer to a delimiter call: what it did, or in plain words what is wrong with it.

    `episodes` as they are before the call's turn joins the session (`session.engine.log.episodes`). Changes nothing:
    the session follows the call itself when call and result are appended.
    """
    try:
        call = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
    except (ValueError, RecursionError):
        return "Error: the arguments are not JSON."
    if not isinstance(call, dict):
        return "Error: the arguments are no object."
    # One rule for both: the very code that will follow the call is asked on a copy.
    trial = Episodes(all=[replace(e) for e in episodes.all])
    before = trial.current()
    problem = trial._follow(0, call)
    after = trial.current()
    if call.get("action") == "start" and after is not None and after is not before:
        said = f"Episode {after.name!r} ({after.type.value}) is open."
        if before is not None and before.declared:
            said += f" Episode {before.name!r} was ended by it, without a description."
        if after.type is EpisodeType.ACT and not call.get("dependencies"):
            said += " It names no explore episode that it rests on."
        return f"{said} Not linked: {problem}." if problem else said
    if problem:
        return f"Error: {problem}."
    assert before is not None
    missing = before.type is EpisodeType.EXPLORE and not before.description
    unkept = before.type is EpisodeType.ACT and bool(call.get("description"))
    hint = " It has no description: say what you found." if missing else ""
    hint += " The description of an act is not kept: what it did stands in the environment." if unkept else ""
    return f"Episode {before.name!r} is ended.{hint}"
