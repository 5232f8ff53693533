"""Text on its way to the client: directives are taken out, and held back only while they could still be one."""

from __future__ import annotations

from foldaway.engine.directives import Lines, asked
from foldaway.proxy.answers.base import Recall


def stripped(text: str) -> tuple[str, list[Recall]]:
    """A whole text without its directives, and what they ask for. What only quotes one stays as it is."""
    gate = TextGate()
    out = gate.feed(text)
    return out + gate.end(), gate.found


class TextGate:
    """One stretch of text, piece by piece."""

    def __init__(self) -> None:
        self.found: list[Recall] = []
        self._lines = Lines()
        self._line = ""
        """The line under way."""
        self._out = 0
        """How much of it went on already."""

    @property
    def wanted(self) -> list[Recall]:
        """What is asked for if nothing more comes."""
        last = None if self._lines.fenced else asked(self._line)
        late = last is not None and last.start >= self._out
        return [*self.found, *(Recall(ids=ids) for ids in (last.wanted if last is not None and late else ()))]

    def feed(self, text: str) -> str:
        """What may go on now."""
        *whole, last = text.split("\n")
        out = [self._whole(line) + "\n" for line in whole]
        self._line += last
        upto = self._lines.may_ask(self._line, self._out)
        out.append(self._line[self._out : upto])
        self._out = upto
        return "".join(out)

    def end(self) -> str:
        """What was held back and is no directive after all."""
        return self._whole("")

    def _whole(self, rest: str) -> str:
        """The rest of a line that is complete now."""
        line, out = self._line + rest, self._out
        self._line, self._out = "", 0
        last = self._lines.asked(line)
        # What went on already was none: a directive is held back from its first character.
        if last is None or last.start < out:
            return line[out:]
        self.found += [Recall(ids=ids) for ids in last.wanted]
        return line[out : last.start] + line[last.end :]


def apart(before: str, after: str) -> str:
    """Two stretches of text that a recall stood between, not glued together."""
    if not before or not after or before[-1].isspace() or after[0].isspace():
        return before + after
    return f"{before}\n\n{after}"
