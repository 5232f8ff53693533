"""A real small model behind the proxy, end to end: `make test-models`.

A log is read page by page, one page in each turn; an early page names a code. The model is asked for it at the end,
with a budget that holds a few pages only. Once through the proxy, and once with a plain window of the same size.

So small a model answers from what a view keeps of a folded page; by itself it hardly ever asks for more.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="httpx2 is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import httpx2
import uvicorn

from foldaway.proxy import ProxySettings
from foldaway.proxy.app import ProxyApp
from foldaway.tokens import RequestCounter, get_counter

pytestmark = pytest.mark.slow
BUDGET = 900
PAGES = 14
TRIES = 10
WORDS = "amber birch cedar delta ember fjord grove heron inlet jetty".split()
SYSTEM = "You answer questions about a log. Answer in one short sentence."


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    path = os.environ.get("FOLDAWAY_GGUF", "")
    if not path:
        pytest.skip("FOLDAWAY_GGUF names no model file")
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    llama = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = path, 4096, 1
    params.warmup, params.verbosity = False, -1
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads, cpu.poll = 2, 0
    server = llama.Server(params)
    yield str(server.listening_address)
    del server


def page(number: int, code: str) -> str:
    lines = [
        f"page {number}, line {n}: pump {n} at {number * 7 + n} bar, valve {(number * n) % 9} open" for n in range(5)
    ]
    if number == 2:
        lines[3] = f"page 2, line 3: the door code is {code}"
    return "\n".join(lines)


def history(code: str) -> list[dict[str, Any]]:
    """All pages as turns of an agent without tools, and the question."""
    told: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "I show you pages of a log, one after the other. Then I ask about them."},
    ]
    for number in range(1, PAGES + 1):
        told.append({"role": "assistant", "content": f"READ page {number}"})
        told.append({"role": "user", "content": f"<output>\n{page(number, code)}\n</output>"})
    told.append({"role": "assistant", "content": "I have read all pages."})
    return [*told, {"role": "user", "content": "What is the door code?"}]


class Watched(httpx2.AsyncHTTPTransport):
    """The way to the model, with what was sent on it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append((await request.aread()).decode())
        return await super().handle_async_request(request)


class Served:
    """The proxy on a loopback port."""

    def __init__(self, upstream: str, **settings: Any) -> None:
        given = ProxySettings(openai_upstream=upstream, time_limit_seconds=60.0, **settings)
        self.transport = Watched()
        self.app = ProxyApp(given, transports={"openai": self.transport})
        config = uvicorn.Config(self.app, port=0, log_level="error", lifespan="on")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        end = time.monotonic() + 60
        while not self._server.started:
            assert time.monotonic() < end
            assert self._thread.is_alive()
            time.sleep(0.05)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)


def answer(url: str, messages: list[dict[str, Any]], seed: int) -> str:
    """The text that the client gets. Each try is a session of its own."""
    body = {"model": "small", "messages": messages, "max_tokens": 60, "temperature": 0.2, "seed": seed}
    with httpx2.Client(trust_env=False, timeout=900) as client:
        headers = {"x-foldaway-session": f"try {seed}"}
        got = client.post(f"{url}/v1/chat/completions", json=body, headers=headers)
    got.raise_for_status()
    return got.json()["choices"][0]["message"]["content"] or ""


def plain_window(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The system prompt and the newest messages that fit the same budget."""
    counter = RequestCounter(get_counter("small", "openai_chat"), "openai_chat")
    room = BUDGET - counter.system(None) - counter.message(messages[0])
    kept: list[dict[str, Any]] = []
    for message in reversed(messages[1:]):
        room -= counter.message(message)
        if room < 0:
            break
        kept.insert(0, message)
    return [messages[0], *kept]


def test_the_early_fact_is_there_through_the_proxy_and_not_in_a_plain_window(model_url: str, tmp_path: Path) -> None:
    right, noted, asked = {"proxy": 0, "window": 0}, 0, 0
    proxy = Served(model_url, budget=BUDGET, recall="directive", store=f"sqlite:///{tmp_path}/s.db")
    for number in range(TRIES):
        code = f"{WORDS[number]}-{4100 + 37 * number}"
        told = history(code)
        before = len(proxy.transport.sent)
        through = answer(proxy.url, told, number)
        sent = proxy.transport.sent[before:]
        assert all(len(body) < len(json.dumps(told)) for body in sent)
        direct = answer(model_url, plain_window(told), number)
        right["proxy"] += code in through
        right["window"] += code in direct
        noted += code in sent[0]
        asked += len(sent) > 1
        sys.stdout.write(f"{code}: through the proxy {through[:80]!r}; plain window {direct[:80]!r}\n")
    proxy.close()
    sys.stdout.write(
        f"right of {TRIES}: {right}; code in the first view {noted} times, model asked for more {asked} times\n"
    )
    # A word and four digits cannot be guessed.
    assert right["window"] == 0
    assert right["proxy"] > TRIES // 2
