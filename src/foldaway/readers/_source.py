"""From a file to lines and JSON values: gzip, one line at a time, damage reported and skipped."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from foldaway.errors import ReadError
from foldaway.model.recorded import Problem, Recorded

SUFFIXES = {".gz", ".json", ".jsonl", ".ndjson", ".traj", ".events", ".eval", ".md", ".txt", ".log"}
MOST_PROBLEMS = 100
"""A damaged file can have millions of bad lines; the rest is only counted."""
SHAPE_ERRORS = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
"""What code that walks foreign JSON raises when the JSON is not what it should be."""

GZIP_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(slots=True)
class Log:
    """What went wrong while one file was read."""

    file: str
    stem: str
    _problems: list[Problem] = field(default_factory=list)
    _uncounted: int = 0

    def problem(self, line: int, what: str) -> None:
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(Problem(file=self.file, line=line, what=what))
        else:
            self._uncounted += 1

    def take(self) -> tuple[Problem, ...]:
        """The problems since the last call."""
        if self._uncounted:
            self._problems.append(Problem(file=self.file, line=0, what=f"{self._uncounted} more problems like these"))
        taken, self._problems, self._uncounted = tuple(self._problems), [], 0
        return taken

    def name(self, run: object = "") -> str:
        """The session's name: the file's stem, with the run behind it where a file holds several."""
        return f"{self.stem}/{run}" if run != "" else self.stem

    @contextmanager
    def guard(self, line: int, expected: str) -> Iterator[None]:
        """Report a record that has not the expected shape and go on with the next one."""
        try:
            yield
        except SHAPE_ERRORS as error:
            self.problem(line, f"expected {expected}, found something else ({type(error).__name__}: {brief(error)})")


@dataclass(frozen=True, slots=True)
class LineFormat:
    """A format of one JSON object a line."""

    name: str
    knows: Callable[[Mapping[str, Any]], bool]
    """Whether this one record can be of no other format."""
    read: Callable[[Iterable[tuple[int, dict[str, Any]]], Log], Iterator[Recorded]]


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A format of one JSON document."""

    name: str
    knows: Callable[[Any], bool]
    read: Callable[[Any, Log], Iterator[Recorded]]


def brief(error: object) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 80 else text[:77] + "..."


def log_for(path: Path) -> Log:
    name = path.name
    while Path(name).suffix in SUFFIXES:
        name = Path(name).stem
    return Log(str(path), name)


def head_of(path: Path) -> bytes:
    """The first bytes, which say whether it is gzip or zip. Raises ReadError where nothing can be read."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", file=str(path)) from error
    except ValueError as error:  # a NUL in the path
        raise ReadError(f"no usable path: {error}", file=repr(str(path))) from error
    if not head:
        raise ReadError("the file is empty; expected a recorded session", file=str(path))
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ReadError("the file is UTF-16 text; expected UTF-8", file=str(path), line=1)
    return head


def raw_lines(path: Path, log: Log) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each line, unpacked, without a byte order mark."""
    packed = head_of(path).startswith(b"\x1f\x8b")
    number = 0
    with cast(IO[bytes], gzip.open(path, "rb") if packed else path.open("rb")) as stream:
        try:
            for number, raw in enumerate(stream, 1):
                if number == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                yield number, raw
        except GZIP_DAMAGE as error:
            what = f"the gzip data is damaged or ends early ({brief(error)}); expected a whole gzip file"
            if number == 0:
                raise ReadError(what, file=log.file, line=1) from error
            log.problem(number + 1, what + "; the lines before are used")
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", file=log.file, line=number + 1) from error


def parse(raw: bytes) -> tuple[Any, str]:
    """The JSON value of these bytes and "", or None and what is wrong with them."""
    try:
        return json.loads(raw.decode("utf-8")), ""
    except UnicodeDecodeError as error:
        return None, f"bytes that are not UTF-8 (byte {error.start + 1}: 0x{raw[error.start]:02x})"
    except RecursionError:
        return None, "JSON nested too deeply"
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}" if b"\n" in raw.rstrip() else f"column {error.colno}"
        return None, f"not JSON ({error.msg} at {where})"
    except ValueError as error:
        return None, f"not usable JSON ({brief(error)})"


def records(lines: Iterable[tuple[int, bytes]], log: Log) -> Iterator[tuple[int, Any]]:
    """The JSON values of these lines; blank lines are passed over, a line that is no JSON is reported and skipped."""
    for number, raw in lines:
        if not raw.strip():
            continue
        value, wrong = parse(raw)
        if wrong:
            log.problem(number, f"{wrong}; expected one JSON object a line")
        elif not isinstance(value, dict | list):
            log.problem(number, f"a bare {type(value).__name__}; expected one JSON object a line")
        else:
            yield number, value
