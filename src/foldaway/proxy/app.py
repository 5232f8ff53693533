"""The proxy as an ASGI application: one request in, one request out, and the answer as it comes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import httpx2

from foldaway.errors import OverBudget
from foldaway.proxy import gate
from foldaway.proxy.answers import BY_FORMAT
from foldaway.proxy.answers.base import Whole
from foldaway.proxy.dialects import BY_PATH, Dialect
from foldaway.proxy.fallback import Fallback, reason
from foldaway.proxy.gate import Refused
from foldaway.proxy.health import ready
from foldaway.proxy.learned import Learned
from foldaway.proxy.metrics import CONTENT_TYPE
from foldaway.proxy.places import Incoming, Places, Unknown
from foldaway.proxy.records import GONE, Record, Records
from foldaway.proxy.settings import ProxySettings
from foldaway.proxy.tenants import Tenants
from foldaway.proxy.told import MAY_TELL, Refusal, Tail, refusal_of
from foldaway.proxy.turn import Prepared, Turns, dump, warm_up
from foldaway.proxy.upstream import Headers, Upstream, back, onward, plain, raw_body
from foldaway.settings.parts import make_store

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
T = TypeVar("T")
log = logging.getLogger("foldaway.proxy")
MOST_THREADS = 32
"""Deciding at once. Waiting for a session's lock takes one too, for the time limit at most."""
SPARE_THREADS = 4
"""For the fallback alone: what made the others stuck must not stop it."""


@dataclass(slots=True)
class Exchange:
    """One HTTP request under way."""

    path: str
    """Without a token in front of it."""
    raw_path: str
    """As it was sent, percent signs and all."""
    token: str
    """The one that stood in front of the path."""
    query: str
    method: str
    raw_headers: Headers
    headers: Mapping[str, str]
    receive: Receive
    send: Send
    record: Record
    started: bool = False
    """The answer's status is out: errors can no longer be said."""

    async def start(self, status: int, headers: Headers) -> None:
        self.started = True
        self.record.status = status
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def piece(self, data: bytes, *, more: bool = True) -> None:
        if data or not more:
            await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def whole(self, status: int, content: bytes, kind: bytes = b"application/json", extra: Headers = []) -> None:  # noqa: B006
        headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode()), *extra]
        await self.start(status, headers)
        await self.piece(content, more=False)


