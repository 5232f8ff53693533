"""Small agents on the official clients, a proxy on a loopback port, and a scripted provider behind it."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="httpx2 is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("openai", reason="openai is not installed")
pytest.importorskip("anthropic", reason="anthropic is not installed")

import httpx2
import uvicorn
from anthropic import Anthropic
from openai import OpenAI

from foldaway.proxy import app_in_front_of
from foldaway.proxy.app import ProxyApp
from foldaway.testing.replies import Call, Reply
from foldaway.testing.upstream import Asked, Script, ScriptedUpstream

SECRET = "ZX-4711-QUARTZ"
SECRET_IN = 5
"""Number of the file that the last answer needs."""
PROPERTIES = {"path": {"type": "string"}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["path"]}


def content_of(path: str) -> str:
    """What a file holds."""
    number = int(re.findall(r"\d+", path)[0])
    lines = [f"entry {number}.{n}: value {number * 37 + n * 11} of shelf {(number * n) % 13}" for n in range(12)]
    if number == SECRET_IN:
        lines[6] = f"access code = {SECRET}"
    return f"file {path}\n" + "\n".join(lines)


class Listening:
    """Any ASGI application on a loopback port, until it is closed."""

    def __init__(self, app: Any) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=2)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        end = time.monotonic() + 20
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.005)
        if not self._server.started:
            raise RuntimeError("the server did not start; its log says why")

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()


@dataclass
class Proxied:
    """A proxy with its provider."""

    app: ProxyApp
    upstream: ScriptedUpstream
    url: str
    listening: Listening
    clients: list[httpx2.Client] = field(default_factory=list)

    def client(self) -> httpx2.Client:
        self.clients.append(httpx2.Client(trust_env=False, timeout=60))
        return self.clients[-1]

    def openai(self, key: str = "sk-a", **more: Any) -> OpenAI:
        return OpenAI(api_key=key, base_url=f"{self.url}/v1", http_client=self.client(), max_retries=0, **more)

    def anthropic(self, key: str = "sk-a", **more: Any) -> Anthropic:
        return Anthropic(api_key=key, base_url=self.url, http_client=self.client(), max_retries=0, **more)

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.listening.close()


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Callable[..., Proxied]]:
    """Makes proxies; each `store` name is one file."""
    made: list[Proxied] = []

    def make(script: Script | ScriptedUpstream, *, store: str = "s.db", **settings: Any) -> Proxied:
        upstream = script if isinstance(script, ScriptedUpstream) else ScriptedUpstream(script)
        given = {"budget": 2500, "time_limit_seconds": 20.0, **settings}
        app = app_in_front_of(upstream, store=tmp_path / store, **given)
        listening = Listening(app)
        made.append(Proxied(app, upstream, listening.url, listening))
        return made[-1]

    yield make
    for each in made:
        each.close()


@dataclass
class Task:
    """The model of a long task, as a script: reads files one by one, then needs what stood in an early one.

    It sees only what is sent. Is the code not there, it asks for it in the way that it was offered, by the id that a
    note gives or by words.
    """

    steps: int
    by: str = "id"
    """"id", "words" or "range"."""
    at_once: int = 1
    """Files that it reads in one answer."""
    mixed_at: tuple[int, ...] = ()
    """Steps at which it asks for the code beside its own calls."""
    stubborn: str = ""
    """It asks again and again: for "the same", or each time for something "else"."""
    in_text: bool = False
    """It has no tools and says in its text what to read."""
    read: int = 0
    recalls: int = 0
    said: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Reply:
        if self.read < self.steps:
            paths = [f"file-{self.read + n}.txt" for n in range(self.at_once)]
            calls = [Call(name="read", arguments={"path": path}) for path in paths]
            if self.read in self.mixed_at and "recall" in asked.tools:
                self.recalls += 1
                calls.insert(1, self._recall(asked))
            self.read += self.at_once
            if self.in_text:
                return Reply(text="\n".join(f"READ {path}" for path in paths))
            return Reply(text=f"Next: {', '.join(paths)}.", calls=calls)
        if SECRET in asked.text and not self.stubborn:
            return Reply(text=f"The access code is {SECRET}.")
        if "recall" in asked.tools:
            self.recalls += 1
            return Reply(text="Let me look it up. ", calls=[self._recall(asked)])
        if "[RETRIEVE: #" in asked.text:
            self.recalls += 1
            return Reply(text=f"Let me look it up. [RETRIEVE: {self._ids(asked)}]")
        return Reply(text="I cannot know.")

    def _recall(self, asked: Asked) -> Call:
        return Call(name="recall", arguments={"ids": self._ids(asked)})

    def _ids(self, asked: Asked) -> str:
        if self.stubborn == "else":
            return f"#{2 * self.recalls}"
        text = asked.text.replace("\\n", "\n")
        named = [line for line in text.split("\n") if f"file-{SECRET_IN}.txt" in line and "#" in line]
        ids = re.findall(r"#\d+", named[0]) if named else []
        return ids[0] if ids and self.by == "id" else f"file-{SECRET_IN}.txt access code"


def read_tool(format: str) -> Any:
    match format:
        case "anthropic_messages":
            return {"name": "read", "description": "Read a file.", "input_schema": SCHEMA}
        case "openai_responses":
            return {"type": "function", "name": "read", "description": "Read a file.", "parameters": SCHEMA,
                    "strict": False}  # fmt: skip
        case _:
            function = {"name": "read", "description": "Read a file.", "parameters": SCHEMA}
            return {"type": "function", "function": function}


Ask = Callable[[list[Any]], tuple[list[Any], str, list[tuple[str, str, dict[str, Any]]]]]
"""History -> (what the answer adds to it, its text, its calls: id, name, arguments)."""


def chat(client: OpenAI, *, stream: bool, tools: bool = True, model: str = "m", **more: Any) -> Ask:
    given: dict[str, Any] = {"model": model, **({"tools": [read_tool("openai_chat")]} if tools else {}), **more}

    def ask(messages: list[Any]) -> Any:
        if stream:
            with client.chat.completions.stream(messages=messages, **given) as events:
                for _ in events:
                    pass
                said = events.get_final_completion().choices[0].message
        else:
            said = client.chat.completions.create(messages=messages, **given).choices[0].message
        calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in said.tool_calls or ()]
        kept = said.model_dump(exclude_none=True, exclude={"parsed"})
        for call in kept.get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
        return [kept], said.content or "", calls

    return ask


def messages(client: Anthropic, *, stream: bool, tools: bool = True, **more: Any) -> Ask:
    given: dict[str, Any] = {"model": "m", "max_tokens": 100, **more}
    if tools:
        given["tools"] = [read_tool("anthropic_messages")]

    def ask(history: list[Any]) -> Any:
        if stream:
            with client.messages.stream(messages=history, **given) as events:
                said = events.get_final_message()
        else:
            said = client.messages.create(messages=history, **given)
        content = [b.model_dump(exclude_none=True, exclude={"parsed_output"}) for b in said.content]
        calls = [(b.id, b.name, dict(b.input)) for b in said.content if b.type == "tool_use"]
        return [{"role": "assistant", "content": content}], "".join(b.get("text", "") for b in content), calls

    return ask


def responses(client: Any, *, stream: bool, tools: bool = True, by_id: bool = False, **more: Any) -> Ask:
    """`by_id`: each request holds what is new and the id of the response in front of it."""
    given: dict[str, Any] = {"model": "m", **({"tools": [read_tool("openai_responses")]} if tools else {}), **more}
    if not by_id:
        given["store"] = False
    known: dict[str, Any] = {"id": None, "length": 0}

    def ask(history: list[Any]) -> Any:
        fresh = {"input": history}
        if by_id and known["id"]:
            fresh = {"input": history[known["length"] :], "previous_response_id": known["id"]}
        if stream:
            with client.responses.stream(**fresh, **given) as events:
                for _ in events:
                    pass
                said: Any = events.get_final_response()
        else:
            said = client.responses.create(**fresh, **given)
        items = [i.model_dump(exclude_none=True, exclude={"parsed_arguments", "parsed"}) for i in said.output]
        for item in items:
            for part in item.get("content") or ():
                part.pop("parsed", None)
        known.update(id=said.id, length=len(history) + len(items))
        calls = [(i.call_id, i.name, json.loads(i.arguments)) for i in said.output if i.type == "function_call"]
        return items, said.output_text, calls

    return ask


def results(format: str, outputs: list[tuple[str, str]]) -> list[Any]:
    """The messages that answer calls: (call id, output) each."""
    match format:
        case "anthropic_messages":
            content = [{"type": "tool_result", "tool_use_id": i, "content": text} for i, text in outputs]
            return [{"role": "user", "content": content}]
        case "openai_responses":
            return [{"type": "function_call_output", "call_id": i, "output": text} for i, text in outputs]
        case _:
            return [{"role": "tool", "tool_call_id": i, "content": text} for i, text in outputs]


KINDS: dict[str, tuple[str, Callable[..., Ask]]] = {
    "chat": ("openai_chat", lambda p, **m: chat(p.openai(), stream=False, **m)),
    "chat, streamed": ("openai_chat", lambda p, **m: chat(p.openai(), stream=True, **m)),
    "messages": ("anthropic_messages", lambda p, **m: messages(p.anthropic(), stream=False, **m)),
    "messages, streamed": ("anthropic_messages", lambda p, **m: messages(p.anthropic(), stream=True, **m)),
    "responses": ("openai_responses", lambda p, **m: responses(p.openai(), stream=False, **m)),
    "responses, streamed": ("openai_responses", lambda p, **m: responses(p.openai(), stream=True, **m)),
    "responses by id": ("openai_responses", lambda p, **m: responses(p.openai(), stream=False, by_id=True, **m)),
    "responses by id, streamed": (
        "openai_responses", lambda p, **m: responses(p.openai(), stream=True, by_id=True, **m)),
}  # fmt: skip


@dataclass
class Agent:
    """An agent that nobody changed: it asks, does what it is told, and asks again, until no call comes."""

    format: str
    ask: Ask
    history: list[Any]
    answers: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def step(self) -> bool:
        """One call of the model; False once it has no further calls."""
        added, text, calls = self.ask(self.history)
        self.history += added
        self.answers.append(text)
        self.names |= {name for _, name, _ in calls}
        if calls:
            self.history += results(self.format, [(i, content_of(given["path"])) for i, _, given in calls])
        paths = re.findall(r"^READ (\S+)$", text, re.M)
        if paths:
            outputs = "\n".join(f"<output>\n{content_of(path)}\n</output>" for path in paths)
            self.history.append({"role": "user", "content": outputs})
        return bool(calls or paths)

    def run(self, most: int = 400) -> str:
        for _ in range(most):
            if not self.step():
                break
        return self.answers[-1]


GOAL = "Read all files one after the other, then tell me the access code."


class Kit:
    """What the tests need of this file."""

    secret = SECRET
    task = Task
    kinds = tuple(KINDS)
    listening = Listening
    content_of = staticmethod(content_of)

    @staticmethod
    def agent(kind: str, proxied: Proxied, goal: str = GOAL, **more: Any) -> Agent:
        format, make = KINDS[kind]
        return Agent(format, make(proxied, **more), [{"role": "user", "content": goal}])

    @staticmethod
    def after(agent: Agent, ask: Ask | None = None) -> Agent:
        """Another agent with the same history so far."""
        return Agent(agent.format, ask or agent.ask, json.loads(json.dumps(agent.history)))


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()
