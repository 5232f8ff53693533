"""A proxy in front of a scripted upstream, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("httpx2") is None:
    # The suite passes without extras.
    collect_ignore_glob = ["*"]
else:
    from foldaway.proxy import ProxySettings
    from foldaway.proxy.app import ProxyApp
    from foldaway.testing.scripted_http import Answer, Upstream, ask


class World:
    """One proxy and its upstream, with a loop of their own."""

    def __init__(self, upstream: Upstream, **settings: Any) -> None:
        base = {"openai_upstream": "http://openai.test", "anthropic_upstream": "http://anthropic.test"}
        self.upstream = upstream
        self.loop = asyncio.new_event_loop()
        self.app = ProxyApp(
            ProxySettings(**{**base, "time_limit_seconds": 20.0, **settings}),
            transports={"openai": upstream, "anthropic": upstream},
        )

    def ask(self, path: str, body: Any = None, headers: Any = (), **more: Any) -> Answer:
        return self.loop.run_until_complete(ask(self.app, path, body, headers, **more))

    def all(self, *asked: Any) -> list[Answer]:
        """Several at once: (path, body) each."""

        async def together() -> list[Answer]:
            return await asyncio.gather(*(ask(self.app, *one) for one in asked))

        return self.loop.run_until_complete(together())

    def close(self) -> None:
        self.loop.run_until_complete(self.app.close())
        self.loop.close()


@pytest.fixture
def world() -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(script: Any, **settings: Any) -> World:
        made.append(World(Upstream(script), **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()
