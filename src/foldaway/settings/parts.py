"""Parts by name: policies from entry points, stores from URLs."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from foldaway.engine.planner import Policy
from foldaway.errors import SettingsError
from foldaway.protocols import Store

if TYPE_CHECKING:
    from foldaway.stores.encryption import Keys

BUILT_IN = {
    "ace": "foldaway.policies.ace:Ace",
    "auto": "foldaway.policies.auto:Auto",
    "clear-tools": "foldaway.policies.clear_tools:ClearTools",
    "cwl": "foldaway.policies.cwl:Cwl",
    "layered": "foldaway.policies.layered:Layered",
    "lru": "foldaway.policies.lru:Lru",
    "mask-old": "foldaway.policies.mask_old:MaskOld",
    "near-tail": "foldaway.policies.near_tail:NearTail",
    "relevance": "foldaway.policies.relevance:Relevance",
    "self-gc": "foldaway.policies.self_gc:SelfGc",
    "window": "foldaway.policies.window:Window",
}
"""The policies this release ships; others come in by the entry-point group `foldaway.policies`."""

ENCRYPT = "encrypt"
"""Value of the setting `redact`: secrets are stored encrypted, with keys from the environment."""

NEEDS_THE_FUTURE = frozenset({"oracle"})
"""Policies that only a replay of a recorded session can run: they are told what its coming steps need."""


def policy_names() -> tuple[str, ...]:
    """All policies that can be named, sorted."""
    return tuple(sorted({*BUILT_IN, *(e.name for e in entry_points(group="foldaway.policies"))}))


def make_policy(policy: str | Policy, **parameters: Any) -> tuple[str, Policy]:
    """(name, policy) from a name or a ready object. Raises SettingsError naming the known ones."""
    if not isinstance(policy, str):
        return type(policy).__name__, policy
    if policy in NEEDS_THE_FUTURE:
        raise SettingsError(
            f"policy {policy!r} needs to know the future, so it runs in replays alone: "
            "foldaway.lab.replay(recorded, 'oracle', budget, make=foldaway.lab.oracle.oracle_session)"
        )
    target = BUILT_IN.get(policy)
    if target is not None:
        module, _, name = target.partition(":")
        return policy, _made(policy, getattr(import_module(module), name), parameters)
    for entry in sorted(entry_points(group="foldaway.policies"), key=lambda e: e.value):
        if entry.name == policy:
            return policy, _made(policy, entry.load(), parameters)
    raise SettingsError(f"no policy {policy!r}; known: {', '.join(policy_names())}")


def _made(name: str, part: Any, parameters: dict[str, Any]) -> Policy:
    try:
        made: Policy = part(**parameters)
    except TypeError as error:
        raise SettingsError(f"policy {name!r}: {error}") from error
    return made


def make_store(store: str | Store | None, *, clock: Any = None) -> Store | None:
    """A store from a URL (`sqlite:///foldaway.db`, `postgresql://...`, `memory:`), or the store itself."""
    if store is None or not isinstance(store, str):
        return store
    from foldaway.stores.memory import MemoryStore
    from foldaway.stores.sqlite import SqliteStore

    if store in ("memory:", "memory"):
        return MemoryStore(clock=clock)
    if store.startswith("sqlite:///"):
        return SqliteStore(store[len("sqlite:///") :], clock=clock)
    if store.startswith(("postgresql://", "postgres://")):
        from foldaway.stores.postgres import PostgresStore

        return PostgresStore(store, clock=clock)
    raise SettingsError(f"store {store!r}: expected sqlite:///PATH, postgresql://... or memory:")


def make_guarded(store: Store, redact: bool | str | Keys) -> Store:
    """The store as a session uses it: as it is, with secrets kept out (True), or with secrets encrypted.

    Encrypted with `Keys`, or ("encrypt") with those that the environment names: `FOLDAWAY_ENCRYPTION_KEY_FILE`.
    Raises SettingsError where there is no usable key, MissingExtra.
    """
    from foldaway.stores.encryption import EncryptingStore, Keys
    from foldaway.stores.redaction import RedactingStore

    if redact is False:
        return store
    if redact is True:
        return RedactingStore(store)
    if redact == ENCRYPT:
        return EncryptingStore(store, Keys.from_environment())
    if isinstance(redact, Keys):
        return EncryptingStore(store, redact)
    raise SettingsError(f"redact {str(redact)[:20]!r}: expected True, False, {ENCRYPT!r} or Keys")
