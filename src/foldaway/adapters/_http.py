"""The official clients of OpenAI and Anthropic: a transport between a client and the HTTP client it has.

All ways to call (create, parse, stream, raw responses; sync and async) end in one HTTP request, so there is one seam.
Recalls are answered in here, by the same readers of answers that the proxy has: the program sees one answer.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from foldaway.adapters._base import RECALL, Folded, Folding
from foldaway.errors import OverBudget, RecallError
from foldaway.model.jsonlike import dumps
from foldaway.model.wire import Message, Quirks
from foldaway.proxy.answers import BY_FORMAT, Answers, Listening, Recall
from foldaway.proxy.dialects import BY_PATH, Asked, Dialect
from foldaway.session import Session

SESSION_HEADER = "x-foldaway-session"
"""Names the conversation of one call (`extra_headers=`); it is taken off before the request goes out."""
ROUNDS = 4
"""How often a model may recall within one call."""
PAYLOAD_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})
KEPT_BY_PROVIDER = (
    "this conversation is kept by the provider (previous_response_id or conversation): Foldaway does not see it whole "
    "and lets it pass; send the history in input to have it managed"
)


@dataclass(frozen=True, slots=True)
class Wire:
    """The codec of a client that speaks the wire format itself."""

    format: str

    def to_wire(self, message: Message) -> list[Message]:
        return [message]

    def from_wire(self, messages: Sequence[Message], like: Message | None) -> list[Message]:
        return list(messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One request to the model, as it goes out."""

    content: bytes
    folded: Folded[Message]
    listening: Listening
    dialect: Dialect
    asked: Asked
    body: Mapping[str, Any]
    key: str | None
    folding: Folding[Message]

    @property
    def answers(self) -> Answers:
        return BY_FORMAT[self.dialect.format]

    @property
    def streamed(self) -> bool:
        return self.asked.stream

    def bring(self, recalls: Sequence[Recall]) -> None:
        """What the model asked for stands at the end of its next view."""
        for recall in recalls:
            self.folding.bring(self.folded, recall.ids, recall.find or None)

    def again(self, recalls: Sequence[Recall]) -> Round:
        """The same request with what was asked for."""
        self.bring(recalls)
        return made(self)

    def report(self, usage: Mapping[str, Any] | None) -> None:
        self.folding.report(self.folded, usage)


class Managing:
    """What one wrapped client needs to decide. No I/O but the store's. Safe from several threads."""

    def __init__(self, *, key: str | None, recall: str, quirks: Quirks | None, settings: Mapping[str, Any]) -> None:
        self._key, self._recall, self._quirks, self._settings = key, recall, quirks, dict(settings)
        self._foldings: dict[tuple[str, bool, str], Folding[Message]] = {}
        self._lock = threading.Lock()
        # Settings that no session takes are told of now, not at the first call.
        self._folding("openai_chat", False, recall)

    def plan(self, path: str, key: str | None, content: bytes) -> Round | None:
        """What to send for a request; None where it holds no history that is ours to manage.

        Raises OverBudget and SettingsError; whatever else goes wrong, the request goes out as it came.
        """
        dialect = next((d for p, d in BY_PATH.items() if path.endswith(p.removeprefix("/v1"))), None)
        try:
            body = json.loads(content) if dialect is not None else None
        except ValueError:
            return None
        if dialect is None or not isinstance(body, dict):
            return None
        asked = dialect.read(body)
        recall = "directive" if asked is not None and RECALL in asked.tool_names else self._recall
        thinking = asked is not None and asked.quirks.thinking
        folding = self._folding(dialect.format, thinking, recall if self._recall == "tool" else self._recall)
        if asked is None or asked.previous:
            if asked is not None or body.get("conversation"):
                folding.warn(KEPT_BY_PROVIDER)
            return None
        for manager in managers(body):
            folding.warn(f"{manager} and Foldaway are both at work on this history: take one of the two out")
        nothing = Folded(messages=asked.messages, changed=False)
        first = Round(
            content=content, folded=nothing, listening=Listening(), dialect=dialect, asked=asked, body=body,
            key=key or self._key, folding=folding,
        )  # fmt: skip
        return made(first)

    def session(self, key: str | None) -> Session:
        """Raises RecallError where no conversation, or more than one, answers to the key."""
        found = [session for folding in list(self._foldings.values()) for session in folding.sessions(key)]
        if len(found) != 1:
            raise RecallError(
                f"{len(found)} conversations answer to {key!r}; name one with the header {SESSION_HEADER}"
            )
        return found[0]

    def _folding(self, format: str, thinking: bool, recall: str) -> Folding[Message]:
        place = (format, thinking, recall)
        with self._lock:
            if place not in self._foldings:
                quirks = replace(self._quirks or Quirks(), thinking=True) if thinking else self._quirks
                self._foldings[place] = Folding(Wire(format), recall=recall, quirks=quirks, **self._settings)
            return self._foldings[place]


