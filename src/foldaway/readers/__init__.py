"""Recorded files -> messages as a provider would have seen them. The format is told by content, never by name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain as joined_iterables
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from foldaway.errors import ReadError
from foldaway.model.recorded import Recorded
from foldaway.readers import (
    aider,
    bfcl,
    claude_code,
    codex,
    da_code,
    inspect_eval,
    langchain,
    letta,
    livemcpbench,
    mini_swe_agent,
    miroflow,
    openhands,
    otel_monocle,
    pi,
    plain,
    swe_agent,
    tau2_bench,
    tau_bench,
    who_and_when,
)
from foldaway.readers._chain import chain
from foldaway.readers._source import (
    SHAPE_ERRORS,
    DocumentFormat,
    LineFormat,
    Log,
    brief,
    head_of,
    log_for,
    parse,
    raw_lines,
    records,
)

__all__ = ["chain", "format_names", "read_sessions", "recognise"]

LINE_FORMATS: tuple[LineFormat, ...] = (
    claude_code.LINES,
    codex.LINES,
    openhands.LINES,
    pi.LINES,
    letta.LINES,
    bfcl.LINES,
    plain.LINES,
)
DOCUMENT_FORMATS: tuple[DocumentFormat, ...] = (
    mini_swe_agent.DOCUMENT,
    swe_agent.DOCUMENT,
    da_code.DOCUMENT,
    tau_bench.DOCUMENT,
    tau2_bench.DOCUMENT,
    livemcpbench.DOCUMENT,
    who_and_when.DOCUMENT,
    miroflow.DOCUMENT,
    langchain.DOCUMENT,
    otel_monocle.DOCUMENT,
    inspect_eval.DOCUMENT,
    plain.DOCUMENT,
)
EXPECTED = "expected a recorded session: messages as JSON or JSON lines, or a log of a known agent"
LOOK_AHEAD = 2000
"""Records without a mark of any format before one gives up (a log may begin with many of its own housekeeping)."""


@dataclass(frozen=True, slots=True)
class _Found:
    format: str
    sessions: Iterator[Recorded]


def read_sessions(path: str | PathLike[str], *, joined: bool = False) -> Iterator[Recorded]:
    """The sessions of a file, oldest first as the file has them.

    JSON lines are read one at a time; only the messages of the session at hand are kept. A record that cannot be
    used is reported in `problems` (of the session it was found in, else of the next) and skipped. `joined` yields
    one session: all of the file chained, see `chain`.

    Raises:
        ReadError: the file is missing, empty, not UTF-8 text, of no known format, or holds no message.
    """
    log = log_for(Path(path))
    sessions = _with_problems(_find(Path(path), log), log)
    if not joined:
        yield from sessions
        return
    parts = list(sessions)
    yield chain(parts, log.stem) if len(parts) > 1 else parts[0]


def recognise(path: str | PathLike[str]) -> str:
    """The name of the file's format (`Recorded.source_format`). Raises ReadError like `read_sessions`."""
    return _find(Path(path), log_for(Path(path))).format


def format_names() -> tuple[str, ...]:
    """Every name that `recognise` may give, sorted."""
    lines, documents = (known.name for known in LINE_FORMATS), (known.name for known in DOCUMENT_FORMATS)
    return tuple(sorted({*lines, *documents, inspect_eval.NAME, aider.NAME}))


def _with_problems(found: _Found, log: Log) -> Iterator[Recorded]:
    # One session is held back so that problems after the last one still have a session to stand in.
    held: Recorded | None = None
    for session in _guarded(found, log):
        if not session.messages:
            continue
        if held is not None:
            yield held
        held = replace(session, problems=log.take())
    if held is None:
        first = next(iter(log.take()), None)
        why = f"; first problem: line {first.line}: {first.what}" if first else ""
        raise ReadError(f"looks like {found.format}, but holds no message{why}", file=log.file)
    yield replace(held, problems=held.problems + log.take())


def _find(path: Path, log: Log) -> _Found:
    if head_of(path).startswith(b"PK"):
        if not inspect_eval.is_eval(path):
            raise ReadError(f"a zip without samples; {EXPECTED}", file=log.file)
        return _Found(inspect_eval.NAME, inspect_eval.read_zip(path, log))
    lines = raw_lines(path, log)
    head: list[tuple[int, bytes]] = []
    told: list[bytes] = []
    for number, raw in lines:
        head.append((number, raw))
        told += [raw] if raw.strip() else []
        if len(told) == 2:
            break
    if not told:
        why = next((problem.what for problem in log.take()), "the file holds only blank lines")
        raise ReadError(f"{why}; {EXPECTED}", file=log.file)
    rest = joined_iterables(head, lines)
    values = [parse(raw)[0] for raw in told]
    if told[0].strip() not in (b"[", b"{") and any(isinstance(value, dict | list) for value in values):
        return _document(values[0], log) if len(told) == 1 else _lines(records(rest, log), log)
    return _whole(rest, log)


