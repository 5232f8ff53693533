"""The estimates against the usage that providers reported. Needs the recorded sessions: FOLDAWAY_SHARED names them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from foldaway.tokens import RequestCounter, get_counter, reported_tokens

SHARED = os.environ.get("FOLDAWAY_SHARED", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED, reason="FOLDAWAY_SHARED does not point to the recorded sessions"),
]


def sessions(pattern: str) -> list[Path]:
    found = sorted(Path(SHARED).glob(f"data/{pattern}"))
    assert found
    return found


def test_deepseek_requests_are_within_a_tenth() -> None:
    counter = RequestCounter(get_counter("deepseek-chat"), "openai_chat", "deepseek-chat")
    for path in sessions("mini-swe-agent/*.gz"):
        own, points = 0, []
        for message in json.loads(gzip.decompress(path.read_bytes()))["messages"]:
            usage = message.get("extra", {}).get("response", {}).get("usage")
            if usage:
                points.append((own, reported_tokens(usage) or 0))
            own += counter.message(message)
        # From the first call on: the tools, which the recording does not hold, are in both.
        (own_first, first), (own_last, last) = points[0], points[-1]
        assert (last - first) / (own_last - own_first) == pytest.approx(1, abs=0.1), path.name


def growth(path: Path) -> tuple[int, int]:
    """(reported, own) growth of the requests of one Claude Code session, summed over the calls without a break."""
    reported = own = pending = previous = 0
    counter: RequestCounter | None = None
    joined: dict[str, Any] = {}
    for line in gzip.decompress(path.read_bytes()).decode().split("\n"):
        record = json.loads(line or "{}")
        if record.get("subtype") == "compact_boundary":
            previous = 0
        if record.get("type") not in ("user", "assistant") or record.get("isSidechain"):
            continue
        message = record["message"]
        if record["type"] == "user":
            pending += counter.message(message) if counter else 0
            continue
        size = reported_tokens(message.get("usage"))
        if message["model"] == "<synthetic>" or size is None:
            previous = 0
            continue
        if counter is None:
            counter = RequestCounter(get_counter(message["model"]), "anthropic_messages", message["model"])
        if message["id"] != joined.get("id"):
            if previous and size > previous:
                reported, own = reported + size - previous, own + pending
            previous, pending, joined = size, 0, message
        pending += counter.message(message)
    return reported, own


def test_claude_requests_are_within_the_stated_margin() -> None:
    totals = [growth(path) for path in sessions("claude-code/entireio-cli/*.gz")]
    for reported, own in totals:
        assert own * 0.8 <= reported <= own / 0.85
    assert sum(reported for reported, _ in totals) / sum(own for _, own in totals) == pytest.approx(1, abs=0.06)
