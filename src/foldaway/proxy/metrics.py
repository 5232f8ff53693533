"""Counters, gauges and histograms in the text format that Prometheus reads. One process's own; no clock."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
MOST_SERIES = 500
"""Of one metric: labels come from few places, and a mistake there must not fill the memory."""
Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Counter:
    """Goes up only."""

    name: str
    help: str
    kind: str = "counter"
    values: dict[Labels, float] = field(default_factory=dict)

    def add(self, amount: float = 1, /, **labels: str) -> None:
        key = tuple(sorted(labels.items()))
        if key not in self.values and len(self.values) >= MOST_SERIES:
            key = tuple((name, "other") for name, _ in key)
        self.values[key] = self.values.get(key, 0) + amount

    def lines(self) -> Iterator[str]:
        for labels, value in sorted(self.values.items()):
            yield f"{self.name}{_labels(labels)} {_number(value)}"


@dataclass(slots=True)
class Histogram:
    """How often a time was at most so many seconds."""

    name: str
    help: str
    bounds: Sequence[float] = SECONDS
    kind: str = "histogram"
    total: float = 0.0
    counts: list[int] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        if not self.counts:
            self.counts = [0] * (len(self.bounds) + 1)
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def lines(self) -> Iterator[str]:
        so_far = 0
        counts = self.counts or [0] * (len(self.bounds) + 1)
        for bound, count in zip([*map(_number, self.bounds), "+Inf"], counts, strict=True):
            so_far += count
            yield f'{self.name}_bucket{{le="{bound}"}} {so_far}'
        yield f"{self.name}_sum {_number(self.total)}"
        yield f"{self.name}_count {so_far}"


class Metrics:
    """All that is counted."""

    def __init__(self) -> None:
        self.requests = Counter("foldaway_requests_total", "Requests by route, status and what was done.")
        self.passed = Counter(
            "foldaway_passed_total", "Requests on managed routes that went past the engine, by reason."
        )
        self.tokens_before = Counter("foldaway_history_tokens_total", "Tokens of the histories that clients sent.")
        self.tokens_after = Counter("foldaway_view_tokens_total", "Tokens of the views that were sent instead.")
        self.commits = Counter("foldaway_commits_total", "Commits by what triggered them.")
        self.recalls = Counter("foldaway_recalls_total", "Recalls that models asked for.")
        self.rounds = Counter("foldaway_rounds_total", "Further calls to a model to hand it what it recalled.")
        self.retries = Counter("foldaway_retries_total", "Requests sent again, smaller, after a refusal for length.")
        for counter in (self.tokens_before, self.tokens_after, self.recalls, self.rounds, self.retries):
            # Those without labels are there from the start: what is missing cannot be told from what is 0.
            counter.add(0)
        self.decision = Histogram("foldaway_decision_seconds", "Time to decide what to send.")
        self.added = Histogram("foldaway_added_seconds", "Time from a request's last byte to the call upstream.")

    def page(self, gauges: Mapping[str, tuple[str, float]]) -> bytes:
        """The exposition. `gauges`: name -> (help, value) of what stands now."""
        lines: list[str] = []
        for metric in vars(self).values():
            lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
        for name, (text, value) in gauges.items():
            lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge", f"{name} {_number(value)}"]
        return ("\n".join(lines) + "\n").encode()


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    said = (f'{name}="{_escaped(value)}"' for name, value in labels)
    return "{" + ",".join(said) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(round(value, 6))
