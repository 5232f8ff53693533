"""Every error a caller can meet.

FoldawayError
├── SettingsError     a setting is missing, unknown or out of range
├── WireError         a request or a recorded message cannot be read (what, where, what was expected)
│   └── ReadError     a recorded session file cannot be used (file, line)
├── StoreError        the store cannot be opened, read or written
├── RecallError       no such id, range or session
├── AskError          a model that works beside the loop gave no usable answer (its kind tells why)
├── CompressError     a compressor failed on its input
│   └── DigestError   a model's digest cannot be had or used (an AskError as well); the deterministic one stays
├── OverBudget        what may not be evicted is larger than the model's window; nothing is sent
└── MissingExtra      an optional dependency is not installed

An error carries its facts as attributes; its text says what, how much, and what to do.
"""

from __future__ import annotations


class FoldawayError(Exception):
    """Base of all errors of this package."""


class SettingsError(FoldawayError):
    """A setting is missing, unknown or out of range."""


class WireError(FoldawayError):
    """A message list cannot be read."""


class ReadError(WireError):
    """A recorded session file cannot be used."""

    def __init__(self, message: str, *, file: str = "", line: int = 0) -> None:
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(where + message)
        self.file = file
        self.line = line


class StoreError(FoldawayError):
    """The store cannot be opened, read or written."""


class RecallError(FoldawayError):
    """There is no such item, range or note for this user and session."""


class MovedOn(StoreError):
    """Another process wrote to the session's branch first: what was handed in is not in it."""


class AskError(FoldawayError):
    """A model that works beside the loop gave no usable answer; the loop goes on without it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        """One word: "timeout", "unreachable", "status", "protocol", "refusal", "cut", "malformed" ..."""
        self.message = message


class CompressError(FoldawayError):
    """A compressor failed on its input."""


class DigestError(CompressError, AskError):
    """A model-made digest cannot be had or used. Kinds of its own: "literals", "language", "too-long" ..."""


class OverBudget(FoldawayError):
    """What no policy may evict does not fit the window, so nothing may be sent."""

    def __init__(self, message: str, *, missing_tokens: int, largest: tuple[tuple[str, int], ...]) -> None:
        super().__init__(message)
        self.missing_tokens = missing_tokens
        self.largest = largest
        """The largest pinned parts, biggest first: (what it is, tokens)."""


class MissingExtra(FoldawayError):
    """An optional dependency is not installed."""
