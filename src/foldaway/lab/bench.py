"""Time and memory of a call against the length of the history."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from foldaway.lab.replay import SessionMaker, foldaway_session
from foldaway.lab.results import percentile
from foldaway.lab.table import aligned
from foldaway.lab.timeline import steps_of
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message

SYSTEM = "You are a careful build engineer. Answer in short sentences and name the file you changed."
TASK = "Read all parts, one by one, and note which rates are out of range."


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Some consecutive calls of one run."""

    calls: tuple[int, int]
    """First call, and the one behind the last."""
    history_messages: int
    """At the end of the stretch."""
    ms_median: float
    ms_p95: float
    ms_max: float
    rss_mb: float
    """Memory of the process at the end of the stretch; the recorded messages themselves are in it."""


def synthetic(calls: int, *, lines: int = 40) -> Recorded:
    """A made-up session of file reads with an edit now and then, `lines` lines a result. The same every time."""
    messages: list[Message] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
    for call in range(calls):
        messages.extend(_exchange(call, lines))
    return Recorded(name=f"synthetic-{calls}", source_format="synthetic", format="openai_chat", messages=messages)


def _exchange(call: int, lines: int) -> Iterator[Message]:
    edit = call % 7 == 6
    name = "edit_file" if edit else "read_file"
    arguments = f'{{"path": "src/part{call}.py"}}'
    if edit:
        line = f"part {call - 1} row 3: rate = table[3] * 3"
        arguments = f'{{"path": "src/part{call - 1}.py", "old_string": "{line}", "new_string": "{line} + 1"}}'
    function = {"name": name, "arguments": arguments}
    yield {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{call}", "type": "function", "function": function}],
    }
    body = "\n".join(f"part {call} row {i}: rate = table[{i}] * 3" for i in range(lines))
    yield {"role": "tool", "tool_call_id": f"call_{call}", "content": "done" if edit else body}


def bench(
    recorded: Recorded,
    policy: str,
    budget: int,
    *,
    stretches: int = 10,
    make: SessionMaker = foldaway_session,
    progress: Callable[[int, int], None] | None = None,
) -> list[Stretch]:
    """Walk a session without measuring needs, and report time and memory in `stretches` equal parts.

    Where the time of the last part is near that of the second, the cost of a call does not depend on the length of
    the session. Run one bench a process: memory that was given back once is not taken anew.
    """
    steps = steps_of(recorded)
    session = make(recorded, policy, budget)
    every = max(1, -(-len(steps) // stretches))
    found: list[Stretch] = []
    times: list[float] = []
    done = 0
    for step in steps:
        started = perf_counter()
        session.append(recorded.messages[done : step.start], origins=recorded.origins[done : step.start])
        session.view()
        times.append((perf_counter() - started) * 1000)
        done = step.start
        if len(times) == every or step is steps[-1]:
            found.append(_stretch(step.number + 1, done, times))
            times = []
            if progress:
                progress(step.number + 1, len(steps))
    return found


def _stretch(end: int, messages: int, times: Sequence[float]) -> Stretch:
    return Stretch(
        calls=(end - len(times), end),
        history_messages=messages,
        ms_median=percentile(times, 0.5),
        ms_p95=percentile(times, 0.95),
        ms_max=max(times),
        rss_mb=rss_mb(),
    )


def rss_mb() -> float:
    """Memory the process holds now; where the system does not tell, the most it ever held."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        # Not there on every system either.
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS counts bytes, Linux kilobytes.
        return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def bench_table(title: str, stretches: Sequence[Stretch]) -> str:
    """The stretches of one run as aligned text, headed by its title."""
    lines = [["calls", "messages", "ms median", "p95", "max", "RSS MB"]]
    for stretch in stretches:
        lines.append(
            [
                f"{stretch.calls[0]}-{stretch.calls[1] - 1}",
                str(stretch.history_messages),
                f"{stretch.ms_median:.2f}",
                f"{stretch.ms_p95:.2f}",
                f"{stretch.ms_max:.2f}",
                f"{stretch.rss_mb:.1f}",
            ]
        )
    return f"{title}\n{aligned(lines, left=1)}"