class ProxyApp:
    """An ASGI application. `make_app` makes one."""

    def __init__(
        self, settings: ProxySettings, *, transports: Mapping[str, httpx2.AsyncBaseTransport] | None = None
    ) -> None:
        self.settings = settings
        store = make_store(settings.store)
        assert store is not None
        self.store = store
        self.learned = Learned()
        self.places = Places(settings, store, self.learned)
        self.turns = Turns(self.places)
        self.fallback = Fallback(self.places)
        self.threads = ThreadPoolExecutor(MOST_THREADS, "foldaway-proxy")
        self.spare = ThreadPoolExecutor(SPARE_THREADS, "foldaway-spare")
        self.tenants = Tenants(settings, store)
        self.upstream = Upstream(settings, transports)
        self.records = Records()

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
        for threads in (self.threads, self.spare):
            threads.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    async def within(self, limit_seconds: float, threads: Executor, step: Callable[..., T], *arguments: Any) -> T:
        """Do a step in a thread. Raises TimeoutError after the limit; the step then ends by itself, unheard."""
        doing = asyncio.get_running_loop().run_in_executor(threads, step, *arguments)
        # One that nobody waits for any more must not be reported as an error nobody looked at.
        doing.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
        return await asyncio.wait_for(asyncio.shield(doing), limit_seconds)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                await asyncio.to_thread(warm_up)
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = list(scope["headers"])
        token, path = gate.split_token(scope["path"])
        sent_path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        exchange = Exchange(
            path=path, raw_path=gate.split_token(sent_path)[1], token=token,
            query=scope.get("query_string", b"").decode("latin-1"), method=scope["method"], raw_headers=raw,
            headers={k.decode("latin-1").lower(): v.decode("latin-1") for k, v in raw}, receive=receive, send=send,
            record=Record(path=path, method=scope["method"]),
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
        except ConnectionError:
            exchange.record.status = exchange.record.status or GONE
            exchange.record.note("client gone")

    async def _fail(self, exchange: Exchange, status: int, message: str, code: str) -> None:
        exchange.record.note(code)
        if exchange.record.outcome != "refused":
            exchange.record.outcome = "failed"
        if exchange.started:
            # The status is out: cutting the connection is the only honest end left.
            raise ConnectionAbortedError(message)
        dialect = BY_PATH.get(exchange.path)
        answers = BY_FORMAT[dialect.format if dialect else "openai_chat"]
        content = dump(answers.error(status, f"foldaway: {message}", code))
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
        provider = self.upstream.provider(exchange.path, exchange.headers)
        url = self.upstream.url(provider, exchange.raw_path, exchange.query)
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
        working = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(_gone(exchange.receive))
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise ConnectionError("the client is gone")
        finally:
            for task in (working, leaving):
                task.cancel()
            await asyncio.gather(working, leaving, return_exceptions=True)

    async def _answer(self, exchange: Exchange, provider: str, url: str, raw: bytes) -> None:
        dialect = BY_PATH.get(exchange.path) if exchange.method == "POST" else None
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
        incoming = self.tenants.incoming(asked, exchange.headers, marked=b"cache_control" in readable)
        exchange.record.model, exchange.record.tenant = asked.model, incoming.tenant
        await _Call(self, exchange, provider, url, raw, readable, body, dialect, incoming).run()


async def _gone(receive: Receive) -> None:
    """Ends when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _Call:
    """One managed request: its rounds with the model and its answer."""

    def __init__(
        self, app: ProxyApp, exchange: Exchange, provider: str, url: str, wire: bytes, raw: bytes,
        body: dict[str, Any], dialect: Dialect, incoming: Incoming,
    ) -> None:  # fmt: skip
        self.app, self.exchange, self.provider, self.url = app, exchange, provider, url
        self.raw, self.body, self.dialect, self.incoming = raw, body, dialect, incoming
        self.wire = wire
        """The very bytes that came; `raw` is what they say, decoded."""
        self.answers = BY_FORMAT[dialect.format]
        self.record = exchange.record

    async def run(self) -> None:
        prepared = await self._prepare()
        answer = await self._send(prepared)
        try:
            content = await self._early(prepared, answer)
            refusal = refusal_of(answer.status_code, plain(answer, content)) if content is not None else None
            if refusal is not None:
                again = await self._smaller(prepared, refusal)
                if again is not None:
                    await answer.aclose()
                    prepared, answer = again
                    content = await self._early(prepared, answer)
            await self._answer(prepared, answer, content)
        finally:
            await answer.aclose()

    async def _prepare(self) -> Prepared:
        """What to send; whatever fails, something valid (I9)."""
        started = perf_counter()
        prepared = await self._decide()
        self.record.decided_seconds = (self.record.decided_seconds or 0.0) + perf_counter() - started
        self.record.took(prepared)
        return prepared

    async def _decide(self) -> Prepared:
        app, given = self.app, (self.raw, self.body, self.dialect, self.incoming)
        limit = app.settings.time_limit_seconds
        try:
            return await app.within(limit, app.threads, app.turns.prepare, *given)
        except OverBudget:
            raise
        except Unknown:
            return Prepared(body=self.raw, changed=False, why="response id not known")
        except Exception as error:  # the call goes out whatever happens here
            why = reason(error)
        try:
            return await app.within(limit, app.spare, app.fallback.safest, *given, why)
        except OverBudget:
            raise
        except Exception:
            return app.fallback.as_it_came(self.raw, self.incoming, why)

    async def _send(self, prepared: Prepared) -> httpx2.Response:
        headers = onward(self.exchange.raw_headers, readable=prepared.seat is not None, rewritten=prepared.changed)
        self.record.goes_up()
        body = prepared.body if prepared.changed else self.wire
        return await self.app.upstream.send(self.provider, "POST", self.url, headers, body)

    async def _early(self, prepared: Prepared, answer: httpx2.Response) -> bytes | None:
        """The raw body where it must be known before the answer can begin; None where it goes on as it comes."""
        status = answer.status_code
        if status == 200:
            streamed = answer.headers.get("content-type", "").startswith("text/event-stream")
            return None if streamed or prepared.seat is None else await raw_body(answer)
        return await raw_body(answer) if status in MAY_TELL else None

    async def _smaller(self, prepared: Prepared, refusal: Refusal) -> tuple[Prepared, httpx2.Response] | None:
        """A refusal because of length teaches the limit; once, the request goes out smaller. None: that cannot be."""
        if not self._learn(prepared, refusal):
            return None
        try:
            smaller = await self._prepare()
        except (OverBudget, Refused):
            # The provider's own words say it better.
            self.record.took(prepared)
            return None
        if not smaller.changed or len(smaller.body) >= len(prepared.body):
            self.record.took(prepared)
            return None
        self.record.retried = True
        return smaller, await self._send(smaller)

    def _learn(self, prepared: Prepared, refusal: Refusal) -> bool:
        sent = prepared.view.tokens if prepared.view else 0
        output = self.incoming.asked.max_output_tokens or 0
        room = 0 if refusal.by_bytes else refusal.room(sent, output)
        if not refusal.by_bytes and room <= 0:
            return False
        self.app.learned.learn(
            self.incoming.tenant, self.incoming.asked.model, window=room + output if room else None,
            body_bytes=int(len(prepared.body) * 0.8) if refusal.by_bytes else None,
        )  # fmt: skip
        self.record.note(f"limit learned: {f'{room} tokens' if room else 'bytes'}")
        return True

    async def _answer(self, prepared: Prepared, answer: httpx2.Response, content: bytes | None) -> None:
        if answer.status_code != 200 or prepared.seat is None:
            await self._through(answer, content)
        elif content is not None:
            await self._whole(prepared, answer, content)
        else:
            await self._stream(prepared, answer)

    def _headers(self, answer: httpx2.Response, *, changed: bool) -> Headers:
        return [*back(answer.headers.raw, changed=changed), *self.record.headers()]

    async def _through(self, answer: httpx2.Response, content: bytes | None) -> None:
        """As the provider sent it."""
        await self.exchange.start(answer.status_code, self._headers(answer, changed=False))
        if content is None:
            async for data in answer.aiter_raw():
                await self.exchange.piece(data)
        else:
            await self.exchange.piece(content)
        await self.exchange.piece(b"", more=False)

    async def _whole(self, prepared: Prepared, answer: httpx2.Response, content: bytes) -> None:
        first = answer
        earlier: list[dict[str, Any]] = []
        read = self._read(plain(answer, content), prepared)
        while read is not None and self._goes_on(prepared, read[1], len(earlier)):
            following = await self._again(prepared, read[1])
            if following is None:
                break
            earlier.append(read[0])
            prepared, answer = following
            try:
                content = await raw_body(answer)
            finally:
                await answer.aclose()
            read = self._read(plain(answer, content), prepared)
        rewritten = bool(earlier)
        if read is not None:
            found = read[1]
            if earlier or found.recalls:
                content, rewritten = dump(self.answers.joined(list(earlier), read[0], prepared.listening)), True
            await self._after(prepared, found.usage, found.id, list(found.output), found)
        self.record.rounds, self.record.rewritten = len(earlier), rewritten
        headers = self._headers(first, changed=True) if rewritten else self._headers(answer, changed=False)
        if rewritten:
            headers.append((b"content-length", str(len(content)).encode()))
        await self.exchange.start(answer.status_code, headers)
        await self.exchange.piece(content, more=False)

    def _read(self, content: bytes, prepared: Prepared) -> tuple[dict[str, Any], Whole] | None:
        try:
            answer = json.loads(content)
            return (answer, self.answers.read(answer, prepared.listening)) if isinstance(answer, dict) else None
        except (ValueError, RecursionError):
            return None

    def _goes_on(self, prepared: Prepared, found: Whole, rounds: int) -> bool:
        return (
            bool(prepared.listening)
            and bool(found.recalls)
            and not found.others
            and rounds < self.app.settings.recall_rounds
        )

    async def _again(self, prepared: Prepared, found: Any) -> tuple[Prepared, httpx2.Response] | None:
        """Serve what the model asked for and ask it again; None when that cannot be."""
        assert prepared.seat is not None
        app, seat, limit = self.app, prepared.seat, self.app.settings.time_limit_seconds
        self.record.recalls += len(found.recalls)
        try:
            await app.within(limit, app.threads, app.turns.recall, seat, tuple(found.recalls))
            following = await app.within(
                limit, app.threads, app.turns.look, self.raw, self.body, self.dialect, self.incoming, seat
            )
            answer = await self._send(following)
        except Exception as error:  # the answer so far still reaches the client
            self.record.note(f"recall failed: {reason(error)}")
            return None
        if answer.status_code != 200:
            self.record.note(f"recall round refused with {answer.status_code}")
            await answer.aclose()
            return None
        return following, answer

    async def _stream(self, prepared: Prepared, answer: httpx2.Response) -> None:
        looked_at = bool(prepared.listening) or self.dialect.format == "openai_responses"
        encoded = answer.headers.get("content-encoding", "identity").lower() != "identity"
        changed = bool(prepared.listening) or (looked_at and encoded)
        await self.exchange.start(200, self._headers(answer, changed=changed))
        tail = Tail()
        if looked_at:
            await self._filtered(prepared, answer, tail)
            return
        async for data in answer.aiter_raw():
            tail.feed(data)
            await self.exchange.piece(data)
        self._learn_late(prepared, tail)
        await self._after(prepared, tail.usage(), "", [], None)
        await self.exchange.piece(b"", more=False)

    async def _filtered(self, prepared: Prepared, answer: httpx2.Response, tail: Tail) -> None:
        filtered = self.answers.filter(prepared.listening)
        rounds = 0
        try:
            while True:
                # Decoded: asked for plain, an upstream may still compress.
                async for data in answer.aiter_bytes():
                    tail.feed(data)
                    await self.exchange.piece(filtered.feed(data))
                asks = bool(filtered.recalls) and not filtered.others and not filtered.broken
                if not (prepared.listening and asks and rounds < self.app.settings.recall_rounds):
                    break
                following = await self._again(prepared, filtered)
                if following is None:
                    break
                await answer.aclose()
                prepared, answer = following
                rounds += 1
                await self.exchange.piece(filtered.again())
            self.record.rounds = rounds
            rest = filtered.finish()
            self._learn_late(prepared, tail)
            # Before the last bytes: the client's next request may follow on them at once.
            await self._after(prepared, filtered.usage, filtered.id, filtered.output, filtered)
            await self.exchange.piece(rest)
            await self.exchange.piece(b"", more=False)
        finally:
            await answer.aclose()

    def _learn_late(self, prepared: Prepared, tail: Tail) -> None:
        """A refusal inside a stream has reached the client; the next request is the smaller for it."""
        refusal = tail.refusal()
        if refusal is not None:
            self._learn(prepared, refusal)

    async def _after(
        self,
        prepared: Prepared,
        usage: Mapping[str, Any] | None,
        answer_id: str,
        output: list[dict[str, Any]],
        found: Any,
    ) -> None:
        """What is learned from an answer. Nothing here may fail the request: it is answered already."""
        seat, app, limit = prepared.seat, self.app, self.app.settings.time_limit_seconds
        if seat is None:
            return
        try:
            if found is not None and found.recalls and prepared.listening:
                # Asked for beside other calls: it stands in the next request's view.
                self.record.recalls += len(found.recalls)
                await app.within(limit, app.threads, app.turns.recall, seat, tuple(found.recalls))
            if usage:
                await app.within(limit, app.threads, app.turns.told, seat, usage)
            if answer_id and self.dialect.format == "openai_responses" and self.body.get("store") is not False:
                await app.within(limit, app.threads, app.places.remember, seat, answer_id, output)
        except Exception as error:
            self.record.note(f"after the answer: {reason(error)}")


def make_app(settings: ProxySettings) -> ProxyApp:
    """The proxy as an ASGI application, for any ASGI server. Raises StoreError when the store cannot be opened."""
    return ProxyApp(settings)


def app_in_front_of(upstream: App, *, store: str | Path, **settings: Any) -> ProxyApp:
    """A proxy whose upstream is an ASGI application in this process: for tests."""
    transport = httpx2.ASGITransport(app=cast(Any, upstream))
    base = "http://upstream.invalid"
    made = ProxySettings(openai_upstream=base, anthropic_upstream=base, store=f"sqlite:///{store}")
    return ProxyApp(replace(made, **settings), transports={"openai": transport, "anthropic": transport})
