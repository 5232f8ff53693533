"""From the arguments of a command to recorded sessions: files, folders, stdin, what is bundled."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import foldaway
from foldaway.cli.output import say, warn
from foldaway.errors import ReadError, SettingsError, WireError
from foldaway.lab.timeline import steps_of
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions
from foldaway.wire import get_wire

BUNDLED = Path(foldaway.__file__).parent / "data" / "sessions"
NAMED = 5
"""At most so many names are listed in one line of talk."""


@contextmanager
def real_file(path: str) -> Iterator[Path]:
    """The file itself, or a copy of stdin for `-`; errors then speak of stdin."""
    if path != "-":
        yield Path(path)
        return
    if sys.stdin.isatty():
        say("reading from the terminal; end with Ctrl-D")
    with TemporaryDirectory(prefix="foldaway-") as folder:
        copy = Path(folder) / "stdin"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            yield copy
        except (ReadError, SettingsError) as error:
            raise type(error)(str(error).replace(str(copy), "stdin")) from error


def one_session(path: str, *, session: str = "", joined: bool = False, shown_as: str = "") -> Recorded:
    """The session of a file; of several, the one named. `shown_as` is the path in what is said about it.

    Raises SettingsError where a file holds several and none, or none of them, was named.
    """
    if Path(path).is_dir():
        raise SettingsError(f"{path} is a folder; name one file of it")
    with real_file(path) as file:
        return _pick(str(file), _reported(list(read_sessions(file, joined=joined)), shown_as or path), session)


def many_sessions(paths: Sequence[str], *, bundled: bool, joined: bool, session: str = "") -> list[Recorded]:
    """Sessions of files and of all files below folders, in order of path; those without a model call are left out.

    A file that was named must hold a session; in a folder others are passed over, and counted on stderr.
    """
    if not paths and not bundled:
        raise SettingsError("nothing to replay; name files or folders, or say --bundled")
    found: list[Recorded] = []
    for path in [*paths, *([str(BUNDLED)] if bundled else [])]:
        if Path(path).is_dir():
            found += _reported(_in_folder(Path(path), joined), "")
        else:
            with real_file(path) as file:
                found += _reported(_sound(file, joined), path)
    where = ", ".join(paths[:NAMED]) or "the bundled sessions"
    found = [_pick(where, found, session)] if session else found
    kept = [recorded for recorded in found if _has_calls(recorded)]
    if not kept:
        raise ReadError("no session with a message of a model; expected recorded agent sessions", file=where)
    if len(kept) < len(found):
        say(f"{len(found) - len(kept)} sessions without a message of a model left out")
    return kept


def _in_folder(folder: Path, joined: bool) -> list[Recorded]:
    found: list[Recorded] = []
    skipped: list[Path] = []
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        try:
            found += _sound(file, joined)
        except ReadError:
            skipped.append(file)
    if not found:
        raise ReadError(
            f"no recorded session in this folder ({len(skipped)} files looked at); name a folder of sessions",
            file=str(folder),
        )
    if skipped:
        names = ", ".join(file.name for file in skipped[:NAMED]) + (", ..." if len(skipped) > NAMED else "")
        say(f"{folder}: {len(skipped)} files hold no usable session: {names}")
    return found


def _sound(file: Path, joined: bool) -> list[Recorded]:
    """The sessions of a file. Raises ReadError also where the wire refuses one: before hours of replay, not after."""
    found = list(read_sessions(file, joined=joined))
    for recorded in found:
        try:
            get_wire(recorded.format).parse(recorded.messages, origins=recorded.origins)
        except WireError as error:
            raise ReadError(f"session {recorded.name}: {error}", file=str(file)) from error
    return found


def _reported(found: list[Recorded], path: str) -> list[Recorded]:
    for recorded in found:
        for problem in recorded.problems[:NAMED]:
            file = "stdin" if path == "-" else problem.file
            where = f"{file}:{problem.line}" if problem.line else file
            warn(f"{where}: {problem.what}; skipped")
        if len(recorded.problems) > NAMED:
            warn(f"{recorded.name}: {len(recorded.problems) - NAMED} more problems like these")
    return found


def _pick(where: str, found: Sequence[Recorded], session: str) -> Recorded:
    matching = [r for r in found if session in ("", r.name, r.name.rpartition("/")[2])]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(r.name.rpartition("/")[2] for r in found[:NAMED]) + (", ..." if len(found) > NAMED else "")
    if not matching:
        raise SettingsError(f"no session {session!r} in {where}; it holds {names}")
    what = f"{len(matching)} sessions" + (f" named {session!r}" if session else "")
    raise SettingsError(f"{where} holds {what}: {names}; pick one with --session NAME or chain them with --joined")


def _has_calls(recorded: Recorded) -> bool:
    return bool(steps_of(recorded))
