"""From a tool's result to its digest: the content decides which compressor does it, the tool's name only inclines.

`digest(text, hint, room_chars)` uses the compressors that come with the package; a `Registry` of one's own adds
compressors and tool names. Registries are values: adding to one makes another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from foldaway.compressors.base import Compressor, Digest, Hint
from foldaway.compressors.binary import Binary
from foldaway.compressors.clean import Clean
from foldaway.compressors.diff import Diff
from foldaway.compressors.envelope import peel
from foldaway.compressors.excerpt import cut_head
from foldaway.compressors.hints import path_of
from foldaway.compressors.json_data import JsonData
from foldaway.compressors.listing import Listing
from foldaway.compressors.log import Log
from foldaway.compressors.prose import Prose
from foldaway.compressors.shell import Shell
from foldaway.compressors.source import Source
from foldaway.compressors.table import TableText
from foldaway.compressors.tests_run import TestsRun
from foldaway.compressors.trace import Trace
from foldaway.compressors.web import Web
from foldaway.compressors.wrapped import unwrapped
from foldaway.linking.kinds import command_of

INCLINATION = 0.15
"""What the tool's name adds to a compressor that matches anyway."""

COMPRESSORS: tuple[Compressor, ...] = (
    TestsRun(), Diff(), Trace(), JsonData(), Binary(), Web(), Source(), Listing(), TableText(), Log(), Prose(),
    Clean(), Shell(),
)  # fmt: skip
"""All that come with the package. Of equals the first wins; the last takes anything."""

TOOLS: Mapping[str, str] = MappingProxyType(
    {
        "read": "source", "view": "source", "cat": "source", "open": "source", "sed": "source", "head": "source",
        "tail": "source", "nl": "source", "edit": "source", "str": "source",
        "grep": "listing", "rg": "listing", "glob": "listing", "ls": "listing", "find": "listing", "tree": "listing",
        "list": "listing", "search": "listing", "fd": "listing",
        "diff": "diff", "patch": "diff", "show": "diff",
        "pytest": "tests", "jest": "tests", "vitest": "tests", "test": "tests", "tests": "tests", "unittest": "tests",
        "make": "log", "npm": "log", "pnpm": "log", "yarn": "log", "pip": "log", "docker": "log", "cargo": "log",
        "build": "log", "logs": "log", "journalctl": "log",
        "sql": "table", "query": "table", "psql": "table", "sqlite": "table", "csv": "table",
        "fetch": "web", "browse": "web", "visit": "web", "scrape": "web", "webfetch": "web",
        "jq": "json", "curl": "json", "api": "json",
    }
)  # fmt: skip
"""Words of a tool's name, or programs of its command -> name of the compressor to incline to."""

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PROGRAM = re.compile(
    r"(?:^|[;&|(\n]\s{0,8})(?:sudo |time |timeout \S{1,9} |git |uv run |poetry run |npx |bunx? "
    r"|python\d? -m )?([\w-]{1,40})"
)


@dataclass(frozen=True, slots=True)
class Registry:
    """Compressors and the tool names that incline to them."""

    compressors: tuple[Compressor, ...] = COMPRESSORS
    tools: Mapping[str, str] = field(default_factory=lambda: TOOLS)

    def with_compressor(self, compressor: Compressor) -> Registry:
        """A registry that also tries `compressor`, before the others; one of the same name is replaced."""
        rest = tuple(known for known in self.compressors if known.name != compressor.name)
        return replace(self, compressors=(compressor, *rest))

    def with_tool(self, tool: str, compressor: str) -> Registry:
        """A registry in which results of `tool` (its exact name, or a word of it) incline to a compressor's name.

        Raises:
            ValueError: there is no compressor of that name.
        """
        if compressor not in {known.name for known in self.compressors}:
            names = ", ".join(known.name for known in self.compressors)
            raise ValueError(f"no compressor is called {compressor!r}; there are: {names}")
        return replace(self, tools=MappingProxyType({**self.tools, tool: compressor}))

    def choose(self, text: str, hint: Hint) -> Compressor:
        """The compressor for a text without its envelope. Looks at the text's edges only."""
        favoured = self._favoured(hint)
        best, most = self.compressors[-1], 0.0
        # The favoured one first: where it is sure, the others need not be asked.
        for compressor in sorted(self.compressors, key=lambda known: known.name != favoured):
            if most >= getattr(compressor, "surest", 1.0) + INCLINATION * (compressor.name == favoured):
                continue
            match = compressor.matches(text, hint)
            if match > 0.0 and compressor.name == favoured:
                match += INCLINATION
                if match >= 1.0:
                    return compressor
            if match > most:
                best, most = compressor, match
        return best

    def content(self, text: str, hint: Hint) -> str:
        """Name of the compressor that would take a result, its envelope and wrapping taken off."""
        hint = replace(hint, path=path_of(hint))
        body = peel(text).body
        inner = unwrapped(body)
        return self.choose(body if inner is None else inner, hint).name

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        """The digest of a tool's result in at most `room_chars` characters; the result itself when it fits.

        Linear in the text, the same for the same arguments, never raises on any text.
        """
        room = max(0, min(room_chars, len(text)))
        hint = replace(hint, path=path_of(hint))
        envelope = peel(text)
        inner = unwrapped(envelope.body)
        body = envelope.body if inner is None else inner
        hint = replace(hint, line=hint.line if inner is not None else hint.line + envelope.line - 1)
        compressor = self.choose(body, hint)
        if len(text) <= room_chars:
            found = compressor.digest(body, hint, len(body))
            return replace(found, text=text, lost="")
        around = (*envelope.head, *envelope.tail)
        used = sum(len(line) + 1 for line in around)
        if used > room // 2:
            around, used = (), 0
        found = compressor.digest(body, hint, min(room - used, len(body)))
        shown = "\n".join((*envelope.head, found.text, *envelope.tail)) if around else found.text
        return replace(found, text=shown if len(shown) <= room else cut_head(shown, room))

    def _favoured(self, hint: Hint) -> str:
        if hint.tool in self.tools:
            return self.tools[hint.tool]
        command = command_of(hint.arguments or {}, "")[:600]
        words = [match.group(1) for match in _PROGRAM.finditer(command)] if command else []
        words.extend(word.lower() for word in _WORDS.findall(hint.tool))
        return next((self.tools[word] for word in words if word in self.tools), "")


_DEFAULT = Registry()


def digest(text: str, hint: Hint, room_chars: int) -> Digest:
    """A digest by the compressors that come with the package; see `Registry.digest`."""
    return _DEFAULT.digest(text, hint, room_chars)
