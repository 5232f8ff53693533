"""The bench of the proxy: the same requests for all, histories that grow, figures that are what they say."""

from __future__ import annotations

import json
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from foldaway.lab.proxy_bench import tables
from foldaway.lab.proxy_bench.histories import SIZES, Agent
from foldaway.lab.proxy_bench.load import Timing
from foldaway.lab.proxy_bench.measure import Cell, Result, Weighing, added_ms

SIZE = SIZES["10KB"]


def session(agent: Agent) -> list[bytes]:
    bodies = [agent.opens()]
    while agent.room():
        bodies.append(agent.goes_on())
    return bodies


def test_a_history_grows_call_by_call_and_begins_anew() -> None:
    agent = Agent(SIZE, "a")
    first, second = session(agent), session(agent)
    assert first == session(Agent(SIZE, "a"))
    histories = [json.loads(body)["messages"] for body in first]
    assert len(histories) == SIZE.calls
    for before, after in pairwise(histories):
        assert after[: len(before)] == before
        assert len(after) == len(before) + 2
    assert json.loads(second[0])["messages"][1] != histories[0][1]


@pytest.mark.parametrize("name", SIZES)
def test_histories_are_as_large_as_their_name_says(name: str) -> None:
    size = SIZES[name]
    bodies = session(Agent(size, "a"))
    assert 0.9 * size.bytes < len(bodies[len(bodies) // 2]) < 1.2 * size.bytes
    assert len(bodies[0]) < 1.3 * size.start_bytes


def result(target: str, *rounds: list[float]) -> Result:
    cell = Cell(size=SIZE, connections=1, rounds=len(rounds), calls=len(rounds[0]))
    timings = [[Timing(first_byte=s / 2, whole=s, status=200) for s in some] for some in rounds]
    return Result(cell=cell, target=target, rounds=timings, seconds=[sum(some) for some in rounds], cpu_seconds=0.006)


def test_what_is_added_is_the_median_of_the_rounds_differences() -> None:
    direct = result("direct", [0.001, 0.002, 0.003], [0.101, 0.102, 0.103], [0.001, 0.002, 0.003])
    through = result("foldaway", [0.004, 0.004, 0.009], [0.106, 0.105, 0.107], [0.003, 0.007, 0.009])
    assert added_ms(through, direct, 0.5) == pytest.approx(4.0)
    assert added_ms(through, direct, 0.5, first_byte=True) == pytest.approx(2.0)
    row = dict(zip(tables.COLUMNS, tables.latency([direct, through])[1], strict=True))
    assert row["added p50"] == "4.00"
    assert row["CPU ms"] == "0.67"


def test_memory_is_told_after_so_many_calls() -> None:
    heading, rows = tables.memory([Weighing(target="a", calls=[0, 1_000, 2_000], rss_mb=[50.0, 60.0, 61.0])])
    assert heading == ["target", "0 calls", "1,000 calls", "2,000 calls", "most", "s"]
    assert rows == [["a", "50", "60", "61", "61", "0"]]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("httpx2") is None or find_spec("uvicorn") is None, reason="needs the extra proxy")
def test_all_targets_answer_all_calls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from foldaway.lab.proxy_bench.__main__ import main

    arguments = "--sizes 10KB --connections 8 --rounds 1 --share 0.1 --memory 0 --json".split()
    assert main([*arguments, "--litellm", str(tmp_path / "none")]) == 0
    out, err = capsys.readouterr()
    assert "without LiteLLM" in err
    cells = json.loads(out)["cells"]
    assert {c["target"] for c in cells} == {"direct", "bare proxy", "foldaway", "foldaway, folding"}
    assert all(c["failed"] == 0 and c["p50_ms"] > 0 for c in cells)
