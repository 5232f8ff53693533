"""What the contracts of stores share: a clock that stands, and asking for a refusal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from foldaway.errors import StoreError

Clock = Callable[[], datetime]


class FixedClock:
    """A clock that stands until it is set."""

    def __init__(self, now: datetime = datetime(2031, 3, 1, 9, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def refusal(call: Callable[[], object], kind: type[Exception] = StoreError) -> str:
    """The text of the error that the call must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"expected a {kind.__name__}")
