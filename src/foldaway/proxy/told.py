"""What providers tell: usage at the end of a stream, and the real window in a refusal."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

HEAD_BYTES = 16_384
TAIL_BYTES = 65_536
MAY_TELL = frozenset({200, 400, 413, 422, 500})
"""Statuses that refusals for length come with: llama.cpp says 500 or 400 (ggml-org/llama.cpp#15780), Anthropic 413 for
too many bytes (anthropics/claude-code#14567), and gateways an error in an answer of 200 (Aider-AI/aider#3721)."""

# Wordings as users reported them; the number of an issue is where one stands.
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length"  # OpenAI, vLLM, DeepSeek: vllm-project/vllm#20409
    r"|exceeds? the context window"  # OpenAI Responses: dyad-sh/dyad#1672
    r"|prompt is too long|exceed context limit"  # Anthropic: anthropics/claude-code#408
    r"|exceeds model context window"  # Anthropic, with 413: anthropics/claude-code#6380
    r"|exceed_context_size|exceeds the available context size"  # llama.cpp: ggml-org/llama.cpp#15780
    r"|exceed context window of"  # llama-cpp-python: rllm-team/rllm#55
    r"|max_tokens must be at least 1, got -"  # vLLM, where the prompt alone is too long: vllm-project/vllm#4667
    r"|context length of only"  # LM Studio: lmstudio-ai/lmstudio-bug-tracker#546
    r"|maximum prompt length is|input token count.{0,40}exceeds the maximum"  # xAI, Google
    r"|input is too long for requested model|exceeded model token limit",  # Bedrock, Moonshot
    re.I | re.S,
)
_TOO_LARGE = re.compile(
    r"request_too_large|exceeds the maximum size|(?:entity|payload|request|body).{0,20}too large", re.I
)
_RATE = re.compile(r"per (?:minute|day|hour)|rate.?limit|\bTPM\b", re.I)
"""A limit on tokens in a time also says "too large" somewhere: a smaller request is not the answer to it."""
_NUMBER = r"(\d[\d,_]*)"
_WINDOW = tuple(
    re.compile(text.replace("N", _NUMBER), re.I | re.S)
    for text in (
        r"maximum context length (?:is|of) N", r"N maximum context length", r"tokens > N maximum",
        r"exceed context limit: \d+ \+ \d+ > N", r"\"n_ctx\"\s*:\s*N", r"exceed context window of N",
        r"context length of only N", r"maximum prompt length is N",
        r"exceeds the maximum number of tokens allowed \(N\)", r"exceeded model token limit: N",
    )
)  # fmt: skip
_ASKED = tuple(
    re.compile(text.replace("N", _NUMBER), re.I | re.S)
    for text in (
        r"\(N in the messages", r"\(N in your prompt", r"messages resulted in N", r"too long: N tokens",
        r"exceed context limit: N \+", r"\"n_prompt_tokens\"\s*:\s*N", r"request has N input tokens",
        r"\(N of text input", r"request contains N tokens", r"input token count \(N\)", r"requested tokens \(N\)",
        r"keep the first N tokens",
    )
)  # fmt: skip
_TOOLS_ASKED = re.compile(r"(\d+) of tool input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request was refused because it is too long or too large."""

    window: int | None = None
    """Tokens that the model takes, where the provider says so."""
    asked: int | None = None
    """Tokens of the request as the provider counts them, without the room for the answer."""
    by_bytes: bool = False
    """What is too large is the body."""

    def room(self, sent_tokens: int, max_output_tokens: int) -> int:
        """Tokens, as counted here, that a next request may have; always fewer than were sent."""
        if self.window is None:
            return int(sent_tokens * 0.85)
        room = self.window - max_output_tokens
        if self.asked and sent_tokens:
            # The provider's tokens are not ours: what counts is by how much the request was too long for it.
            room = int(room * min(1.0, sent_tokens / self.asked))
        return room if room < sent_tokens or not sent_tokens else int(sent_tokens * 0.9)


def refusal_of(status: int, body: bytes) -> Refusal | None:
    """What a refusal for length says; None for every other answer."""
    if status not in MAY_TELL or (status == 200 and not _only_error(body)):
        return None
    text = body[:HEAD_BYTES].decode("utf-8", "replace")
    if _RATE.search(text):
        return None
    if _TOO_LONG.search(text):
        return Refusal(window=_first(_WINDOW, text), asked=_asked(text))
    if status == 413 or (status == 400 and _TOO_LARGE.search(text)):
        return Refusal(by_bytes=True)
    return None


def _only_error(body: bytes) -> bool:
    """Whether an answer of 200 is nothing but an error, or the event of one."""
    head = body[:HEAD_BYTES].lstrip()
    return head.startswith((b'{"error"', b'{"type":"error"', b'{"type": "error"'))


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        found = pattern.search(text)
        if found:
            return int(re.sub(r"\D", "", found.group(1))) or None
    return None


def _asked(text: str) -> int | None:
    asked = _first(_ASKED, text)
    tools = _TOOLS_ASKED.search(text)
    return asked + int(tools.group(1)) if asked and tools else asked


class Tail:
    """The first and the last bytes of a stream that goes by, and the usage in them."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""

    def feed(self, data: bytes) -> None:
        if len(self._head) < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - len(self._head)]
        self._tail = (self._tail + data)[-TAIL_BYTES:]

    def usage(self) -> dict[str, Any] | None:
        """As the provider reports it: what came first, overlaid by what came last."""
        found: dict[str, Any] = {}
        for text in (self._head, self._tail):
            for line in text.splitlines():
                if line.startswith(b"data:") and b'"usage"' in line:
                    found.update(_usage(line[5:]))
        return found or None

    def refusal(self) -> Refusal | None:
        """A refusal for length that came as an event of the stream, as OpenAI's Responses send it."""
        for line in self._head.splitlines():
            if line.startswith(b"data:") and b'"error"' in line:
                error = _error(line[5:])
                found = refusal_of(400, error) if error else None
                if found is not None and not found.by_bytes:
                    return found
        return None


def _error(data: bytes) -> bytes:
    """The error that an event tells of, alone: what else is in it may be a client's own words; b"" when it is none."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return b""
    if not isinstance(event, dict):
        return b""
    response = event.get("response")
    for error in (event.get("error"), response.get("error") if isinstance(response, dict) else None):
        if isinstance(error, dict):
            return json.dumps(error).encode()
    return json.dumps(event).encode() if event.get("type") == "error" else b""


def _usage(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    holders = [event, *(event.get(k) for k in ("message", "response"))] if isinstance(event, dict) else []
    for holder in holders:
        if isinstance(holder, dict) and isinstance(holder.get("usage"), dict):
            return {k: v for k, v in holder["usage"].items() if v is not None}
    return {}
