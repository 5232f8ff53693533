"""Test runs (pytest, unittest, jest, vitest, bun, mocha, go test, cargo test, TAP): failures stay whole, passes are
counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from foldaway.compressors import trace
from foldaway.compressors._spots import searched_at
from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.condense import condense
from foldaway.compressors.hints import lines_of

SUMMARY, FAILED, REASON, IN_FAILURE, PLAIN, PASSED = 8.0, 6.0, 5.0, 2.0, 0.6, -1.0
NAMES_SHARE = 0.45
_LITTLE = 400
"""Where not even so many characters come together, passed tests are shown as well."""

_RUNNERS: tuple[tuple[str, str, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        "pytest",
        "== 0 co",
        ("passed", "failed", "===", "collected "),
        re.compile(
            r"={3,} test session starts|={3,} .{0,120}\b(?:passed|failed|errors?|no tests ran)\b.{0,80} in [\d.]+s"
            r"|^\d+ (?:passed|failed)\b.{0,80} in [\d.]+s|^collected \d+ items?|^={3,} (?:FAILURES|ERRORS"
            r"|short test summary)",
            re.MULTILINE,
        ),
    ),
    (
        "unittest",
        "Ra FA Cr ==",
        ("Ran ", "FAILED (", "test database", "====\nFAIL", "====\nERROR"),
        re.compile(
            r"^Ran \d+ tests? in [\d.]+s|^FAILED \((?:failures|errors)=|^Creating test database for alias"
            r"|^={60,}\n(?:FAIL|ERROR): ",
            re.MULTILINE,
        ),
    ),
    (
        "go test",
        "-- == ok FA ?",
        ("--- ", "=== RUN", "ok  ", "FAIL", "[no test files]"),
        re.compile(
            r"^\s*--- (?:FAIL|PASS|SKIP): |^=== RUN |^(?:ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\))"
            r"|^\?\s+\S+\s+\[no test files\]",
            re.MULTILINE,
        ),
    ),
    (
        "cargo test",
        "te ru",
        ("test result:", "running ", " ... "),
        re.compile(
            r"^test result: (?:ok|FAILED)\.|^running \d+ tests?$|^test \S+ \.\.\. (?:ok|FAILED|ignored)$", re.MULTILINE
        ),
    ),
    (
        "vitest",
        "Te RU",
        ("Test Files", "RUN  v", "Tests  ", "vitest/"),
        re.compile(r"^\s*Test Files  \d|^\s*RUN  v\d|^\s*Tests  \d+ (?:passed|failed)|vitest/\d", re.MULTILINE),
    ),
    (
        "jest",
        "Te PA FA",
        ("Tests: ", "Test Suites:", "PASS ", "FAIL "),
        re.compile(r"^Tests: {1,12}\d+ |^Test Suites: \d+|^(?:PASS|FAIL) \S+\.[jt]sx?\b", re.MULTILINE),
    ),
    (
        "bun test",
        "bu (p (f (s Ra 0",
        ("bun test v", "(pass)", "(fail)", "(skip)", " pass\n", " fail\n", " tests across"),
        re.compile(r"^bun test v|^\((?:pass|fail|skip)\) |^\s*\d+ (?:pass|fail)$|^Ran \d+ tests across", re.MULTILINE),
    ),
    ("mocha", "0", ("passing", "failing"), re.compile(r"^\s*\d+ (?:passing|failing)\b", re.MULTILINE)),
    (
        "tap",
        "TA ok no #",
        ("TAP version", "ok ", "# pass", "# fail", "# tests"),
        re.compile(r"^TAP version \d+|^(?:not )?ok \d+ |^# (?:pass|fail|tests) \d+$", re.MULTILINE),
    ),
)
"""Name, how its lines begin (see `_begin`), parts of what the pattern looks for, and the pattern."""
_ANYWHERE = {"pytest": "===", "vitest": "vitest/"}
"""What may also stand inside of a line."""
_SUMMARY = re.compile(
    r"\s{0,8}(?:={3,} .{0,200}\b(?:passed|failed|errors?|no tests ran)\b.{0,120}|\d+ (?:passed"
    r"|failed)\b.{0,120} in [\d.]+s.{0,40}"
    r"|Ran \d+ tests?\b.{0,80}|FAILED \(.{1,120}\)|OK(?: \(.{1,80}\))?|test result: .{1,200}|Test(?: Files|s|s:"
    r"| Suites:)\s+\d.{0,160}"
    r"|\d+ (?:pass|fail|passing|failing|pending|skip)\b.{0,40}|# (?:pass|fail|tests) \d+|Snapshots:? .{0,80}"
    r"|collected \d+ items?.{0,80}"
    r"|Found \d+ test\(s\).{0,40}|FAIL|PASS)$"
)
_FAILED = re.compile(
    r"\s{0,12}(?:FAILED? .{0,400}|FAIL:? .{0,400}|ERROR:? .{0,400}|--- FAIL: .{0,300}|FAIL\t.{0,300}"
    r"|\(fail\) .{0,400}|not ok \d+.{0,300}"
    r"|[✗✘×✖❯●] .{0,400}|test \S{1,300} \.\.\. FAILED|_{3,} .{1,300} _{3,}|"
    r"\S{1,300} (?:FAILED|ERROR)\b.{0,80}"
    r"|.{1,300} \.\.\. (?:FAIL|ERROR)|---- .{1,200} stdout ----|panic: .{0,300})$"
)
_PASSED = re.compile(
    r"\s{0,12}(?:PASSED .{0,400}|PASS .{0,300}|--- PASS: .{0,300}|=== (?:RUN|PAUSE|CONT|NAME) .{0,300}"
    r"|\(pass\) .{0,400}"
    r"|\(skip\) .{0,300}|ok \d+.{0,300}|[✓✔√] .{0,400}|test \S{1,300} \.\.\. (?:ok|ignored)|"
    r"\S{1,300} PASSED\b.{0,80}"
    r"|.{1,300} \.\.\. ok|\?\s+\S{1,300}\s+\[no test files\]|\S{1,300} \.{2,}[.sx]*\s+\[ {0,3}\d+%\])$"
)
_OK_PACKAGE = re.compile(r"ok\s+\S{1,300}\s+(?:[\d.]+s|\(cached\)).{0,60}$")
_REASON = re.compile(
    r"E  |\s{0,12}(?:AssertionError|assert |Expected|Received|expected|received|[+-] |actual|got:?\b|want:?\b|Error:"
    r"|error:"
    r"|left: |right: |thread '|Message:|- Expected|\+ Received)|\s{0,12}\S{1,200}\.\w{1,5}:\d+: |>  "
)
_SECTION = re.compile(r"={3,} (.{1,100}?) ={3,}$|-{10,}$|={10,}$|_{3,} .{1,300} _{3,}$")
_QUIET_SECTIONS = ("warnings summary", "slowest", "passes", "test session starts", "tests coverage", "coverage:")


@dataclass(frozen=True, slots=True)
class TestsRun:
    """Compressor of the output of test runners."""

    __test__ = False
    name: str = "tests"
    surest: ClassVar[float] = 0.95

    def matches(self, text: str, hint: Hint) -> float:
        """0.95 when a runner's own lines stand at the text's start or end."""
        if len(text) <= 2 * EDGE_CHARS:
            return 0.95 if _runner(text) else 0.0
        # The first line of the tail is cut; with a line break before it no pattern takes it for a whole one.
        return 0.95 if _runner(text[:EDGE_CHARS]) or _runner(text[-EDGE_CHARS:].partition("\n")[2]) else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        lines = lines_of(text)
        ratings = _rate(lines)
        short = condense(lines, ratings, room_chars, names_share=NAMES_SHARE, numbers=hint.line, wanted=hint.wanted)
        hidden = sum(1 for rating in ratings if rating == PASSED)
        if hidden and len(short.text) < min(room_chars // 2, _LITTLE):
            ratings = [0.0 if rating == PASSED else rating for rating in ratings]
            short = condense(lines, ratings, room_chars, names_share=NAMES_SHARE, numbers=hint.line, wanted=hint.wanted)
            hidden = 0
        runner = _runner(text[:EDGE_CHARS]) or _runner(text[-EDGE_CHARS:]) or "test"
        content = runner if runner.endswith(" test") else f"{runner} run"
        passes = f", {hidden} of them about passed tests" if hidden else ""
        lost = f"{short.left_out} of {len(lines)} lines{passes}" if short.left_out else ""
        return Digest(text=short.text, content=content, facts=_facts(lines), lost=lost)


def _runner(edge: str) -> str:
    begins = {_begin(line.lstrip()) for line in edge.split("\n")}
    for name, starts, signs, pattern in _RUNNERS:
        if begins.isdisjoint(starts.split()) and not (name in _ANYWHERE and _ANYWHERE[name] in edge):
            continue
        if searched_at(edge, signs, pattern):
            return name
    return ""


def _begin(bare: str) -> str:
    """The first two signs of a line; one for a number, for `?` and for `#`."""
    if bare[:1].isdigit():
        return "0"
    return bare[0] if bare[:1] in ("?", "#") else bare[:2]


def _rate(lines: Sequence[str]) -> list[float]:
    ratings = [PLAIN] * len(lines)
    trace.rate(lines, ratings)
    in_failure = quiet = False
    for index, line in enumerate(lines):
        if not line:
            ratings[index] = 0.0
            continue
        if len(line) > 600:
            continue
        section = _SECTION.match(line) if line[0] in "=-_" else None
        if section and section.group(1):
            quiet = section.group(1).startswith(_QUIET_SECTIONS)
            in_failure = section.group(1) in ("FAILURES", "ERRORS")
            ratings[index] = 1.0
        ratings[index] = _rated(line, ratings[index], in_failure, quiet)
        if ratings[index] == FAILED:
            in_failure = True
        elif ratings[index] in (PASSED, SUMMARY):
            in_failure = False
    return ratings


def _rated(line: str, rating: float, in_failure: bool, quiet: bool) -> float:
    if _SUMMARY.match(line):
        return SUMMARY
    if _PASSED.match(line):
        return PASSED
    if _OK_PACKAGE.match(line):
        return 0.2
    if _FAILED.match(line):
        return FAILED
    if quiet:
        return 0.1
    if _REASON.match(line):
        return REASON if in_failure else max(rating, 1.0)
    return max(rating, IN_FAILURE) if in_failure and rating >= PLAIN else rating


def _facts(lines: Sequence[str]) -> tuple[Fact, ...]:
    found = [
        Fact("summary" if _SUMMARY.match(line) else "failed", line.strip()[:300], number)
        for number, line in enumerate(lines, 1)
        if len(line) <= 600 and len(line) > 4 and (_SUMMARY.match(line) or _FAILED.match(line))
    ]
    return tuple(found[:20] + found[max(20, len(found) - 20) :])