def made(before: Round) -> Round:
    """The request with the view of its session as it is now."""
    asked, folding = before.asked, before.folding
    folded = folding.fold(
        asked.messages, key=before.key, system=asked.system, tools=asked.tools, model=asked.model,
        max_output_tokens=asked.max_output_tokens,
    )  # fmt: skip
    folds = folded.view is not None and folded.desk is not None and folded.desk.session.folds
    listening = Listening(
        tool=RECALL if folded.recallable else "", directives=folds and folding.recall_by == "directive"
    )
    if folded.view is None or not (folded.changed or folded.recallable):
        return replace(before, folded=folded, listening=Listening())
    body = before.dialect.write(before.body, folded.view, folded.view.tools if folded.recallable else None)
    return replace(before, content=dumps(body).encode(), folded=folded, listening=listening)


def managers(body: Mapping[str, Any]) -> Iterator[str]:
    """What else would manage this history, as far as the request says."""
    if body.get("context_management"):
        yield "the provider's own context management (context_management)"
    if body.get("truncation") == "auto":
        yield "the provider's own truncation (truncation='auto')"


@dataclass(slots=True)
class Whole:
    """An answer in one piece, over one or several rounds."""

    earlier: list[dict[str, Any]]
    content: bytes

    def read(self, round: Round) -> tuple[Recall, ...]:
        """What it asks for; () where this is the answer to give (then `content` is it)."""
        try:
            answer = json.loads(self.content)
        except ValueError:
            return ()
        if not isinstance(answer, dict):
            return ()
        found = round.answers.read(answer, round.listening)
        round.report(found.usage)
        if found.recalls and not found.others and len(self.earlier) < ROUNDS:
            self.earlier.append(answer)
            return found.recalls
        if found.recalls or self.earlier:
            # Asked for beside calls of the program's own: it stands in the next request's view.
            round.bring(found.recalls)
            self.content = dumps(round.answers.joined(self.earlier, answer, round.listening)).encode()
        return ()


class Transport(httpx2.BaseTransport):
    """Between a sync client and the HTTP client it had before."""

    def __init__(self, inner: httpx2.Client, managing: Managing) -> None:
        self._inner, self._managing = inner, managing

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        content = request.read()
        key = request.headers.pop(SESSION_HEADER, None)
        try:
            round = self._managing.plan(request.url.path, key, content)
        except OverBudget as over:
            return _refused(request, over)
        if round is None:
            return self._inner.send(request, stream=True)
        answer = self._inner.send(_onward(request, round.content), stream=True)
        if answer.status_code != 200:
            return answer
        if _is_stream(answer):
            return _following(answer, self._streamed(request, round, answer)) if round.listening else answer
        whole = Whole([], answer.read())
        while recalls := whole.read(round):
            round = round.again(recalls)
            following = self._inner.send(_onward(request, round.content))
            if following.status_code != 200:
                return following
            whole.content = following.content
        return _following(answer, whole.content)

    def close(self) -> None:
        self._inner.close()

    def _streamed(self, request: httpx2.Request, round: Round, answer: httpx2.Response) -> Iterator[bytes]:
        gate = round.answers.filter(round.listening)
        rounds = 0
        try:
            while True:
                for data in answer.iter_bytes():
                    yield gate.feed(data)
                if not gate.recalls or gate.others or gate.broken or rounds == ROUNDS:
                    break
                round, rounds = round.again(gate.recalls), rounds + 1
                following = self._inner.send(_onward(request, round.content), stream=True)
                answer.close()
                answer = following
                if answer.status_code != 200:
                    break
                yield gate.again()
            _after(round, gate)
            yield gate.finish()
        finally:
            answer.close()


