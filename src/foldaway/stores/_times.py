"""Times as a store keeps them: microseconds since 1970, UTC, whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from foldaway.errors import StoreError

Clock = Callable[[], datetime]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    return datetime.now(UTC)


def microseconds(time: datetime) -> int:
    return (_utc(time) - _EPOCH) // timedelta(microseconds=1)


def parsed(text: str) -> int:
    """Raises StoreError when it is no ISO 8601; without a zone it is read as UTC."""
    try:
        return microseconds(datetime.fromisoformat(text.strip().upper()))
    except (ValueError, OverflowError) as error:
        raise StoreError(f"{text!r} is not a time; give ISO 8601 such as 2031-05-01T10:00:00Z") from error


def iso(told_at: int) -> str:
    return (_EPOCH + timedelta(microseconds=told_at)).isoformat().replace("+00:00", "Z")


def _utc(time: datetime) -> datetime:
    # One fixed reading: the zone of the machine must not move a note.
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
