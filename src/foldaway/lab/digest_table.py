"""A report on digests as tables to read and as JSON rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from foldaway.lab.digest_arms import ARMS, FOLDAWAY, HEAD_AND_TAIL
from foldaway.lab.digests import ALL, MIN_CHARS, MIN_NEEDS, RULES, ZLIB_LEVEL, Cell, DigestReport, Key, Speed
from foldaway.lab.experiment.sources import CHOSEN_ON, HELD_OUT
from foldaway.lab.results import wilson
from foldaway.lab.table import aligned

GOAL = 0.9
LEGEND = (
    f"Results of more than {MIN_CHARS:,} characters that later actions took something from. A need is a literal in a\n"
    "later action that this result was the newest to show, once for a result. all: every need; values: without\n"
    "whole lines of edits and quoted strings; lines: those lines alone, word for word. The text of every arm takes at\n"
    "most that share of the result's own tokens, by one counter; tokens: what it did take. Intervals are Wilson's,\n"
    "95 %, and take needs for independent. A path counts as kept in a digest when the digest with its braces and its\n"
    "shared folder spelled out holds it. chosen on: constants were fitted on these sources; held out: not.\n"
    "Which lines of a file will be edited cannot be told beforehand: a text that keeps a quarter of the lines keeps\n"
    "about a quarter of those. A count says what was there to be used, not whether a model would have used it."
)
NOT_MEASURED = (
    "Not measured: LangChain's and Pydantic AI's clearing and LiteLLM's compress (a placeholder in place of the\n"
    "result: nothing kept), LiteLLM's and LangChain's trimming (whole messages), deepagents' preview (head and tail\n"
    "by lines: as head and tail here), compressors that are models themselves (LLMLingua, Headroom's Kompress)."
)
_HALVES = {"": "all", CHOSEN_ON: CHOSEN_ON, HELD_OUT: HELD_OUT}
_COLUMNS = ["class", "sources", "arm", "results", "tokens %", "needs", "all % (95 %)", "values % (95 %)", "lines %"]


def digest_table(report: DigestReport) -> str:
    """The curve, the classes at one share, peers, the worst class, checks and speeds, as aligned text."""
    shown = f"{report.share:g}"
    parts = [
        "All classes together, by share of the tokens",
        aligned([["share", *_COLUMNS[1:]], *_curve(report)], left=3),
        f"By class of content, at {100 * report.share:g} % of the tokens",
        aligned([_COLUMNS, *_classes(report, shown)], left=3),
        *_peers(report),
        "\n".join(_verdict(report, shown)),
        "\n".join(_checks(report)),
        speed_table(report.speeds),
        LEGEND,
        NOT_MEASURED,
    ]
    return "\n\n".join(part for part in parts if part)


def _curve(report: DigestReport) -> Iterator[list[str]]:
    for share in report.shares:
        for half, called in _HALVES.items():
            for arm in ARMS:
                cell = report.cells.get(Key(f"{share:g}", arm.name, half, ALL))
                if cell is not None:
                    yield [f"{share:g}", called, arm.name, *_figures(cell)]


def _classes(report: DigestReport, shown: str) -> Iterator[list[str]]:
    for content in contents(report):
        for half, called in _HALVES.items():
            for arm in ARMS:
                cell = report.cells.get(Key(shown, arm.name, half, content))
                if cell is not None and (half or arm in (FOLDAWAY, HEAD_AND_TAIL)):
                    yield [content, called, arm.name, *_figures(cell)]


def _peers(report: DigestReport) -> Iterator[str]:
    lines = [
        [peer, _HALVES[half], arm, *_figures(cell)]
        for peer in report.peers
        for half in _HALVES
        for arm in (peer, FOLDAWAY.name, HEAD_AND_TAIL.name)
        if (cell := report.cells.get(Key(peer, arm, half, ALL))) is not None
    ]
    if report.peers:
        yield "Other libraries on the results that they made shorter, the rest at the same tokens for each result"
        yield aligned([["tokens as", *_COLUMNS[1:]], *lines], left=3)


def _figures(cell: Cell) -> list[str]:
    share = 100 * cell.tokens / max(1, cell.raw_tokens)
    needs = str(cell.needs["all"])
    rates = [_interval(cell, "all"), _interval(cell, "values"), _percent(cell.rate("lines"))]
    return [str(cell.results), f"{share:.1f}", needs, *rates]


def contents(report: DigestReport) -> list[str]:
    """The classes there were, sorted."""
    return sorted({key.content for key in report.cells} - {ALL})


def worst_class(report: DigestReport, rule: str, half: str = "") -> tuple[str, float, float] | None:
    """(class, digest's rate, head and tail's) where digests are least ahead; None when no class has enough needs."""
    found: list[tuple[float, str, float, float]] = []
    for content in contents(report):
        own = report.cells.get(Key(f"{report.share:g}", FOLDAWAY.name, half, content), Cell())
        plain = report.cells.get(Key(f"{report.share:g}", HEAD_AND_TAIL.name, half, content), Cell())
        if own.needs[rule] >= MIN_NEEDS and plain.needs[rule]:
            rates = own.kept[rule] / own.needs[rule], plain.kept[rule] / plain.needs[rule]
            found.append((rates[0] - rates[1], content, *rates))
    return min(found)[1:] if found else None


def _verdict(report: DigestReport, shown: str) -> Iterator[str]:
    for half, called in _HALVES.items():
        cell = report.cells.get(Key(shown, FOLDAWAY.name, half, ALL))
        if cell is None:
            continue
        told = [f"{rule} {_percent(cell.rate(rule))} %" for rule in RULES]
        reached = [rule for rule in RULES if (cell.rate(rule) or 0.0) >= GOAL]
        yield f"{called}: {', '.join(told)}; the goal of {100 * GOAL:g} % is reached for {', '.join(reached) or 'none'}"
        for rule in RULES:
            if (worst := worst_class(report, rule, half)) is not None:
                name, own, plain = worst
                yield (
                    f"  least ahead of head and tail, {rule}: {name}, {100 * own:.1f} % against {100 * plain:.1f} %"
                    f"{'  (behind)' if own < plain else ''}"
                )


def _checks(report: DigestReport) -> Iterator[str]:
    checks = report.checks
    yield (
        f"{checks.digests:,} digests checked: {len(checks.made_up)} state a literal that their source does not hold, "
        f"{checks.too_long} are longer than their room"
    )
    for session, literals in checks.made_up[:10]:
        yield f"  {session}: {' '.join(literals[:8])}"


def speed_table(speeds: Sequence[Speed]) -> str:
    """Megabytes a second of processor time, beside head and tail and beside zlib on the same texts."""
    head = ["class", "MB", "digest MB/s", "head and tail MB/s", f"zlib -{ZLIB_LEVEL} MB/s", "digest to zlib"]
    return aligned([head, *map(_speed_row, speeds)], left=1)


def _speed_row(speed: Speed) -> list[str]:
    digest, plain, zlib = (
        speed.megabytes / seconds if seconds else 0.0
        for seconds in (speed.seconds, speed.plain_seconds, speed.zlib_seconds)
    )
    share = f"{digest / zlib:.3f}" if zlib else "-"
    return [speed.content, f"{speed.megabytes:.2f}", f"{digest:.2f}", f"{plain:.0f}", f"{zlib:.0f}", share]


def digest_rows(report: DigestReport) -> dict[str, Any]:
    """The whole report as JSON data; rates are 0 to 1, null where there was no need."""
    rows = [
        {
            **asdict(key),
            "results": cell.results,
            "raw_tokens": cell.raw_tokens,
            "tokens": cell.tokens,
            **{rule: _rule(cell, rule) for rule in RULES},
        }
        for key, cell in sorted(report.cells.items(), key=lambda pair: _order(pair[0]))
    ]
    return {
        "share": report.share,
        "shares": list(report.shares),
        "peers": list(report.peers),
        "rows": rows,
        "checks": asdict(report.checks),
        "speeds": [asdict(speed) for speed in report.speeds],
    }


def _rule(cell: Cell, rule: str) -> dict[str, Any]:
    low, high = wilson(cell.kept[rule], cell.needs[rule])
    rate = cell.rate(rule)
    return {
        "needs": cell.needs[rule],
        "kept": cell.kept[rule],
        "rate": None if rate is None else round(rate, 4),
        "interval": [round(low, 4), round(high, 4)],
    }


def _order(key: Key) -> tuple[str, str, str, str]:
    return key.shown, key.content, key.half, key.arm


def _interval(cell: Cell, rule: str) -> str:
    rate = cell.rate(rule)
    if rate is None:
        return "-"
    low, high = wilson(cell.kept[rule], cell.needs[rule])
    return f"{100 * rate:.1f} ({100 * low:.0f}-{100 * high:.0f})"


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f}"
