"""What the proxy may be told, checked once."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from foldaway.errors import SettingsError

RECALLS = ("auto", "tool", "directive", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Everything but where it listens. Raises SettingsError where values cannot be."""

    openai_upstream: str = ""
    """Base URL for `/v1/chat/completions` and `/v1/responses`, with or without `/v1` at its end."""
    anthropic_upstream: str = ""
    """Base URL for `/v1/messages`."""
    path_prefix: str = ""
    """In front of all paths, such as `/llm` behind another proxy: cut off before a request is looked at."""
    budget: int | None = None
    """Ceiling in tokens for what is sent; None: the model's window less the answer. Not known either: nothing folds
    until the provider says that a request is too long."""
    policy: str = "auto"
    store: str = "memory:"
    recall: str = "auto"
    """How the model asks for what is folded: a tool where the request has tools, else a directive in its text."""
    recall_rounds: int = 4
    """How often one request may go back to the model with what it asked for."""
    time_limit_seconds: float = 5.0
    """For deciding on one request; after it the safest valid view goes out."""
    upstream_seconds: float = 600.0
    """Without a byte from the upstream."""
    most_body_bytes: int = 64 << 20
    most_upstream_bytes: int = 30 << 20
    """A request larger than this is made smaller before it is sent: providers refuse bodies by bytes, not tokens."""
    most_depth: int = 128
    """Nesting of a body; deeper ones go nowhere."""
    most_messages: int = 100_000
    """Of one request; more are refused."""
    most_header_bytes: int = 64 << 10
    body_seconds: float = 120.0
    """For a request's body to come in."""
    most_requests: int = 256
    """Under way at once; more are told to come again."""
    most_sessions: int = 128
    """Kept in memory; the others are opened again from the store."""
    most_kept_bytes: int = 128 << 20
    """Of the histories of sessions kept in memory, as they came. One takes about six times as much at hand."""
    token: str = ""
    """Asked of clients in `x-foldaway-token`, or in front of the path (`/t/TOKEN/v1/...`); may be empty on loopback
    only."""
    redact: bool | str = False
    """True: secrets are kept out of the store; "encrypt": they are in it encrypted, with keys from the environment."""

    def __post_init__(self) -> None:
        for name in ("openai_upstream", "anthropic_upstream"):
            url = getattr(self, name)
            if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc):
                raise SettingsError(f"{name.replace('_', '-')} {url!r}: expected a URL such as https://api.example.com")
        if self.path_prefix and (not self.path_prefix.startswith("/") or self.path_prefix.endswith("/")):
            raise SettingsError(
                f"path_prefix {self.path_prefix!r}: expected a path such as /llm, without a / at its end"
            )
        if self.recall not in RECALLS:
            raise SettingsError(f"recall {self.recall!r}: expected one of {', '.join(RECALLS)}")
        if self.budget is not None and self.budget <= 0:
            raise SettingsError(f"budget {self.budget}: expected a number of tokens above 0")
        for name in ("recall_rounds", "most_body_bytes", "most_upstream_bytes", "most_depth", "most_requests",
                     "most_sessions", "most_kept_bytes", "most_messages", "most_header_bytes"):  # fmt: skip
            if getattr(self, name) < 1 and name != "recall_rounds":
                raise SettingsError(f"{name} {getattr(self, name)}: expected at least 1")
        if min(self.time_limit_seconds, self.upstream_seconds, self.body_seconds) <= 0:
            raise SettingsError("time_limit_seconds, upstream_seconds and body_seconds: expected more than 0")
        if self.token and not (self.token.isascii() and self.token.replace("-", "").replace("_", "").isalnum()):
            raise SettingsError("token: expected letters, digits, - and _ only, since it may stand in a path")

    def check_host(self, host: str) -> None:
        """Raise SettingsError when listening on this address needs a token that is not set."""
        if not self.token and not is_loopback(host):
            raise SettingsError(
                f"listening on {host} lets others use this proxy: set a token (--token or FOLDAWAY_TOKEN), "
                "or listen on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
