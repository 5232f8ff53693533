"""Small made-up sessions, and rows with figures one can check by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.lab.bill import Bill
from foldaway.lab.experiment.keep import Row, Times
from foldaway.lab.experiment.sources import Input
from foldaway.lab.results import ReplayResult, Tally
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message


def session(name: str, calls: int, *, lines: int = 40) -> Recorded:
    """Reads files of about `lines` x 14 tokens; every third call names a rate that the file of two calls ago held."""
    messages: list[Message] = [{"role": "user", "content": f"Which rates of {name} are too high?"}]
    for number in range(calls):
        arguments = {"path": f"src/{name}_{number}.py"}
        if number % 3 == 2:
            arguments["symbol"] = f"rate_{name}_{number - 2}_7"
        function = {"name": "read_file", "arguments": json.dumps(arguments)}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = "".join(f"rate_{name}_{number}_{line} = {line * 7}  # per year\n" for line in range(lines))
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
    return Recorded(name=name, source_format="plain", format="openai_chat", messages=messages)


@pytest.fixture
def make_session() -> Callable[..., Recorded]:
    return session


@pytest.fixture
def inputs() -> list[Input]:
    """One session of about 11,000 tokens and one that fits 4,000."""
    return [Input(session("long", 20), "plain/a"), Input(session("short", 3), "plain/b")]


def made_row(name: str, policy: str, budget: int, seen: int, steps: int, cost: int, **fields: Any) -> Row:
    """A row whose no-impact rate is seen / steps and whose bill is cost % of full history's."""
    tally = Tally(steps, seen, steps)
    result = ReplayResult(
        session=name,
        policy=policy,
        budget_tokens=budget,
        calls=10,
        total_tokens=10 * budget // 2,
        peak_tokens=budget,
        full_tokens=100_000,
        steps=dict.fromkeys(("strict", "loose", "strict-values", "values"), tally),
        needs_by_age={"loose": {"<=3": tally}},
        needs_by_kind={"loose": {"path": tally}},
        bill=Bill(read_tokens=cost * 100),
        full_bill=Bill(read_tokens=10_000),
    )
    given = {"source": "plain/a", "source_format": "plain", "half": "held out", "never_evicts": False, **fields}
    return Row(result=result, times=Times(calls=10, ms_median=1.0, ms_p95=2.0, ms_p99=2.0, ms_max=3.0), **given)


@pytest.fixture
def row() -> Callable[..., Row]:
    return made_row
