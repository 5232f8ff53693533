"""Who a request is from, and what its headers ask of the proxy. Keys are used to tell tenants apart and never kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b

from foldaway.protocols import SessionKey, Store
from foldaway.proxy.dialects import Asked
from foldaway.proxy.gate import Refused
from foldaway.proxy.places import Incoming
from foldaway.proxy.settings import ProxySettings
from foldaway.settings.parts import policy_names

OWN = SessionKey(user="foldaway proxy", name="salt")
"""Its handle is the salt: nobody can guess it, and every process with this store has the same."""


class Tenants:
    """Names tenants by their keys: hashed with a salt of the store's, so that the store does not give a key away."""

    def __init__(self, settings: ProxySettings, store: Store) -> None:
        self._settings = settings
        self._salt = blake2b(store.open(OWN).encode()).digest()

    def incoming(self, asked: Asked, headers: Mapping[str, str]) -> Incoming:
        """Raises Refused (400) for headers of ours that cannot be followed."""
        policy = headers.get("x-foldaway-policy", "")
        if policy and policy not in policy_names():
            raise Refused(
                400, f"x-foldaway-policy: no policy {policy[:40]!r}; known: {', '.join(policy_names())}", "bad_header"
            )
        return Incoming(
            asked=asked, tenant=self.tenant(headers), name=headers.get("x-foldaway-session", "").strip()[:200],
            budget=_number(headers, "x-foldaway-budget"), policy=policy,
        )  # fmt: skip

    def tenant(self, headers: Mapping[str, str]) -> str:
        """One name for one key, and for one `x-foldaway-user` of that key."""
        key = headers.get("x-api-key") or headers.get("authorization") or ""
        user = headers.get("x-foldaway-user", "")
        return "t-" + blake2b(f"{key}\0{user}".encode(), key=self._salt, digest_size=16).hexdigest()


def _number(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", text.strip()) or int(text) <= 0:
        raise Refused(400, f"{name}: {text!r} is no number of tokens above 0", "bad_header")
    return int(text)
