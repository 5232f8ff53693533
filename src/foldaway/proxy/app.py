"""The proxy as an ASGI application: one request in, one request out, and the answer as it comes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import httpx2

from foldaway.errors import FoldawayError, OverBudget
from foldaway.proxy import gate
from foldaway.proxy.answers import BY_FORMAT
from foldaway.proxy.answers.base import Whole
from foldaway.proxy.dialects import BY_PATH, Dialect
from foldaway.proxy.gate import Refused
from foldaway.proxy.places import Incoming, Places, Unknown
from foldaway.proxy.records import Record, Records
from foldaway.proxy.settings import ProxySettings
from foldaway.proxy.tenants import Tenants
from foldaway.proxy.told import Tail, too_long
from foldaway.proxy.turn import Prepared, Turns, dump
from foldaway.proxy.upstream import Headers, Upstream, back, onward
from foldaway.settings.parts import make_store

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
log = logging.getLogger("foldaway.proxy")


@dataclass(slots=True)
class Exchange:
    """One HTTP request under way."""

    path: str
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
        self.windows: dict[str, int] = {}
        self.places = Places(settings, store, self.windows)
        self.turns = Turns(self.places)
        self.tenants = Tenants(settings, store)
        self.upstream = Upstream(settings, transports)
        self.records = Records()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            # Refused rather than tunnelled: what passes there would not be managed, and nobody would know.
            await receive()
            await send({"type": "websocket.close", "code": 1003, "reason": "this proxy speaks HTTP"})

    async def close(self) -> None:
        """Let go of connections and the store."""
        await self.upstream.close()
        self.store.close()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = list(scope["headers"])
        exchange = Exchange(
            path=scope["path"], query=scope.get("query_string", b"").decode("latin-1"), method=scope["method"],
            raw_headers=raw, headers={k.decode("latin-1").lower(): v.decode("latin-1") for k, v in raw},
            receive=receive, send=send, record=Record(path=scope["path"]),
        )  # fmt: skip
        with self.records.under_way(exchange.record):
            try:
                await self._serve(exchange)
            except Refused as refused:
                await self._fail(exchange, refused.status, str(refused), refused.code)
            except OverBudget as over:
                await self._fail(exchange, 400, str(over), "context_length_exceeded")
            except httpx2.TimeoutException as error:
                await self._fail(
                    exchange, 504, f"the upstream does not answer ({type(error).__name__})", "upstream_timeout"
                )
            except httpx2.TransportError as error:
                await self._fail(
                    exchange, 502, f"the upstream cannot be reached ({type(error).__name__})", "upstream_down"
                )
            except ConnectionError:
                exchange.record.note("the client is gone")

    async def _fail(self, exchange: Exchange, status: int, message: str, code: str) -> None:
        exchange.record.note(message)
        if exchange.started:
            # The status is out: cutting the connection is the only honest end left.
            raise ConnectionAbortedError(message)
        dialect = BY_PATH.get(exchange.path)
        answers = BY_FORMAT[dialect.format if dialect else "openai_chat"]
        content = dump(answers.error(status, f"foldaway: {message}", code))
        await exchange.whole(status, content, extra=[(b"x-foldaway-error", code.encode())])

    async def _serve(self, exchange: Exchange) -> None:
        if exchange.path in ("/health", "/metrics") and exchange.method == "GET":
            kind, content = self.records.page(exchange.path, sessions=len(self.places.shelf))
            await exchange.whole(200, content, kind)
            return
        gate.check_token(self.settings, exchange.headers)
        if self.records.running > self.settings.most_requests:
            raise Refused(503, f"over {self.settings.most_requests} requests under way; try again", "busy")
        provider = self.upstream.provider(exchange.path, exchange.headers)
        url = self.upstream.url(provider, exchange.path, exchange.query)
        if not url:
            raise Refused(
                404,
                f"no {provider} upstream is set for {exchange.path}; start with --{provider}-upstream",
                "no_upstream",
            )
        raw = await gate.read_body(exchange.receive, self.settings.most_body_bytes)
        dialect = BY_PATH.get(exchange.path) if exchange.method == "POST" else None
        off = exchange.headers.get("x-foldaway", "").lower() == "off"
        if dialect is None or off:
            exchange.record.note("off" if off else "")
            await self._pass(exchange, provider, url, raw)
            return
        await self._managed(exchange, provider, url, raw, dialect)

    async def _pass(self, exchange: Exchange, provider: str, url: str, raw: bytes) -> None:
        """There and back, byte for byte."""
        headers = onward(exchange.raw_headers, readable=False)
        answer = await self.upstream.send(provider, exchange.method, url, headers, raw)
        try:
            await exchange.start(answer.status_code, back(answer.headers.raw, changed=False))
            async for data in answer.aiter_raw():
                await exchange.piece(data)
            await exchange.piece(b"", more=False)
        finally:
            await answer.aclose()

    async def _managed(self, exchange: Exchange, provider: str, url: str, raw: bytes, dialect: Dialect) -> None:
        body = gate.parse(raw, self.settings.most_depth)
        asked = dialect.read(body) if body is not None else None
        if body is None or asked is None:
            exchange.record.past("not understood")
            await self._pass(exchange, provider, url, raw)
            return
        incoming = self.tenants.incoming(asked, exchange.headers, marked=b"cache_control" in raw)
        call = _Call(self, exchange, provider, url, raw, body, dialect, incoming)
        await call.run()


class _Call:
    """One managed request: its rounds with the model and its answer."""

    def __init__(
        self, app: ProxyApp, exchange: Exchange, provider: str, url: str, raw: bytes, body: dict[str, Any],
        dialect: Dialect, incoming: Incoming,
    ) -> None:  # fmt: skip
        self.app, self.exchange, self.provider, self.url = app, exchange, provider, url
        self.raw, self.body, self.dialect, self.incoming = raw, body, dialect, incoming
        self.answers = BY_FORMAT[dialect.format]

    async def run(self) -> None:
        prepared = await self._prepare()
        self.exchange.record.took(prepared)
        answer = await self._send(prepared)
        if answer.status_code == 400 and prepared.seat is not None:
            prepared, answer = await self._learn(prepared, answer)
        await self._answer(prepared, answer)

    async def _prepare(self) -> Prepared:
        """What to send; whatever fails, something valid (I9)."""
        step = asyncio.to_thread(self.app.turns.prepare, self.raw, self.body, self.dialect, self.incoming)
        try:
            return await asyncio.wait_for(
                asyncio.shield(asyncio.ensure_future(step)), self.app.settings.time_limit_seconds
            )
        except OverBudget:
            raise
        except Unknown as unknown:
            return Prepared(body=self.raw, changed=False, why=str(unknown))
        except TimeoutError:
            return Prepared(body=self.raw, changed=False, why="deciding took too long")
        except Exception as error:  # the call goes out whatever happens here
            known = isinstance(error, FoldawayError)
            return Prepared(
                body=self.raw, changed=False, why=str(error) if known else f"{type(error).__name__}: {error}"
            )

    async def _send(self, prepared: Prepared) -> httpx2.Response:
        headers = onward(self.exchange.raw_headers, readable=prepared.seat is not None)
        return await self.app.upstream.send(self.provider, "POST", self.url, headers, prepared.body)

    async def _learn(self, prepared: Prepared, answer: httpx2.Response) -> tuple[Prepared, httpx2.Response]:
        """A refusal because of length teaches the window; once, the request goes out smaller."""
        refusal = await answer.aread()
        window = too_long(refusal, prepared.view.tokens if prepared.view else 0)
        if window is None or prepared.seat is None:
            return prepared, answer
        self.app.windows[self.incoming.asked.model] = window
        self.exchange.record.note(f"the upstream takes {window} tokens")
        smaller = await self._prepare()
        if not smaller.changed:
            return prepared, answer
        await answer.aclose()
        self.exchange.record.took(smaller)
        return smaller, await self._send(smaller)

    async def _answer(self, prepared: Prepared, answer: httpx2.Response) -> None:
        kind = answer.headers.get("content-type", "")
        try:
            if answer.status_code != 200 or prepared.seat is None:
                await self._through(prepared, answer)
            elif kind.startswith("text/event-stream"):
                await self._stream(prepared, answer)
            else:
                await self._whole(prepared, answer)
        finally:
            await answer.aclose()

    def _headers(self, prepared: Prepared, answer: httpx2.Response, *, changed: bool) -> Headers:
        extra = [(b"x-foldaway-view", self.exchange.record.view_header())] if prepared.seat is not None else []
        return [*back(answer.headers.raw, changed=changed), *extra]

    async def _through(self, prepared: Prepared, answer: httpx2.Response) -> None:
        """As the provider sent it."""
        read = answer.is_stream_consumed
        await self.exchange.start(answer.status_code, self._headers(prepared, answer, changed=read))
        if read:
            await self.exchange.piece(await answer.aread())
        else:
            async for data in answer.aiter_raw():
                await self.exchange.piece(data)
        await self.exchange.piece(b"", more=False)

    async def _whole(self, prepared: Prepared, answer: httpx2.Response) -> None:
        content = await answer.aread()
        earlier: list[dict[str, Any]] = []
        read = self._read(content, prepared)
        while read is not None and self._goes_on(prepared, read[1], len(earlier)):
            following = await self._again(prepared, read[1])
            if following is None:
                break
            prepared, answer = following
            earlier.append(read[0])
            content = await answer.aread()
            await answer.aclose()
            read = self._read(content, prepared) if answer.status_code == 200 else None
        if read is not None:
            found = read[1]
            if earlier or found.recalls:
                content = dump(self.answers.joined(list(earlier), read[0], prepared.listening))
            await self._after(prepared, found.usage, found.id, list(found.output), found)
        changed = bool(earlier) or (read is not None and bool(read[1].recalls))
        headers = self._headers(prepared, answer, changed=True)
        await self.exchange.start(answer.status_code, [*headers, (b"content-length", str(len(content)).encode())])
        await self.exchange.piece(content, more=False)
        self.exchange.record.rounds, self.exchange.record.rewritten = len(earlier), changed

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
        seat = prepared.seat
        try:
            await asyncio.to_thread(self.app.turns.recall, seat, tuple(found.recalls))
            following = await asyncio.to_thread(
                self.app.turns.look, self.raw, self.body, self.dialect, self.incoming, seat
            )
            answer = await self._send(following)
        except Exception as error:  # the answer so far still reaches the client
            self.exchange.record.note(f"recall failed ({type(error).__name__}: {error})")
            return None
        if answer.status_code != 200:
            self.exchange.record.note(f"recall round refused with {answer.status_code}")
            await answer.aclose()
            return None
        return following, answer

    async def _stream(self, prepared: Prepared, answer: httpx2.Response) -> None:
        await self.exchange.start(200, self._headers(prepared, answer, changed=bool(prepared.listening)))
        if not prepared.listening and self.dialect.format != "openai_responses":
            tail = Tail()
            async for data in answer.aiter_raw():
                tail.feed(data)
                await self.exchange.piece(data)
            await self.exchange.piece(b"", more=False)
            await self._after(prepared, tail.usage(), "", [], None)
            return
        await self._filtered(prepared, answer)

    async def _filtered(self, prepared: Prepared, answer: httpx2.Response) -> None:
        filtered = self.answers.filter(prepared.listening)
        rounds = 0
        try:
            while True:
                async for data in answer.aiter_raw():
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
            await self.exchange.piece(filtered.finish())
            await self.exchange.piece(b"", more=False)
        finally:
            await answer.aclose()
        self.exchange.record.rounds = rounds
        await self._after(prepared, filtered.usage, filtered.id, filtered.output, filtered)

    async def _after(
        self,
        prepared: Prepared,
        usage: Mapping[str, Any] | None,
        answer_id: str,
        output: list[dict[str, Any]],
        found: Any,
    ) -> None:
        """What is learned from an answer. Nothing here may fail the request: it is answered already."""
        seat = prepared.seat
        if seat is None:
            return
        try:
            if found is not None and found.recalls and prepared.listening:
                # Asked for beside other calls: it stands in the next request's view.
                await asyncio.to_thread(self.app.turns.recall, seat, tuple(found.recalls))
            if usage:
                await asyncio.to_thread(self.app.turns.told, seat, usage)
            if answer_id and self.dialect.format == "openai_responses" and self.body.get("store") is not False:
                await asyncio.to_thread(self.app.places.remember, seat, answer_id, output)
        except Exception as error:
            self.exchange.record.note(f"after the answer: {type(error).__name__}: {error}")


def make_app(settings: ProxySettings) -> ProxyApp:
    """The proxy as an ASGI application, for any ASGI server. Raises StoreError when the store cannot be opened."""
    return ProxyApp(settings)


def app_in_front_of(upstream: App, *, store: str | Path, **settings: Any) -> ProxyApp:
    """A proxy whose upstream is an ASGI application in this process: for tests."""
    transport = httpx2.ASGITransport(app=cast(Any, upstream))
    base = "http://upstream.invalid"
    made = ProxySettings(openai_upstream=base, anthropic_upstream=base, store=f"sqlite:///{store}")
    return ProxyApp(replace(made, **settings), transports={"openai": transport, "anthropic": transport})
