"""What a system under test offers, and the values it answers with. The runner knows nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

Json = Any
Message = dict[str, Any]


class NotApplicable(Exception):
    """The case asks for a part that this system does not have; says which."""


@dataclass(slots=True)
class Clock:
    """The clock handed to the system: real until a case sets it, then it stands still until moved."""

    now: datetime | None = None

    def __call__(self) -> datetime:
        return self.now if self.now is not None else datetime.now(UTC)

    def set(self, text: str) -> None:
        moment = datetime.fromisoformat(text)
        self.now = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def advance(self, seconds: float) -> None:
        self.now = self() + timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a session is set up. Budget and window in tokens; None where the case gives none."""

    format: str
    """openai_chat, anthropic_messages, openai_responses; store cases have no messages and use openai_chat."""
    window: int | None = None
    budget: int | None = None
    model: str = ""
    system: Json = None
    tools: list[Json] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    store_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What would go to the model."""

    messages: list[Message]
    system: Json = None
    tools: list[Json] | None = None
    tokens: int = 0
    """By the system's own count, tools and system text included."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What a recall gave."""

    text: str = ""
    parts: tuple[str, ...] = ()
    """The same taken apart, where the system brings back a call together with its result."""
    found: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A note, as listed or as found by a search (`key` and `at` may then be missing)."""

    text: str
    key: str = ""
    at: str = ""
    handle: str = ""
    replaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer of the proxy."""

    status: int
    body: bytes


class Session(Protocol):
    """One open session of the system."""

    def append(self, messages: Sequence[Message]) -> None: ...

    def sync(self, messages: Sequence[Message]) -> None: ...

    def fit(self) -> Sent: ...

    def count(self) -> int: ...

    def compact(self) -> None: ...

    def set_budget(self, *, budget: int | None, window: int | None) -> None: ...

    def report_usage(self, usage: Mapping[str, Any] | None) -> None: ...

    def handles_of(self, position: int) -> list[str]:
        """Handles under which the message at this position of the client's history can be brought back."""
        ...

    def stand_in(self, position: int) -> str | None:
        """What the last fit shows in place of that message; None where it is shown as it came."""
        ...

    def recall(self, handles: Sequence[str], find: str | None) -> Recalled: ...

    def recall_exchange(self, handles: Sequence[str], find: str | None) -> list[Message]:
        """The call by which the model asks and its result, as messages that may join the session."""
        ...

    def remember(self, text: str, key: str, at: str | None) -> Listed: ...

    def note(self, *, key: str | None = None, handle: str | None = None) -> Recalled: ...

    def notes(self) -> list[Listed]: ...

    def search(self, query: str) -> list[Listed]: ...

    def warnings(self) -> list[str]:
        """All that was reported so far."""
        ...

    def close(self) -> None: ...


class Proxy(Protocol):
    """The system's proxy in front of a stub upstream."""

    def upstream(self, reply_text: str) -> None: ...

    def request(self, path: str, body: bytes) -> Answer: ...

    def upstream_requests(self) -> list[Json]: ...

    def close(self) -> None: ...


class Driver(Protocol):
    """The way into one system."""

    def open(self, setup: Setup, root: Path, *, user: str, name: str, clock: Clock) -> Session:
        """A session on the store in folder `root`, taken up again where it is there already."""
        ...

    def fit_once(self, setup: Setup, messages: Sequence[Message]) -> Sent: ...

    def count_once(self, setup: Setup, messages: Sequence[Message]) -> int: ...

    def proxy(self, root: Path) -> Proxy:
        """Raises NotApplicable where the system has none."""
        ...

    def tear(self, root: Path, keep_fraction: float) -> None:
        """Leave of the newest record in the store only this part of its bytes."""
        ...

    def is_own(self, error: BaseException) -> bool:
        """Whether this is an error of the system's own type."""
        ...

    def is_missing(self, error: BaseException) -> bool:
        """Whether this error says that there is no such thing."""
        ...

    def calls(self, what: str) -> list[int]:
        """Tokens of each request that went to the stub of this name. [] where the system never calls one."""
        ...