def _whole(lines: Iterable[tuple[int, bytes]], log: Log) -> _Found:
    """A file that is not JSON lines: one JSON document, or text."""
    kept = list(lines)
    raw = b"".join(line for _, line in kept)
    if raw.lstrip()[:1] not in (b"{", b"["):
        return _text(kept, log)
    value, wrong = parse(raw)
    if not wrong:
        return _document(value, log)
    try:
        # Broken at the beginning, but the rest may be whole lines.
        return _lines(records(kept, log), log)
    except ReadError:
        first = next((problem.what for problem in log.take() if "gzip" in problem.what), wrong)
        raise ReadError(f"{first}; {EXPECTED}", file=log.file, line=_line_of(raw, kept)) from None


def _line_of(raw: bytes, kept: list[tuple[int, bytes]]) -> int:
    """The line in the file where the document breaks."""
    try:
        json.loads(raw)
    except json.JSONDecodeError as error:
        return kept[min(error.lineno, len(kept)) - 1][0]
    except UnicodeDecodeError as error:
        return kept[min(raw.count(b"\n", 0, error.start), len(kept) - 1)][0]
    except SHAPE_ERRORS:
        pass
    return kept[0][0]


def _text(lines: Iterable[tuple[int, bytes]], log: Log) -> _Found:
    kept = list(lines)
    decoded: list[str] = []
    for number, raw in kept:
        try:
            decoded.append(raw.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            log.problem(number, f"bytes that are not UTF-8 (byte {error.start + 1}); expected text")
    if aider.knows(decoded):
        return _Found(aider.NAME, aider.read(decoded, log))
    try:
        return _lines(records(kept, log), log)
    except ReadError:
        number, wrong = next((number, parse(raw)[1]) for number, raw in kept if raw.strip())
        raise ReadError(f"{wrong or 'JSON of no known shape'}; {EXPECTED}", file=log.file, line=number) from None


def _document(value: Any, log: Log) -> _Found:
    for document in DOCUMENT_FORMATS:
        if _knows(document, value):
            return _Found(_sharper(document, value), document.read(value, log))
    if isinstance(value, dict):
        return _lines(iter([(1, value)]), log)
    raise ReadError(f"a JSON {type(value).__name__} of no known shape; {EXPECTED}", file=log.file, line=1)


def _sharper(document: DocumentFormat, value: Any) -> str:
    return (
        "langgraph" if document.name == "langchain" and isinstance(value, dict) and "values" in value else document.name
    )


def _guarded(found: _Found, log: Log) -> Iterator[Recorded]:
    try:
        yield from found.sessions
    except SHAPE_ERRORS as error:
        what = f"looks like {found.format}, but its shape is not ({type(error).__name__}: {brief(error)})"
        raise ReadError(what, file=log.file) from error


def _knows(format: LineFormat | DocumentFormat, value: Any) -> bool:
    try:
        return format.knows(value)
    except SHAPE_ERRORS:
        return False


def _lines(values: Iterator[tuple[int, Any]], log: Log) -> _Found:
    head: list[tuple[int, Any]] = []
    for number, value in islice(values, LOOK_AHEAD):
        head.append((number, value))
        if isinstance(value, dict):
            for lines in LINE_FORMATS:
                if _knows(lines, value):
                    return _Found(lines.name, lines.read(_objects(joined_iterables(head, values), log), log))
        for document in DOCUMENT_FORMATS:
            if _knows(document, value):
                return _Found(_sharper(document, value), _each(joined_iterables(head, values), log))
    first = next((problem for problem in log.take()), None)
    if first and not head:
        raise ReadError(first.what, file=log.file, line=first.line)
    raise ReadError(f"JSON of no known shape; {EXPECTED}", file=log.file, line=head[0][0] if head else 1)


def _objects(values: Iterable[tuple[int, Any]], log: Log) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, value in values:
        if isinstance(value, dict):
            yield number, value
        else:
            log.problem(number, f"a JSON {type(value).__name__}; expected one JSON object a line")


def _each(values: Iterable[tuple[int, Any]], log: Log) -> Iterator[Recorded]:
    """A document a line: each is read for itself and named by its line."""
    for number, value in values:
        document = next((d for d in DOCUMENT_FORMATS if _knows(d, value)), None)
        if document is None:
            log.problem(number, "JSON of no known shape; expected a session a line")
            continue
        with log.guard(number, f"a {document.name} document"):
            for session in document.read(value, log):
                yield replace(session, name=f"{session.name}/line-{number}")
