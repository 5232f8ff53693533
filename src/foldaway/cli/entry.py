"""Runs a command and turns every error into one line and an exit code: never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from foldaway.cli.output import say
from foldaway.errors import FoldawayError, SettingsError, WireError

OK, FAILED, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130
BAD_INPUT = (SettingsError, WireError)
"""What the caller gave cannot be used; every other error of ours is a failure on the way."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. A reader that went away (`| head`) is no error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        if code == INTERRUPTED:
            say("interrupted")
        return code
    except BrokenPipeError:
        _stop_writing()
        return OK
    except SystemExit:
        # typer's own answer to a broken pipe; nothing else of it exits by itself here.
        _stop_writing()
        return OK
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except FoldawayError as error:
        return _fail(_one_line(error), BAD_USAGE if isinstance(error, BAD_INPUT) else FAILED)
    except RecursionError:
        return _fail("the input is nested too deeply; flatten it to under some hundred levels", BAD_USAGE)
    except MemoryError:
        return _fail("out of memory; give smaller inputs, or fewer at once", FAILED)
    except OSError as error:
        return _fail(f"{error.filename or 'input or output'}: {error.strerror or error}", FAILED)
    except Exception as error:
        if hasattr(error, "format_message"):
            return _fail(f"{_usage(error)}; see foldaway --help", BAD_USAGE)
        if os.environ.get("FOLDAWAY_DEBUG"):
            raise
        what = f"{type(error).__name__}: {_one_line(error)}"
        return _fail(f"a defect in foldaway: {what}; please report it with the output under FOLDAWAY_DEBUG=1", FAILED)


def _run(arguments: Sequence[str]) -> int:
    from foldaway.cli.app import app

    code = app(args=list(arguments), prog_name="foldaway", standalone_mode=False)
    return code if isinstance(code, int) else OK


def _usage(error: Exception) -> str:
    """What the parser of the command line has to say; each of its errors can format itself."""
    text = " ".join(str(error.format_message()).split())  # type: ignore[attr-defined]
    return text.rstrip(".") or "bad usage"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _fail(text: str, code: int) -> int:
    try:
        sys.stdout.flush()
        say(f"error: {text}")
    except BrokenPipeError:
        _stop_writing()
    return code


def _stop_writing() -> None:
    # Python flushes again at exit, and would complain about the pipe then.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            try:
                stream.flush()
            except OSError:
                os.dup2(nowhere, stream.fileno())
