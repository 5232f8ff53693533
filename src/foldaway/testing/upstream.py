"""A model provider by script, as an ASGI application: three protocols, whole and streamed, strict about what it takes.

It refuses what a real provider refuses (calls without results, empty texts, ids of responses it never gave) and keeps
what it was asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from foldaway.model.wire import Message
from foldaway.testing.replies import Reply, reply_body, reply_stream
from foldaway.tokens import RequestCounter, get_counter
from foldaway.wire import problems

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
FORMATS = {
    "/v1/chat/completions": "openai_chat", "/v1/responses": "openai_responses", "/v1/messages": "anthropic_messages",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that came."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def format(self) -> str:
        return FORMATS[self.path]

    @property
    def messages(self) -> list[Message]:
        told = self.body.get("input" if self.format == "openai_responses" else "messages")
        return [{"role": "user", "content": told}] if isinstance(told, str) else told or []

    @property
    def text(self) -> str:
        """All messages as JSON, in which one can look for words."""
        return json.dumps(self.messages, ensure_ascii=False)

    @property
    def last(self) -> str:
        return json.dumps(self.messages[-1], ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        """Names of the tools offered."""
        return [t.get("name") or t["function"]["name"] for t in self.body.get("tools") or ()]

    @property
    def tokens(self) -> int:
        """Size of the request, as Foldaway counts."""
        counter = RequestCounter(get_counter(self.body.get("model", ""), self.format), self.format)
        system = self.body.get("system") or self.body.get("instructions")
        fixed = counter.system(system) + counter.tools(self.body.get("tools"))
        return fixed + sum(map(counter.message, self.messages))


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """An answer that is none."""

    status: int
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[Asked], Reply | Error]


class ScriptedUpstream:
    """Answers as the script says. One reply has one id, counted from 1."""

    def __init__(self, script: Script, *, delay_seconds: float = 0.0) -> None:
        self.script, self.delay_seconds = script, delay_seconds
        self.requests: list[Asked] = []
        self.complaints: list[str] = []
        """What was wrong with requests; each was refused."""
        self.others: list[str] = []
        """Method and path of requests on other routes."""
        self._responses: dict[str, list[Message]] = {}

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        path = scope["path"]
        if path not in FORMATS:
            self.others.append(f"{scope['method']} {path}")
            await _whole(send, 200, self._other(path, body))
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        asked = Asked(path=path, headers=headers, body=json.loads(body))
        self.requests.append(asked)
        await self._answer(asked, send)

    async def _answer(self, asked: Asked, send: Send) -> None:
        number = len(self.requests)
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)
        wrong = self._wrong(asked)
        if wrong:
            self.complaints.append(f"request {number}: {wrong}")
            await _whole(send, 400, {"type": "error", "error": {"type": "invalid_request_error", "message": wrong}})
            return
        said = self.script(asked)
        if isinstance(said, Error):
            await _whole(send, said.status, said.body, said.headers)
            return
        said = replace(said, id=str(number), read_tokens=asked.tokens) if said.id == "1" else said
        model = str(asked.body.get("model", "m"))
        body = reply_body(asked.format, said, model)
        if asked.format == "openai_responses" and asked.body.get("store") is not False:
            self._responses[body["id"]] = [*self._whole(asked), *body["output"]]
        if not asked.body.get("stream"):
            await _whole(send, 200, body)
            return
        usage = bool((asked.body.get("stream_options") or {}).get("include_usage"))
        await _streamed(send, reply_stream(asked.format, said, model, usage=usage))

    def _whole(self, asked: Asked) -> list[Message]:
        """The history with what an id stands for."""
        return [*self._responses.get(asked.body.get("previous_response_id") or "", ()), *asked.messages]

    def _wrong(self, asked: Asked) -> str:
        previous = asked.body.get("previous_response_id")
        if previous and previous not in self._responses:
            return f"Previous response with id '{previous}' not found."
        return "; ".join(problems(asked.format, self._whole(asked)))

    @staticmethod
    def _other(path: str, body: bytes) -> dict[str, Any]:
        if path.endswith("/count_tokens"):
            return {"input_tokens": len(body) // 4}
        model = {"id": "m", "object": "model", "type": "model", "created": 1, "owned_by": "o",
                 "created_at": "2026-01-01T00:00:00Z", "display_name": "M"}  # fmt: skip
        return {"object": "list", "data": [model], "has_more": False, "first_id": "m", "last_id": "m"}


async def _whole(send: Send, status: int, body: Mapping[str, Any], headers: Mapping[str, str] = {}) -> None:
    content = json.dumps(body).encode()
    told = {"content-type": "application/json", "content-length": str(len(content)), "x-request-id": "r1", **headers}
    raw = [(k.encode(), v.encode()) for k, v in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content, "more_body": False})


async def _streamed(send: Send, events: list[bytes]) -> None:
    headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-request-id", b"r1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for event in events:
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
