"""Stack traces of Python, JavaScript, Java, Go and Rust: the message and the frames of one's own code stay.

`rate` is also used by the compressors of test runs, logs and shell output, where traces stand between other lines.
"""

from __future__ import annotations

import re
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import ClassVar

from foldaway.compressors._spots import holding
from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.condense import condense
from foldaway.compressors.hints import lines_of

MESSAGE, HEADER, OWN, OWN_CODE, LIBRARY, LIBRARY_CODE = 6.0, 2.5, 4.0, 3.0, 0.5, 0.3
HIDDEN = -1.0
NAMES_SHARE = 0.5

_PYTHON_HEADER = re.compile(r"[\s|+-]{0,40}(?:Traceback \(most recent call last\)|.{0,40}Exception Group Traceback)")
_PYTHON_FRAME = re.compile(r"[\s|]{1,40}File \"([^\"]{1,400})\", line \d+")
_PYTHON_PLACE = re.compile(r"File \"([^\"]{1,400})\", line (\d+)(?:, in )?")
_CARETS = re.compile(r"[\s|]{0,80}[~^][~^\s]*$")
_FRAME = re.compile(
    r"\s{1,40}at .{0,300}(?:[(:]\d+|native\)|anonymous>\)?|Unknown Source\)|\.java\)|index \d+\))[):\d\s]*$"
    r"|\s{1,40}at \S{1,300}\(.{0,300}\)$|\s{1,40}at /\S{1,300}:\d+$|\s{2,8}\d{1,3}: +[\w<][^\s(=,]{1,300}$"
    r"|\s{1,40}\.{3} \d+ more$"
    r"|\t/\S{1,300}\.go:\d+(?: \+0x[0-9a-f]+)?$|created by \S{1,300}.{0,60}$"
)
_GO_CALL = re.compile(r"[\w./*()-]{1,200}\(.{0,300}\)$")
_MESSAGE = re.compile(
    r"[\s|]{0,40}(?:[\w.$]{0,120}(?:Error|Exception|Warning|Exit|Interrupt|Failure|Timeout)\b(?::|$|\s?\[)|panic: "
    r"|thread '.{1,80}' (?:\(\d+\) )?panicked|Caused by:|Exception in thread|Uncaught |goroutine \d+ \["
    r"|fatal error: |Suppressed: )"
)
_LINKS = re.compile(r"[\s|]{0,40}(?:During handling of the above|The above exception was)")
_SIGNS = (
    "Traceback", 'File "', "at ", " more", ".go:", "created by ", "During handling", "The above exception",
    "Error", "Exception", "Warning", "Exit", "Interrupt", "Failure", "Timeout", "panic", "Caused by:", "Uncaught ",
    "goroutine ", "fatal error: ", "Suppressed: ",
)  # fmt: skip
"""Parts of what the patterns above look for, but for frames that begin with a number."""
_LIBRARY = re.compile(
    r"site-packages|dist-packages|lib/python\d|node_modules|node:internal|\(internal/|/rustc/|/go/pkg/mod/"
    r"|/usr/(?:local/)?(?:go|lib)"
    r"|/\.cargo/|<frozen |\bat (?:java|javax|jdk|sun|org\.junit|com\.sun|scala|kotlin)\.|(?:std|core|alloc)::|bun:"
    r"|runtime/"
)


