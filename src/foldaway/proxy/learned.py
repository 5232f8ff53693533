"""What refusals taught: how much a model takes, in tokens and in bytes, for the tenant that was refused.

Kept by tenant, since two keys may have different windows of one model at one provider. The store holds it too, so that
one refusal teaches every process: each asks when it first meets a model and whenever it opens a session.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

from foldaway.errors import StoreError
from foldaway.protocols import SessionKey
from foldaway.proxy.chains import Marks

MOST_KEPT = 10_000
LONGEST_NAME = 200
"""Of a model, in characters; what is longer is no name, and is not written down."""
OWN = SessionKey(user="foldaway proxy", name="limits")
"""Where the store holds them: of no tenant, so that none has a session more than it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Both None: nothing was ever refused."""

    window: int | None = None
    """Tokens, as counted here, with the room for the answer."""
    body_bytes: int | None = None


UNKNOWN = Limit()


class Learned:
    """Limits by tenant and model. Safe from several threads; `of` and `learn` look into memory alone."""

    def __init__(self, store: Marks | None = None, most: int = MOST_KEPT) -> None:
        self._store, self._most = store, most
        self._limits: OrderedDict[tuple[str, str], Limit] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, tenant: str, model: str) -> Limit:
        return self._limits.get((tenant, model), UNKNOWN)

    def learn(self, tenant: str, model: str, *, window: int | None = None, body_bytes: int | None = None) -> None:
        """The newest refusal counts: a model may be exchanged for another one under its name."""
        known = self.of(tenant, model)
        self._keep(
            tenant, model, replace(known, window=window or known.window, body_bytes=body_bytes or known.body_bytes)
        )

    def save(self, tenant: str, model: str) -> None:
        """Tell the store what is known. A store that is down is no reason to stop: another refusal will tell."""
        limit = self.of(tenant, model)
        if self._store is None or len(model) > LONGEST_NAME or limit == UNKNOWN:
            return
        try:
            handle = self._store.open(OWN)
            self._store.put_marks(handle, {_key(tenant, model): json.dumps([limit.window, limit.body_bytes])})
        except StoreError:
            pass

    def look(self, tenant: str, model: str, *, again: bool = False) -> None:
        """Ask the store what other processes learned; what it knows is as new as anything here.

        Once for each model, unless `again`. One read.
        """
        if self._store is None or len(model) > LONGEST_NAME or (not again and (tenant, model) in self._limits):
            return
        key = _key(tenant, model)
        try:
            told = self._store.marks(OWN.user, [key]).get(key)
        except StoreError:
            return
        if told is not None:
            window, body_bytes = json.loads(told)
            self._keep(tenant, model, Limit(window=window, body_bytes=body_bytes))
        elif (tenant, model) not in self._limits:
            self._keep(tenant, model, UNKNOWN)

    def _keep(self, tenant: str, model: str, limit: Limit) -> None:
        with self._lock:
            self._limits.pop((tenant, model), None)
            self._limits[tenant, model] = limit
            while len(self._limits) > self._most:
                self._limits.popitem(last=False)


def _key(tenant: str, model: str) -> str:
    return f"limit {tenant} {model}"
