"""`foldaway fit`: one request in, the managed one out, in the shape it came in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from foldaway.cli.inputs import one_session, real_file
from foldaway.errors import SettingsError, WireError
from foldaway.model.items import Level
from foldaway.model.recorded import Recorded
from foldaway.model.view import View
from foldaway.model.wire import Message
from foldaway.readers import recognise
from foldaway.session import Session
from foldaway.wire import FORMATS, detect_format


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it came, and what the session needs of it."""

    body: dict[str, Any] | None
    """All fields; None when only a list of messages came."""
    key: str
    """Where the messages stand in the body."""
    format: str
    messages: list[Message]
    system: Any = None
    tools: Sequence[Any] | None = None
    origins: Sequence[str] = ()

    def managed(self, view: View) -> dict[str, Any] | list[Message]:
        """The request to send instead."""
        if self.body is None:
            return view.messages
        unchanged = view.messages == self.messages
        out = {**self.body, self.key: self.body[self.key] if unchanged else view.messages}
        if view.tools is not None and view.tools != self.body.get("tools"):
            out["tools"] = view.tools
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    request: dict[str, Any] | list[Message]
    tokens_before: int
    tokens: int
    budget: int
    missing_tokens: int
    warnings: list[str]
    folded: list[dict[str, Any]]
    """One entry for each item that is shown below raw."""


def read_request(path: str, *, format: str, system: str | None, session: str = "") -> Request:
    """The request in a file or on stdin (`-`): a plain wire format, or any recorded session.

    Raises:
        SettingsError: an unknown format, or a system text given twice.
        ReadError: the input holds no messages.
    """
    if format != "auto" and format not in FORMATS:
        raise SettingsError(f"unknown format {format!r}; choose from auto, {', '.join(FORMATS)}")
    with real_file(path) as file:
        value = _document(file) if recognise(file) == "plain" else None
        if value is None:
            request = _from_recorded(one_session(str(file), session=session, shown_as=path), format)
        else:
            request = _from_document(value, format)
    return request if system is None else _with_system(request, system)


def fit_request(request: Request, **settings: Any) -> Fitted:
    """Fold what must go; `settings` are those of `Session`. Raises OverBudget where nothing can be sent."""
    body = request.body or {}
    if not settings.get("model") and isinstance(body.get("model"), str):
        settings["model"] = body["model"]
    if settings.get("max_output_tokens") is None:
        settings["max_output_tokens"] = _answer_tokens(body)
    with Session(format=request.format, system=request.system, tools=request.tools, **settings) as session:
        session.append(request.messages, request.origins)
        before = session.count()
        view = session.view()
        warnings = list(dict.fromkeys([*session.warnings, *view.warnings]))
        if request.body is None and settings.get("recall") == "tool":
            warnings.append("a list of messages has no place for tools; offer the recall tool yourself")
        return Fitted(
            request=request.managed(view),
            tokens_before=before,
            tokens=view.tokens,
            budget=view.budget,
            missing_tokens=view.missing_tokens,
            warnings=warnings,
            folded=_folded(session, view),
        )


def _answer_tokens(body: Mapping[str, Any]) -> int | None:
    """The room for the answer that a request asks for itself."""
    for key in ("max_output_tokens", "max_completion_tokens", "max_tokens"):
        value = body.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _folded(session: Session, view: View) -> list[dict[str, Any]]:
    reasons = {change.item: change.reason for change in view.commit.changes} if view.commit else {}
    return [
        {
            "item": item.id,
            "level": session.level(item.id).name.lower(),
            "kind": item.kind.value,
            "tokens": item.tokens,
            "title": item.title,
            "reason": reasons.get(item.id, ""),
        }
        for item in session.items()
        if session.level(item.id) is not Level.RAW
    ]


def _document(file: Path) -> Any:
    """The JSON document, or None when the file holds one message a line."""
    data = file.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_json)
    except ValueError:
        return None
    return value if isinstance(value, list) or _key(value) else None


def _no_json(constant: str) -> None:
    raise WireError(f"{constant} stands in the input; it is not JSON and no provider takes it")


def _key(body: Mapping[str, Any]) -> str:
    return next((key for key in ("messages", "input") if key in body), "")


def _from_document(value: Any, format: str) -> Request:
    if isinstance(value, list):
        return Request(body=None, key="", format=_told(value, {}, format), messages=value)
    key = _key(value)
    listed: Any = value[key]
    if isinstance(listed, str):
        listed = [{"role": "user", "content": listed}]
    tools = value.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise WireError(f'"tools" is a {type(tools).__name__}; expected a list')
    told = _told(listed, value, format)
    system = value.get("instructions" if told == "openai_responses" else "system")
    return Request(body=value, key=key, format=told, messages=listed, system=system, tools=tools)


def _told(messages: Sequence[Any], body: Mapping[str, Any], format: str) -> str:
    return detect_format(messages, body) if format == "auto" else format


def _from_recorded(recorded: Recorded, format: str) -> Request:
    if format not in ("auto", recorded.format):
        raise SettingsError(
            f"a {recorded.source_format} session reads as {recorded.format}, not {format}; leave --format out"
        )
    messages = list(recorded.messages)
    if recorded.source_format == "plain":
        body: dict[str, Any] | None = None
        key = ""
    else:
        key = "input" if recorded.format == "openai_responses" else "messages"
        beside = "instructions" if recorded.format == "openai_responses" else "system"
        tools = {} if recorded.tools is None else {"tools": list(recorded.tools)}
        body = {**({} if recorded.system is None else {beside: recorded.system}), key: messages, **tools}
    return Request(
        body=body,
        key=key,
        format=recorded.format,
        messages=messages,
        system=recorded.system,
        tools=None if recorded.tools is None else list(recorded.tools),
        origins=recorded.origins,
    )


def _with_system(request: Request, system: str) -> Request:
    """The same request with a system text, where its format keeps it."""
    first = request.messages[0] if request.messages else {}
    if request.system is not None or first.get("role") in ("system", "developer"):
        raise SettingsError("the request has a system text already; leave --system-file out")
    if request.format == "openai_chat":
        messages = [{"role": "system", "content": system}, *request.messages]
        body = None if request.body is None else {**request.body, request.key: messages}
        origins = ["", *request.origins] if request.origins else ()
        return replace(request, body=body, messages=messages, origins=origins)
    beside, key = ("instructions", "input") if request.format == "openai_responses" else ("system", "messages")
    body = {**(request.body or {key: request.messages}), beside: system}
    return replace(request, body=body, key=request.key or key, system=system)
