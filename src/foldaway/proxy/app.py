"""The proxy as an ASGI application: one request in, one request out, and the answer as it comes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx2

from foldaway.errors import OverBudget
from foldaway.proxy import gate
from foldaway.proxy.answers import BY_FORMAT
from foldaway.proxy.call import Call
from foldaway.proxy.dialects import BY_PATH, Dialect
from foldaway.proxy.exchange import App, Exchange, Receive, Scope, Send
from foldaway.proxy.fallback import Fallback, reason
from foldaway.proxy.gate import Refused
from foldaway.proxy.health import ready
from foldaway.proxy.jsons import dumps
from foldaway.proxy.learned import Learned
from foldaway.proxy.metrics import CONTENT_TYPE
from foldaway.proxy.places import Places, Seat
from foldaway.proxy.records import GONE, Record, Records
from foldaway.proxy.routes import route_of, shown, without_prefix
from foldaway.proxy.settings import ProxySettings
from foldaway.proxy.tenants import Tenants
from foldaway.proxy.turn import Turns, warm_up
from foldaway.proxy.upstream import Upstream, back, onward
from foldaway.settings.parts import make_store

T = TypeVar("T")
log = logging.getLogger("foldaway.proxy.app")
MOST_THREADS = 32
"""Deciding at once. Waiting for a session's lock takes one too, for the time limit at most."""
SPARE_THREADS = 4
"""For the fallback alone: what made the others stuck must not stop it."""


