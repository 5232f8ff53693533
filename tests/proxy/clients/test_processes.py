"""Processes of their own on one store: requests of one session in turn, at once, and one of them killed in between."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic
from openai import OpenAI

from foldaway.settings.parts import make_store
from foldaway.testing.upstream import ScriptedUpstream

BUDGET = 2500
STEPS = 24


class Served:
    """`foldaway serve`, with what the kit's agents ask of a proxy."""

    def __init__(self, upstream: str, store: str) -> None:
        command = [sys.executable, "-m", "foldaway.cli", "serve", "--port", "0", "--budget", str(BUDGET)]
        where = ["--openai-upstream", upstream, "--anthropic-upstream", upstream, "--store", store]
        # In a machine at work a limit of seconds may pass; what is tested here is not that.
        self.process = subprocess.Popen(
            [*command, *where, "--time-limit", "60"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert self.process.stderr is not None
        readable, _, _ = select.select([self.process.stderr], [], [], 120)
        found = re.search(r"127\.0\.0\.1:(\d+)", self.process.stderr.readline() if readable else "")
        assert found, "it does not start"
        self.url = f"http://127.0.0.1:{found[1]}"
        self._log = threading.Thread(target=self.process.stderr.read, daemon=True)
        self._log.start()
        self._clients: list[httpx2.Client] = []

    def client(self) -> httpx2.Client:
        self._clients.append(httpx2.Client(trust_env=False, timeout=120))
        return self._clients[-1]

    def openai(self) -> OpenAI:
        return OpenAI(api_key="sk-a", base_url=f"{self.url}/v1", http_client=self.client(), max_retries=0)

    def anthropic(self) -> Anthropic:
        return Anthropic(api_key="sk-a", base_url=self.url, http_client=self.client(), max_retries=0)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
        self._log.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def serve(kit: Any, tmp_path: Path) -> Iterator[Callable[[ScriptedUpstream], Served]]:
    """Processes on one store, in front of one upstream each."""
    made: list[Any] = []

    def start(upstream: ScriptedUpstream) -> Served:
        behind = kit.listening(upstream)
        made.append(behind)
        served = Served(behind.url, f"sqlite:///{tmp_path / 's.db'}")
        made.append(served)
        return served

    yield start
    for each in reversed(made):
        each.close()


def sessions(tmp_path: Path) -> list[str]:
    """Sessions of tenants in the store."""
    store = make_store(f"sqlite:///{tmp_path / 's.db'}")
    assert store is not None
    found = [name for user in store.users() if user.startswith("t-") for name in store.sessions(user)]
    store.close()
    return found


@pytest.mark.parametrize("kind", ["chat, streamed", "messages"])
def test_requests_in_turn_at_two_processes_of_which_one_is_killed(
    kit: Any, serve: Callable[[ScriptedUpstream], Served], kind: str, tmp_path: Path
) -> None:
    upstream = ScriptedUpstream(kit.task(steps=STEPS))
    one, two = serve(upstream), serve(upstream)
    agent = kit.agent(kind, one)
    asks = [agent.ask, kit.agent(kind, two).ask]
    for step in range(60):
        agent.ask = asks[1 if step == STEPS // 2 or (step > 4 and step % 2) or step > STEPS // 2 else 0]
        if step == STEPS // 2:
            one.kill()
        if not agent.step():
            break
    assert kit.secret in agent.answers[-1]
    assert agent.names == {"read"}
    assert upstream.complaints == []
    assert max(asked.tokens for asked in upstream.requests) <= BUDGET
    assert len(sessions(tmp_path)) == 1


def test_requests_of_one_session_at_once_at_both_lose_nothing(
    kit: Any, serve: Callable[[ScriptedUpstream], Served], tmp_path: Path
) -> None:
    upstream = ScriptedUpstream(kit.task(steps=10_000))
    one, two = serve(upstream), serve(upstream)
    agent = kit.agent("chat", one)
    for _ in range(16):
        agent.step()
    others = [kit.agent("chat", served).ask for served in (one, two, one, two)]
    for round in range(4):
        # The same history with another last word each, as parallel attempts of one agent are.
        histories = [
            [*json.loads(json.dumps(agent.history)), {"role": "user", "content": f"Attempt {round}.{n}: go on."}]
            for n in range(4)
        ]
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(lambda pair: pair[0](pair[1]), zip(others, histories, strict=True)))
        assert all(calls for _, _, calls in answers)
        sent = {text for asked in upstream.requests for text in re.findall(r"Attempt \d\.\d", asked.text)}
        assert {f"Attempt {round}.{n}" for n in range(4)} <= sent
        agent.step()
    assert upstream.complaints == []
    assert max(asked.tokens for asked in upstream.requests) <= BUDGET
    assert len(sessions(tmp_path)) == 1