class ManagedClient(httpx2.Client):
    """The HTTP client of a wrapped client; the one it had before stands behind it."""

    def __init__(self, inner: httpx2.Client, managing: Managing) -> None:
        super().__init__(transport=Transport(inner, managing), timeout=inner.timeout, base_url=inner.base_url)
        self.managing = managing


class AsyncTransport(httpx2.AsyncBaseTransport):
    """The same for an async client; what is decided is decided in a thread."""

    def __init__(self, inner: httpx2.AsyncClient, managing: Managing) -> None:
        self._inner, self._managing = inner, managing

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content = await request.aread()
        key = request.headers.pop(SESSION_HEADER, None)
        try:
            round = await asyncio.to_thread(self._managing.plan, request.url.path, key, content)
        except OverBudget as over:
            return _refused(request, over)
        if round is None:
            return await self._inner.send(request, stream=True)
        answer = await self._inner.send(_onward(request, round.content), stream=True)
        if answer.status_code != 200:
            return answer
        if _is_stream(answer):
            return _following(answer, self._streamed(request, round, answer)) if round.listening else answer
        whole = Whole([], await answer.aread())
        while recalls := await asyncio.to_thread(whole.read, round):
            round = await asyncio.to_thread(round.again, recalls)
            following = await self._inner.send(_onward(request, round.content))
            if following.status_code != 200:
                return following
            whole.content = following.content
        return _following(answer, whole.content)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _streamed(self, request: httpx2.Request, round: Round, answer: httpx2.Response) -> AsyncIterator[bytes]:
        gate = round.answers.filter(round.listening)
        rounds = 0
        try:
            while True:
                async for data in answer.aiter_bytes():
                    yield gate.feed(data)
                if not gate.recalls or gate.others or gate.broken or rounds == ROUNDS:
                    break
                round, rounds = await asyncio.to_thread(round.again, gate.recalls), rounds + 1
                following = await self._inner.send(_onward(request, round.content), stream=True)
                await answer.aclose()
                answer = following
                if answer.status_code != 200:
                    break
                yield gate.again()
            await asyncio.to_thread(_after, round, gate)
            yield gate.finish()
        finally:
            await answer.aclose()


class AsyncManagedClient(httpx2.AsyncClient):
    """The same for an async client."""

    def __init__(self, inner: httpx2.AsyncClient, managing: Managing) -> None:
        super().__init__(transport=AsyncTransport(inner, managing), timeout=inner.timeout, base_url=inner.base_url)
        self.managing = managing


def _after(round: Round, gate: Any) -> None:
    """At the end of a stream: what was asked for beside other calls, and the count."""
    if gate.recalls:
        round.bring(gate.recalls)
    round.report(gate.usage)


def _onward(request: httpx2.Request, content: bytes) -> httpx2.Request:
    """The request with another body; the very same where the body is the same."""
    if content == request.content:
        return request
    headers = [(k, v) for k, v in request.headers.multi_items() if k.lower() not in PAYLOAD_HEADERS]
    return httpx2.Request(
        request.method, request.url, headers=headers, content=content, extensions=dict(request.extensions)
    )


def _following(answer: httpx2.Response, content: Any) -> httpx2.Response:
    """An answer with another body, already decoded."""
    headers = [(k, v) for k, v in answer.headers.multi_items() if k.lower() not in PAYLOAD_HEADERS]
    return httpx2.Response(answer.status_code, headers=headers, content=content, extensions=dict(answer.extensions))


def _refused(request: httpx2.Request, over: OverBudget) -> httpx2.Response:
    """As a provider says it, so that the client raises what its users catch."""
    dialect = next(d for p, d in BY_PATH.items() if request.url.path.endswith(p.removeprefix("/v1")))
    error = BY_FORMAT[dialect.format].error(400, f"foldaway: {over}", "context_length_exceeded")
    return httpx2.Response(400, json=error, headers={"x-should-retry": "false"})


def _is_stream(answer: httpx2.Response) -> bool:
    return answer.headers.get("content-type", "").startswith("text/event-stream")