class ProxyApp:
    """An ASGI application. `make_app` makes one."""

    def __init__(
        self, settings: ProxySettings, *, transports: Mapping[str, httpx2.AsyncBaseTransport] | None = None
    ) -> None:
        self.settings = settings
        store = make_store(settings.store)
        assert store is not None
        self.store = store
        self.learned = Learned(store)
        self.places = Places(settings, store, self.learned)
        self.turns = Turns(self.places)
        self.fallback = Fallback(self.places)
        self.threads = ThreadPoolExecutor(MOST_THREADS, "foldaway-proxy")
        self.spare = ThreadPoolExecutor(SPARE_THREADS, "foldaway-spare")
        self.saver = ThreadPoolExecutor(1, "foldaway-saver")
        self.tenants = Tenants(settings, store)
        self.upstream = Upstream(settings, transports)
        self.records = Records()
        self.when_warm: Callable[[], None] = lambda: None
        """Called once all is loaded that requests need, before the first one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1003, "reason": "this proxy speaks HTTP"})

    async def close(self) -> None:
        """Let go of connections and the store."""
        await self.upstream.close()
        await asyncio.to_thread(self.saver.shutdown)
        for threads in (self.threads, self.spare):
            threads.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    def save_later(self, seat: Seat) -> None:
        """Have the store hear of a request's place while its answer is awaited."""
        self.saver.submit(self._save, self.places.chains.save, seat.key[0], seat.key[1])

    def share_limit(self, tenant: str, model: str) -> None:
        """Have the store hear of what a refusal taught."""
        self.saver.submit(self._save, self.learned.save, tenant, model)

    def _save(self, save: Callable[[str, str], None], tenant: str, name: str) -> None:
        try:
            save(tenant, name)
        except Exception as error:  # what others do not hear of costs them a comparison or a refusal
            log.warning("not stored: %s", reason(error))

    async def within(self, limit_seconds: float, threads: Executor, step: Callable[..., T], *arguments: Any) -> T:
        """Do a step in a thread. Raises TimeoutError after the limit: a step under way then ends by itself, unheard;
        one that still waits for a thread is not begun."""
        # Not `wait_for`: up to Python 3.11 it may swallow that the client is gone (python/cpython#86296).
        async with asyncio.timeout(limit_seconds):
            return await asyncio.get_running_loop().run_in_executor(threads, step, *arguments)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                await asyncio.to_thread(warm_up)
                self.when_warm()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = list(scope["headers"])
        prefix = self.settings.path_prefix
        token, path = gate.split_token(without_prefix(scope["path"], prefix))
        sent_path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        route = route_of(path)
        exchange = Exchange(
            path=path, raw_path=gate.split_token(without_prefix(sent_path, prefix))[1], token=token, route=route,
            query=scope.get("query_string", b"").decode("latin-1"), method=scope["method"], raw_headers=raw,
            in_one=scope.get("http_version") == "1.0",
            headers={k.decode("latin-1").lower(): v.decode("latin-1") for k, v in raw}, receive=receive, send=send,
            record=Record(path=shown(path), route=route, method=scope["method"]),
        )  # fmt: skip
        with self.records.under_way(exchange.record):
            await self._told_errors(exchange)

    async def _told_errors(self, exchange: Exchange) -> None:
        """Serve, and say what cannot be served in the shape that the client reads."""
        try:
            await self._serve(exchange)
        except Refused as refused:
            exchange.record.outcome = "refused"
            await self._fail(exchange, refused.status, str(refused), refused.code)
        except OverBudget as over:
            exchange.record.outcome = "refused"
            await self._fail(exchange, 400, str(over), "context_length_exceeded")
        except httpx2.TimeoutException as error:
            kind = type(error).__name__
            await self._fail(exchange, 504, f"the upstream does not answer ({kind})", "upstream_timeout")
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            kind = type(error).__name__
            await self._fail(exchange, 502, f"the upstream cannot be reached ({kind})", "upstream_down")
        except httpx2.RequestError as error:
            await self._fail(
                exchange, 502, f"the upstream's answer cannot be read ({type(error).__name__})", "upstream_broken"
            )
        except ConnectionError:
            exchange.record.status = exchange.record.status or GONE
            exchange.record.note("client gone")
        except asyncio.CancelledError:
            # Clients that are gone are told apart before: what ends a request here is the end of the process.
            exchange.record.note("cut off: the proxy stops")
            raise
        except Exception as error:  # whatever it is, the client is told in a shape that it reads
            exchange.record.note(reason(error))
            await self._fail(exchange, 500, f"the request failed inside ({type(error).__name__})", "internal")

    async def _fail(self, exchange: Exchange, status: int, message: str, code: str) -> None:
        exchange.record.note(code)
        if exchange.record.outcome != "refused":
            exchange.record.outcome = "failed"
        if exchange.started:
            # The status is out: cutting the connection is the only honest end left.
            raise ConnectionAbortedError(message)
        dialect = BY_PATH.get(exchange.route)
        answers = BY_FORMAT[dialect.format if dialect else "openai_chat"]
        content = dumps(answers.error(status, f"foldaway: {message}", code))
        again = [(b"retry-after", b"1")] if status == 503 else []
        await exchange.whole(status, content, extra=[(b"x-foldaway-error", code.encode()), *again])

    async def _serve(self, exchange: Exchange) -> None:
        gate.check_headers(self.settings, exchange.raw_headers)
        if exchange.method in ("GET", "HEAD") and exchange.path in ("/health", "/health/live", "/health/ready"):
            await self._health(exchange)
            return
        gate.check_token(self.settings, exchange.headers, exchange.token)
        if exchange.method == "GET" and exchange.path == "/metrics":
            exchange.record.outcome = "own"
            await exchange.whole(200, self.records.page(sessions=len(self.places.shelf)), CONTENT_TYPE)
            return
        if exchange.headers.get("upgrade", "").lower() == "websocket":
            # Refused rather than tunnelled: what passes there would not be managed, and nobody would know. With this
            # status Codex takes plain HTTP at once: https://github.com/openai/codex/issues/43353
            raise Refused(426, "this proxy speaks HTTP, no websockets; use POST", "no_websockets")
        if self.records.running > self.settings.most_requests:
            raise Refused(503, f"over {self.settings.most_requests} requests under way; try again", "busy")
        provider = self.upstream.provider(exchange.path, exchange.route, exchange.headers)
        url = self.upstream.url(provider, exchange.raw_path, exchange.route, exchange.query)
        if not url:
            raise Refused(
                404,
                f"no {provider} upstream is set for {exchange.path}; start with --{provider}-upstream",
                "no_upstream",
            )
        raw = await gate.read_body(exchange.receive, self.settings.most_body_bytes, self.settings.body_seconds)
        exchange.record.body_in()
        await self._while_there(exchange, self._answer(exchange, provider, url, raw))

    async def _health(self, exchange: Exchange) -> None:
        """Whether the process lives, and whether it can do its work. Without a token, so it tells no more than that."""
        exchange.record.outcome = "own"
        state: Mapping[str, Any] = {"status": "ok"}
        if exchange.path != "/health/live":
            try:
                state = await self.within(
                    self.settings.time_limit_seconds, self.spare, ready, self.settings, self.store
                )
            except TimeoutError:
                state = {"status": "degraded", "store": "slow"}
        await exchange.whole(200 if state["status"] == "ok" else 503, json.dumps(state).encode())

    async def _while_there(self, exchange: Exchange, work: Coroutine[Any, Any, None]) -> None:
        """Work for a client as long as it is there; one that is gone ends the call upstream as well."""
        task = asyncio.current_task()
        assert task is not None
        working, gone = True, False

        def left(leaving: asyncio.Task[None]) -> None:
            nonlocal gone
            if not leaving.cancelled() and working:
                leaving.exception()
                gone = task.cancel()

        leaving = asyncio.ensure_future(_gone(exchange.receive))
        leaving.add_done_callback(left)
        try:
            await work
        except asyncio.CancelledError:
            if gone and task.uncancel() == 0:
                raise ConnectionError("the client is gone") from None
            raise
        finally:
            working = False
            leaving.cancel()

    async def _answer(self, exchange: Exchange, provider: str, url: str, raw: bytes) -> None:
        dialect = BY_PATH.get(exchange.route) if exchange.method == "POST" else None
        off = exchange.headers.get("x-foldaway", "").strip().lower() == "off"
        if dialect is None or off:
            exchange.record.outcome = "off" if off else "passed"
            await self._pass(exchange, provider, url, raw)
            return
        await self._managed(exchange, provider, url, raw, dialect)

    async def _pass(self, exchange: Exchange, provider: str, url: str, raw: bytes) -> None:
        """There and back, byte for byte."""
        headers = onward(exchange.raw_headers, readable=False)
        exchange.record.goes_up()
        answer = await self.upstream.send(provider, exchange.method, url, headers, raw)
        try:
            own = exchange.record.headers()
            await exchange.start(answer.status_code, [*back(answer.headers.raw, changed=False), *own])
            async for data in answer.aiter_raw():
                await exchange.piece(data)
            await exchange.piece(b"", more=False)
        finally:
            await answer.aclose()

    async def _managed(self, exchange: Exchange, provider: str, url: str, raw: bytes, dialect: Dialect) -> None:
        settings, encoding = self.settings, exchange.headers.get("content-encoding", "").strip().lower()
        readable = gate.decoded(raw, encoding, settings.most_body_bytes)
        body = None if readable is None else gate.parse(readable, settings.most_depth, settings.most_messages)
        asked = dialect.read(body) if body is not None else None
        if readable is None or body is None or asked is None:
            exchange.record.past("encoding not known" if readable is None else "not understood")
            await self._pass(exchange, provider, url, raw)
            return
        incoming = self.tenants.incoming(asked, exchange.headers)
        exchange.record.model, exchange.record.tenant = asked.model, incoming.tenant
        await Call(self, exchange, provider, url, raw, readable, body, dialect, incoming).run()


async def _gone(receive: Receive) -> None:
    """Ends when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def make_app(settings: ProxySettings) -> ProxyApp:
    """The proxy as an ASGI application, for any ASGI server. Raises StoreError when the store cannot be opened."""
    return ProxyApp(settings)


def app_in_front_of(upstream: App, *, store: str | Path, **settings: Any) -> ProxyApp:
    """A proxy whose upstream is an ASGI application in this process: for tests."""
    transport = httpx2.ASGITransport(app=cast(Any, upstream))
    base = "http://upstream.invalid"
    made = ProxySettings(openai_upstream=base, anthropic_upstream=base, store=f"sqlite:///{store}")
    return ProxyApp(replace(made, **settings), transports={"openai": transport, "anthropic": transport})