@dataclass(frozen=True, slots=True)
class Trace:
    """Compressor of texts that are mainly a stack trace."""

    name: str = "trace"
    surest: ClassVar[float] = 0.85

    def matches(self, text: str, hint: Hint) -> float:
        """0.85 when most lines at the text's edges belong to a trace, 0.6 when a good part does."""
        edges = text if len(text) <= 2 * EDGE_CHARS else f"{text[:EDGE_CHARS]}\n{text[-EDGE_CHARS:]}"
        lines = [line for line in edges.split("\n") if line.strip()]
        ratings = [0.0] * len(lines)
        if len(lines) < 4 or sum(map(_looks_like_frame, lines)) < 2 or not rate(lines, ratings):
            return 0.0
        share = sum(1 for rating in ratings if rating) / len(lines)
        return 0.85 if share > 0.6 else 0.65 if share > 0.3 else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        lines = lines_of(text)
        ratings = [0.8] * len(lines)
        rate(lines, ratings)
        own = [index for index, rating in enumerate(ratings) if rating == OWN]
        # Of one's own frames the outermost and the innermost tell most.
        for index in {*own[:1], *own[-1:]}:
            ratings[index] = MESSAGE - 0.5
        shown = [
            _PYTHON_PLACE.sub(r"\1:\2 ", line) if line.lstrip(" |").startswith("File ") else line for line in lines
        ]
        short = condense(shown, ratings, room_chars, names_share=NAMES_SHARE, numbers=hint.line, wanted=hint.wanted)
        facts = tuple(
            Fact("error", line.strip()[:300], n) for n, line in enumerate(lines, 1) if _MESSAGE.match(line[:400])
        )
        lost = f"{short.left_out} of {len(lines)} lines, most of them frames" if short.left_out else ""
        return Digest(text=short.text, content="stack trace", facts=facts[:20], lost=lost)


def _looks_like_frame(line: str) -> bool:
    """A quick look that lets all frames through."""
    bare = line.lstrip(" \t|")
    if bare.startswith(("at ", 'File "', "...", "created by ")) or ".go:" in line:
        return True
    return bare[:1].isdigit() and line[0].isspace()


def rate(lines: Sequence[str], ratings: MutableSequence[float]) -> bool:
    """Set the ratings of all lines that belong to a trace; whether there were any frames. One pass, linear."""
    code_of = 0.0
    frames = 0
    in_python = False
    seen: dict[str, int] = {}
    telling = set(holding("\n".join(lines), _SIGNS))
    telling.update(n for n, line in enumerate(lines) if line[:2].isspace() and line.lstrip()[:1].isdigit())
    for index, full in enumerate(lines):
        if not code_of and not in_python and index not in telling:
            continue
        line = full[:500]
        if not line.strip():
            code_of = 0.0
            continue
        if frame := _PYTHON_FRAME.match(line):
            own = not _LIBRARY.search(frame.group(1))
            ratings[index], code_of = (OWN, OWN_CODE) if own else (LIBRARY, LIBRARY_CODE)
            frames += 1
            in_python = True
            _again(line, index, ratings, seen)
        elif code_of and line[:1] in " \t|":
            ratings[index] = HIDDEN if _CARETS.match(line) else code_of
        elif _PYTHON_HEADER.match(line) or _LINKS.match(line):
            ratings[index], in_python = HEADER, True
        elif in_python and line[:1] not in " \t|":
            # Whatever its class is called, the first line that is not indented is the message.
            ratings[index], in_python, code_of = MESSAGE, False, 0.0
        elif _MESSAGE.match(line):
            ratings[index], code_of = max(ratings[index], MESSAGE if frames or _followed(lines, index) else 4.0), 0.0
        elif line[0] in " \tc" and _FRAME.match(line):
            ratings[index] = LIBRARY if _LIBRARY.search(line) else OWN
            frames += 1
            if line[0] == "\t" and index and _GO_CALL.match(lines[index - 1][:500]):
                ratings[index - 1] = ratings[index] - 0.1
            _again(line, index, ratings, seen)
        else:
            code_of = 0.0
    return frames >= 2


def _again(line: str, index: int, ratings: MutableSequence[float], seen: dict[str, int]) -> None:
    """A frame seen before (recursion, chained traces) says nothing new."""
    if seen.setdefault(line, index) != index:
        ratings[index] = min(ratings[index], LIBRARY)


def _followed(lines: Sequence[str], index: int) -> bool:
    return any(_FRAME.match(line[:500]) for line in lines[index + 1 : index + 4])
