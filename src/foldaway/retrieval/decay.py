"""Age: of two memories that fit alike the newer goes first, and a much better fit is not beaten by age alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from foldaway.errors import SettingsError

_DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """A score loses at most `share` of itself, half of that after `half_life_days`."""

    half_life_days: float = 90.0
    share: float = 0.2
    ageless: frozenset[str] = frozenset({"document"})
    """Kinds that do not age: a manual is as true as on its first day."""

    def __post_init__(self) -> None:
        if self.half_life_days <= 0 or not 0.0 <= self.share <= 1.0:
            raise SettingsError(
                f"decay: half_life_days {self.half_life_days:g}, share {self.share:g}: expected > 0 and 0 to 1"
            )

    def factor(self, kind: str, at: str, now: str) -> float:
        """1 for what is new, ageless or without a time, down to 1 - share. `now` "" means: nothing ages."""
        if not now or not at or kind in self.ageless:
            return 1.0
        days = max(0.0, (_time(now) - _time(at)) / _DAY_SECONDS)
        return float(1.0 - self.share * (1.0 - 0.5 ** (days / self.half_life_days)))


def _time(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        raise SettingsError(f"not a time: {at[:40]!r}; expected UTC in ISO 8601, like 2026-05-01T12:00:00Z") from None
