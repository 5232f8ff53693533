"""Children of the bench: started, waited for, weighed, stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foldaway.errors import FoldawayError

START_SECONDS = 120.0
STOP_SECONDS = 20.0


class NotStarted(FoldawayError):
    """A target of the bench does not come up."""


@dataclass(slots=True)
class Child:
    """One process that listens on a port of this machine, with the processes it started."""

    name: str
    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """Processor time used so far, user's and system's; 0.0 where the system does not tell."""
        ticks = sum(sum(map(int, _stat(pid)[11:13])) for pid in self._family())
        return ticks / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        """Memory held now; 0.0 where the system does not tell."""
        pages = sum(int(_stat(pid)[21]) for pid in self._family())
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _family(self) -> list[int]:
        found = [self.process.pid]
        for pid in found:
            try:
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
            except OSError:
                continue
            found += map(int, children.split())
        return found


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the third on: the name in front may hold blanks."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ["0"] * 30
    return text.rpartition(")")[2].split()


def start(name: str, command: Sequence[str], port: int, *, log: Path, env: Mapping[str, str] = {}) -> Child:
    """Start a process and wait until its port answers. Raises NotStarted with the end of what it said."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env={**os.environ, **env})
    child = Child(name, port, process)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if _answers(port):
            return child
        time.sleep(0.1)
    child.stop()
    said = log.read_text("utf-8", "replace").strip().splitlines()
    raise NotStarted(f"{name} does not start: {said[-1] if said else 'it says nothing'} (all of it: {log})")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """A port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def uvicorn(app: str, port: int, *more: str) -> list[str]:
    """The command for an ASGI application of this package."""
    quiet = ("--log-level", "warning", "--no-access-log", "--lifespan", "off")
    return [sys.executable, "-m", "uvicorn", app, "--host", "127.0.0.1", "--port", str(port), *quiet, *more]
