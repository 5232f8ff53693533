"""Results on disk: one small JSON file a run while an experiment goes on, one line a run when it is done.

Every field of a result is kept, whatever fields it has: values are written and read by the types they declare.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import foldaway
from foldaway.errors import ReadError
from foldaway.lab.needs import RULES, content_hash
from foldaway.lab.results import ReplayResult, percentile
from foldaway.model.recorded import Recorded

UNMEASURED = ("cli", "testing", "aio", "data", "lab/experiment/report", "lab/experiment/instruments")
"""Rooms whose code cannot change what a run finds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How long the calls of a run took, append and view together. The one thing that differs from run to run."""

    calls: int = 0
    ms_median: float = 0.0
    ms_p95: float = 0.0
    ms_p99: float = 0.0
    ms_max: float = 0.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A result without the time of each call, and what these times come to."""

    result: ReplayResult
    times: Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run of an experiment: one session under one policy and budget."""

    source: str
    source_format: str
    half: str
    """Whether parameters were chosen on recordings from this source, or it was held out."""
    never_evicts: bool
    """At this budget all fits: policies that wait for the budget show the same view, and ran once for all of them."""
    result: ReplayResult
    times: Times = Times()


def reduced(result: ReplayResult) -> Kept:
    """The result as it is kept: the times of its calls as percentiles."""
    ms = result.call_ms
    times = Times(
        calls=len(ms),
        ms_median=percentile(ms, 0.5),
        ms_p95=percentile(ms, 0.95),
        ms_p99=percentile(ms, 0.99),
        ms_max=max(ms, default=0.0),
    )
    return Kept(replace(result, call_ms=()), times)


def session_key(recorded: Recorded) -> str:
    """Identity of what a session brings into a run. O(its content): make it once."""
    what = [content_hash(recorded), recorded.model, list(recorded.times)]
    return hashlib.blake2b(json.dumps(what).encode("ascii"), digest_size=16).hexdigest()


def run_key(session: str, policy: str, budget: int, settings: Any) -> str:
    """Identity of a run: `session_key`, what it runs under, and the code that runs it."""
    what = [session, policy, budget, encode(settings), RULES, foldaway.__version__, code_hash()]
    return hashlib.blake2b(json.dumps(what, sort_keys=True).encode("ascii"), digest_size=16).hexdigest()


@cache
def code_hash() -> str:
    """Hash of the package's source as installed: between releases the version alone does not tell."""
    root = Path(foldaway.__file__).parent
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(root.rglob("*.py")):
        name = file.relative_to(root).as_posix()
        if not name.startswith(tuple(f"{room}/" for room in UNMEASURED)):
            digest.update(f"{name}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


class Runs:
    """Finished runs in a folder. A file that is half written, or of another run, counts as not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> Kept | None:
        try:
            data = json.loads((self._folder / f"{key}.json").read_text("utf-8"))
            return cast(Kept, decode(Kept, data["run"])) if data["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, key: str, kept: Kept) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        part = self._folder / f"{key}.part"
        part.write_text(json.dumps({"key": key, "run": encode(kept)}), "utf-8")
        part.replace(self._folder / f"{key}.json")


def rows_hash(rows: Iterable[Row]) -> str:
    """Identity of what an experiment found, times left out."""
    digest = hashlib.blake2b(digest_size=16)
    for row in rows:
        digest.update(json.dumps(encode(replace(row, times=Times()))).encode("ascii"))
    return digest.hexdigest()


def write_lines(file: Path, values: Iterable[Any]) -> None:
    """One JSON line a value, in ASCII; the file is there whole or not at all."""
    part = file.with_name(f"{file.name}.part")
    part.write_text("".join(json.dumps(encode(value)) + "\n" for value in values), "ascii")
    part.replace(file)


def read_rows(results: Path, times: Path) -> list[Row]:
    """The rows of an experiment. Without a file of times they have none. Raises ReadError."""
    rows = _read(results, Row)
    if not times.is_file():
        return rows
    taken = _read(times, Times)
    if len(taken) != len(rows):
        raise ReadError(
            f"{len(taken)} lines, but {results.name} has {len(rows)}; run the experiment again", file=str(times)
        )
    return [replace(row, times=one) for row, one in zip(rows, taken, strict=True)]


def _read(file: Path, kind: type[Any]) -> list[Any]:
    found = []
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise ReadError(
            "no such file; name the folder of a report that `foldaway lab run` made", file=str(file)
        ) from error
    for number, line in enumerate(lines, 1):
        try:
            found.append(decode(kind, json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"not a {kind.__name__.lower()} of this release ({error}); run the experiment again"
            raise ReadError(what, file=str(file), line=number) from error
    return found


def encode(value: Any) -> Any:
    """The value as JSON data: dataclasses as objects, field by field."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [encode(one) for one in value]
    return value


def decode(kind: Any, data: Any) -> Any:
    """JSON data as a value of this type. Raises TypeError or ValueError where it cannot be one."""
    if is_dataclass(kind) and isinstance(kind, type):
        return _decode_fields(kind, data)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _decode_any(inner, data)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: decode(inner[1], one) for key, one in data.items()}
    if origin is Sequence or (origin is tuple and inner[-1:] == (Ellipsis,)):
        if not isinstance(data, list):
            raise TypeError(f"{data!r} is no list")
        return tuple(decode(inner[0], one) for one in data)
    if origin is tuple:
        return tuple(decode(one, value) for one, value in zip(inner, data, strict=True))
    if kind in (bool, int, str) and type(data) is not kind:
        raise TypeError(f"{data!r} is no {kind.__name__}")
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    return float(data) if kind is float else data


def _decode_any(kinds: Sequence[Any], data: Any) -> Any:
    """As the first of several types that it can be a value of."""
    if data is None and type(None) in kinds:
        return None
    wrong: list[str] = []
    for kind in kinds:
        if kind is not type(None):
            try:
                return decode(kind, data)
            except (TypeError, ValueError, AttributeError) as error:
                wrong.append(str(error))
    raise TypeError("; ".join(wrong))


def _decode_fields(kind: type[Any], data: Any) -> Any:
    if not isinstance(data, dict):
        raise TypeError(f"{data!r} is no {kind.__name__.lower()}")
    types = _types(cast(Any, kind))
    unknown = sorted(data.keys() - types.keys())
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(unknown)}")
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    absent = sorted(set(missing) - data.keys())
    if absent:
        raise TypeError(f"{kind.__name__} lacks {', '.join(absent)}")
    return kind(**{name: decode(types[name], value) for name, value in data.items()})


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def flat(row: Row) -> dict[str, Any]:
    """The row as one level of columns, names joined by dots; texts and numbers only."""
    columns: dict[str, Any] = {}
    _flatten("", encode(row), columns)
    return {name.removeprefix("result."): value for name, value in columns.items()}


def _flatten(prefix: str, value: Any, columns: dict[str, Any]) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            _flatten(f"{prefix}.{key}" if prefix else key, one, columns)
    else:
        columns[prefix] = json.dumps(value) if isinstance(value, list) else value


def write_parquet(file: Path, rows: Sequence[Row]) -> bool:
    """The rows as Parquet, one column a number; False where pyarrow (extra `parquet`) is not installed."""
    try:
        pyarrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        return False
    flattened = [flat(row) for row in rows]
    names = dict.fromkeys(name for one in flattened for name in one)
    table = pyarrow.table({name: [one.get(name) for one in flattened] for name in names})
    part = file.with_name(f"{file.name}.part")
    parquet.write_table(table, part)
    part.replace(file)
    return True
