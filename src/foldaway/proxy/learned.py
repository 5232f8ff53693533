"""What refusals taught: how much a model takes, in tokens and in bytes, for the tenant that was refused.

Kept by tenant, since two keys may have different windows of one model at one provider; and in memory only: a process
that starts anew pays one refusal for it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Both None: nothing was ever refused."""

    window: int | None = None
    """Tokens, as counted here, with the room for the answer."""
    body_bytes: int | None = None


UNKNOWN = Limit()


class Learned:
    """Limits by tenant and model. Safe from several threads."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._limits: OrderedDict[tuple[str, str], Limit] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, tenant: str, model: str) -> Limit:
        return self._limits.get((tenant, model), UNKNOWN)

    def learn(self, tenant: str, model: str, *, window: int | None = None, body_bytes: int | None = None) -> None:
        """The newest refusal counts: a model may be exchanged for another one under its name."""
        with self._lock:
            known = self._limits.pop((tenant, model), UNKNOWN)
            told = replace(known, window=window or known.window, body_bytes=body_bytes or known.body_bytes)
            self._limits[tenant, model] = told
            while len(self._limits) > self._most:
                self._limits.popitem(last=False)
