"""One managed request: what is sent for it, its rounds with the model, and the answer that the client gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import httpx2

from foldaway.errors import OverBudget
from foldaway.proxy.answers import BY_FORMAT, Listening
from foldaway.proxy.answers.base import Whole, event_of
from foldaway.proxy.dialects import Dialect
from foldaway.proxy.exchange import Exchange
from foldaway.proxy.fallback import reason
from foldaway.proxy.gate import Refused
from foldaway.proxy.jsons import dumps
from foldaway.proxy.places import Incoming, Unknown
from foldaway.proxy.told import MAY_TELL, Refusal, Tail, refusal_of
from foldaway.proxy.turn import Prepared
from foldaway.proxy.upstream import Headers, back, onward, plain, raw_body, sent_again

if TYPE_CHECKING:
    from foldaway.proxy.app import ProxyApp


class RoundRefused(Exception):
    """The upstream refused a round in which the model was to get what it recalled."""

    def __init__(self, answer: httpx2.Response, content: bytes) -> None:
        super().__init__(f"the upstream answered {answer.status_code}")
        self.answer, self.content = answer, content


class Call:
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
        self._sent = 0
        self._brought = set[str]()
        """What came back in the rounds so far."""

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
        if self._sent:
            headers = sent_again(headers, self._sent)
        self._sent += 1
        self.record.goes_up()
        if prepared.seat is not None:
            self.app.save_later(prepared.seat)
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
        self.app.share_limit(self.incoming.tenant, self.incoming.asked.model)
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
        # Offered recall no more, a model may ask all the same: that, too, is nothing for the client.
        first, listening = answer, prepared.listening
        earlier: list[dict[str, Any]] = []
        read = self._read(plain(answer, content), listening)
        while read is not None and self._goes_on(prepared, read[1], len(earlier)):
            try:
                following = await self._again(prepared, read[1], last=len(earlier) == self.app.settings.recall_rounds)
            except RoundRefused as refused:
                # Nothing is out yet: the client gets what the provider says, and may try again.
                await self._through(refused.answer, refused.content)
                return
            if following is None:
                break
            earlier.append(read[0])
            prepared, answer = following
            try:
                content = await raw_body(answer)
            finally:
                await answer.aclose()
            read = self._read(plain(answer, content), listening)
        rewritten = bool(earlier)
        if read is not None:
            found = read[1]
            if earlier or found.recalls:
                content, rewritten = dumps(self.answers.joined(list(earlier), read[0], listening)), True
            await self._after(prepared, found.usage, found.id, list(found.output), found)
        self.record.rounds, self.record.rewritten = len(earlier), rewritten
        headers = self._headers(first, changed=True) if rewritten else self._headers(answer, changed=False)
        if rewritten:
            headers.append((b"content-length", str(len(content)).encode()))
        await self.exchange.start(answer.status_code, headers)
        await self.exchange.piece(content, more=False)

    def _read(self, content: bytes, listening: Listening) -> tuple[dict[str, Any], Whole] | None:
        try:
            answer = json.loads(content)
            return (answer, self.answers.read(answer, listening)) if isinstance(answer, dict) else None
        except (ValueError, RecursionError):
            return None

    def _goes_on(self, prepared: Prepared, found: Whole, rounds: int) -> bool:
        return (
            bool(prepared.listening)
            and bool(found.recalls)
            and not found.others
            and 0 < self.app.settings.recall_rounds >= rounds
        )

    async def _again(self, prepared: Prepared, found: Any, *, last: bool) -> tuple[Prepared, httpx2.Response] | None:
        """Serve what the model asked for and ask it again; None when that cannot be.

        `last`: so many rounds were made that recall is offered no more; nor is it to a model that asks for nothing but
        what it just got, as small ones do. Raises RoundRefused or httpx2.TransportError when the upstream gives no
        answer: what was said so far is no answer either.
        """
        assert prepared.seat is not None
        app, seat, limit = self.app, prepared.seat, self.app.settings.time_limit_seconds
        self.record.recalls += len(found.recalls)
        try:
            brought = await app.within(limit, app.threads, app.turns.recall, seat, tuple(found.recalls))
            offer = not last and not self._brought.issuperset(brought)
            self._brought.update(brought)
            following = await app.within(
                limit, app.threads, app.turns.look, self.raw, self.body, self.dialect, self.incoming, seat, offer
            )
        except Exception as error:  # the answer so far still reaches the client
            self.record.note(f"recall failed: {reason(error)}")
            return None
        answer = await self._send(following)
        if answer.status_code != 200:
            self.record.note(f"recall round refused with {answer.status_code}")
            try:
                content = await raw_body(answer)
            finally:
                await answer.aclose()
            raise RoundRefused(answer, content)
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
                if not (prepared.listening and asks and 0 < self.app.settings.recall_rounds >= rounds):
                    break
                last = rounds == self.app.settings.recall_rounds
                try:
                    following = await self._again(prepared, filtered, last=last)
                except (RoundRefused, httpx2.TransportError) as failed:
                    await self._broken(failed)
                    return
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

    async def _broken(self, failed: Exception) -> None:
        """The status is out: an error event says what the client would have got as an error."""
        status, content = 502, b""
        if isinstance(failed, RoundRefused):
            status, content = failed.answer.status_code, plain(failed.answer, failed.content)
        told = self.answers.error(
            status, f"foldaway: the upstream failed in a recall round ({status})", "upstream_error"
        )
        try:
            said = json.loads(content)
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict) and "error" in said:
            told = said
        if self.dialect.format == "openai_responses":
            error = told.get("error")
            told = {"type": "error", "param": None, "code": None, **(error if isinstance(error, dict) else {})} | {
                "type": "error"
            }
        self.record.note(f"recall round failed: {reason(failed)}")
        await self.exchange.piece(event_of(told, named=self.dialect.format != "openai_chat"))
        await self.exchange.piece(b"", more=False)

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
        seat, app = prepared.seat, self.app
        if seat is None:
            return
        recalls = tuple(found.recalls) if found is not None and prepared.listening else ()
        # Asked for beside other calls: it stands in the next request's view.
        self.record.recalls += len(recalls)
        kept = answer_id if self.dialect.format == "openai_responses" and self.body.get("store") is not False else ""
        if usage and not (recalls or kept):
            # No step of its own: the session hears of it first of all with the next request.
            seat.desk.told.append(usage)
        if not (recalls or kept):
            return
        try:
            await app.within(
                app.settings.time_limit_seconds, app.threads, app.turns.learn, seat, recalls, usage, kept, output
            )
        except Exception as error:
            self.record.note(f"after the answer: {reason(error)}")
