"""A provider without a network: an HTTP client that answers by script, for the official clients. Needs `httpx2`."""

from __future__ import annotations

import json

import httpx2

from foldaway.testing.replies import reply_body, reply_stream
from foldaway.testing.scripted_agent import Brain, Script


class Provider:
    """Answers requests of one protocol as a script says; `brain.seen` holds what it was asked."""

    def __init__(self, format: str, script: Script | Brain) -> None:
        self.format = format
        self.brain = script if isinstance(script, Brain) else Brain(script)
        self.headers: list[httpx2.Headers] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.headers.append(request.headers)
        body = json.loads(request.content)
        tools = [t.get("name") or t["function"]["name"] for t in body.get("tools", ())]
        messages = body["input"] if self.format == "openai_responses" else body["messages"]
        try:
            reply = self.brain.answer(messages, tools, request.content)
        except Exception as error:  # a script fails as a provider does
            return httpx2.Response(500, json={"error": {"message": str(error), "type": "server_error"}})
        if body.get("stream"):
            content = b"".join(reply_stream(self.format, reply))
            return httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"})
        return httpx2.Response(200, json=reply_body(self.format, reply))

    async def later(self, request: httpx2.Request) -> httpx2.Response:
        return self(request)

    def http_client(self) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(self))

    def async_http_client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self.later))
