"""What a search returns: the memory, how well it fits, why, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from foldaway.protocols import Memory

_NAME_CHARS = 120


@dataclass(frozen=True, slots=True)
class Found:
    memory: Memory
    score: float
    """0..1 within one search; no probability, and not comparable between searches."""
    why: str
    """In words: which evidence found it."""
    sure: float = 1.0
    """0..1, comparable between searches: how little it looks like a match by chance. A third is one rare word."""

    def cited(self) -> str:
        """One line that names source, session, item and time, for what is put in front of a model.

        Names come from outside: they are cut, and line breaks and brackets are taken out, so none forges a second line.
        """
        memory = self.memory
        parts = [_plain(memory.kind) or "memory"]
        if memory.source:
            parts.append(f"from {_plain(memory.source)}")
        if memory.session:
            parts.append(f"session {_plain(memory.session)}" + (f" #{memory.item}" if memory.item else ""))
        if memory.at:
            parts.append(_plain(memory.at))
        if memory.superseded_by:
            parts.append("superseded by a newer one")
        if memory.contradicts:
            parts.append("contradicted by another memory")
        return f"[{', '.join(parts)}]"


def _plain(name: str) -> str:
    kept = "".join(" " if sign in "[]" or not sign.isprintable() else sign for sign in name)
    text = " ".join(kept.split())
    return text if len(text) <= _NAME_CHARS else text[: _NAME_CHARS - 1] + "…"
