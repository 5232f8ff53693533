"""What tools put around their results: status lines in front and behind. Taken off before the content is judged.

Known by their shape, whatever agent wrote them; what says something (exit code, folder, how much of the file is not
shown) goes back around the digest, the rest (timings, standing reminders) is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LINES = 8
"""So many lines at either end may belong to the envelope."""

_KEPT_HEAD = re.compile(
    r"Process exited with code -?\d+$|Exit code:? -?\d+$|<returncode>-?\d+</returncode>$|Error: Exit code \d+$"
    r"|\[File: .{1,300} \(\d+ lines total\)\]$|\(\d+ more lines? (?:above|below)\)$"
    r"|(?:The file .{1,300} has been (?:updated|edited|created)|Here's the result of running|Found \d+ )\b.{0,300}$"
)
_NOISE_HEAD = re.compile(
    r"Chunk ID: \w+$|Wall time: [\d.]+ ?\w*$|Original token count: \d+$|Output:$|<output>$|OBSERVATION:$|Observation:$"
    r"|Total output lines: \d+$"
)
_KEPT_TAIL = re.compile(
    r"\(Open file: .{1,300}\)$|\(Current directory: .{1,300}\)$|\(\d+ more lines? (?:above|below)\)$"
    r"|\[The command completed with exit code -?\d+\.?\]$|\[Command finished with exit code -?\d+\]$"
    r"|\[Current working directory: .{1,300}\]$|Command exited with code -?\d+$"
    r"|\[?\.{0,3} ?\d+ more lines? (?:in file|\(|below|above).{0,120}$|\[Observation too long.{0,160}$"
    r"|\[Showing .{1,160}\]$|\(Results are truncated.{0,200}\)$|File updated\. .{0,300}$"
)
_NOISE_TAIL = re.compile(r"bash-\$\s?$|</output>$|\[Python interpreter: .{1,200}\]$|EXECUTION TIME: .{1,60}$")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A tool result taken apart."""

    head: tuple[str, ...]
    """Lines in front of the content that say something."""
    body: str
    tail: tuple[str, ...]
    """Lines behind the content that say something."""
    line: int
    """Number of the body's first line in the whole text, from 1."""


def peel(text: str) -> Envelope:
    """The content of a tool result without what the tool put around it. O(len(text)) for one copy, else constant."""
    body = text
    if body.rstrip().endswith("</system-reminder>"):
        start = body.rfind("<system-reminder>")
        if start > 0 and len(body) - start < 4000:
            body = body[:start].rstrip()
    body, head, line = _front(body)
    body, tail = _back(body)
    return Envelope(tuple(head), body, tuple(tail), line)


def _front(text: str) -> tuple[str, list[str], int]:
    kept: list[str] = []
    at, number = 0, 1
    for _ in range(MAX_LINES):
        end = text.find("\n", at, at + 400)
        if end < 0:
            break
        bare = text[at:end].strip()
        if bare and not _NOISE_HEAD.match(bare):
            if not _KEPT_HEAD.match(bare):
                break
            kept.append(bare)
        elif not bare and not kept:
            break
        at, number = end + 1, number + 1
    return text[at:], kept, number


def _back(text: str) -> tuple[str, list[str]]:
    kept: list[str] = []
    end = len(text)
    for _ in range(MAX_LINES):
        stripped = len(text[max(0, end - 2000) : end].rstrip())
        stop = max(0, end - 2000) + stripped
        start = text.rfind("\n", max(0, stop - 400), stop)
        if start < 0 or not stripped:
            break
        bare = text[start + 1 : stop].strip()
        if not _NOISE_TAIL.match(bare):
            if not _KEPT_TAIL.match(bare):
                break
            kept.append(bare)
        end = start
    return text[:end], kept[::-1]
