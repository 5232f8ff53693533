"""Watching a run from outside: memory, log lines, warnings, files that are touched."""

from __future__ import annotations

import logging
import os
import site
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def memory_mb() -> float:
    """Resident memory of this process now (where /proc is absent: its peak)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, ValueError, IndexError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


@dataclass(slots=True)
class Reports:
    """What was said in the log and by Python warnings since it was last taken."""

    logged: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    everything: list[str] = field(default_factory=list)

    def take(self) -> tuple[list[str], list[str]]:
        taken = self.logged[:], self.warned[:]
        self.logged.clear()
        self.warned.clear()
        return taken


class _Lines(logging.Handler):
    def __init__(self, reports: Reports) -> None:
        super().__init__(logging.DEBUG)
        self._reports = reports

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        self._reports.everything.append(line)
        if record.levelno >= logging.WARNING:
            self._reports.logged.append(line)


@contextmanager
def reports() -> Iterator[Reports]:
    """Collect log lines and Python warnings instead of showing them. Not for two runs at a time in one process."""
    found = Reports()
    root = logging.getLogger()
    handler, level = _Lines(found), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)

    def keep(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if not issubclass(category, DeprecationWarning | ResourceWarning | ImportWarning):
            found.warned.append(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = keep
        try:
            yield found
        finally:
            root.removeHandler(handler)
            root.setLevel(level)


class FilesOutside:
    """Notes each file that Python opens outside a folder, and each that appears or changes beside it.

    An audit hook cannot be taken out again, so this belongs into a process that ends with the case.
    """

    def __init__(self, inside: Path, around: Path) -> None:
        self._inside, self._around = inside.resolve(), around.resolve()
        self._known = _readable_places()
        self._seen: list[str] = []
        self._on = True
        self._before = self._listing()
        sys.addaudithook(self._hook)

    def stop(self) -> list[str]:
        self._on = False
        after = self._listing()
        changed = [name for name, stamp in after.items() if self._before.get(name) != stamp]
        gone = [name for name in self._before if name not in after]
        return sorted({*self._seen, *changed, *gone})

    def _listing(self) -> dict[str, tuple[int, int]]:
        found = {}
        for folder, folders, files in os.walk(self._around):
            here = Path(folder)
            folders[:] = [each for each in folders if here / each != self._inside]
            for name in (*folders, *files):
                status = (here / name).lstat()
                # A folder's time changes with what is in it, which is listed itself.
                found[str(here / name)] = (0, 0) if name in folders else (status.st_size, status.st_mtime_ns)
        return found

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._on or event not in ("open", "sqlite3.connect", "os.mkdir", "os.rename", "os.remove"):
            return
        name = arguments[0]
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        if not isinstance(name, str) or name in (":memory:", ""):
            return
        path = name.removeprefix("file:").split("?")[0] if event == "sqlite3.connect" else name
        full = os.path.realpath(path) if "\0" not in path else path
        if not full.startswith((str(self._inside) + os.sep, *self._known)) and full != str(self._inside):
            self._seen.append(name)


def _readable_places() -> tuple[str, ...]:
    """Folders that a Python program reads whatever it does: its own code, time zones, the kernel's files."""
    here = Path(__file__).resolve().parents[3]
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(here), *sysconfig.get_paths().values()}
    places.update(site.getsitepackages())
    system = {"/proc/", "/sys/", "/dev/", "/etc/", "/usr/share/", "/usr/lib/"}
    return (*sorted(os.path.realpath(place) + os.sep for place in places), *sorted(system))
