"""`foldaway serve` and `foldaway mcp`: the servers from the command line."""

from __future__ import annotations

import sys
from typing import Any

from foldaway.cli.output import say
from foldaway.errors import MissingExtra
from foldaway.settings.parts import ENCRYPT
from foldaway.stores.encryption import Keys

TOKEN_VARIABLE = "FOLDAWAY_TOKEN"


def serve(host: str, port: int, *, workers: int, log_json: bool, grace_seconds: int, **settings: Any) -> None:
    """Serve until told to stop. Raises MissingExtra, SettingsError, StoreError, CannotServe."""
    try:
        from foldaway.proxy import ProxySettings
        from foldaway.proxy import serving as running
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("httpx2", "uvicorn"):
            raise
        raise MissingExtra("foldaway serve needs the extra proxy: pip install 'foldaway[proxy]'") from error
    if settings["redact"] == ENCRYPT:
        Keys.from_environment()  # told now, not by the first request
    chosen = ProxySettings(**settings)
    serving = running.Serving(host=host, port=port, workers=workers, log_json=log_json, grace_seconds=grace_seconds)

    def listening(bound: int) -> None:
        say(pointer(chosen, host, bound))
        sys.stderr.flush()

    running.serve(chosen, serving, listening=listening)


def serve_mcp(store: str, session: str, user: str) -> None:
    """Serve one session's tools over stdio. Raises MissingExtra, SettingsError."""
    from foldaway.adapters import mcp_server

    mcp_server.serve(store, session, user=user)


def pointer(settings: Any, host: str, port: int) -> str:
    """One line that says how to point an agent here; the token itself is not in it."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, host)
    shown = f"[{shown}]" if ":" in shown and not shown.startswith("[") else shown
    base = f"http://{shown}:{port}" + (f"/t/${TOKEN_VARIABLE}" if settings.token else "")
    ways = []
    if settings.openai_upstream:
        ways.append(f"OPENAI_BASE_URL={base}/v1")
    if settings.anthropic_upstream:
        ways.append(f"ANTHROPIC_BASE_URL={base}")
    budget = f"budget {settings.budget:,} tokens" if settings.budget else "budget: the model's window"
    return f"foldaway listens; point an agent at it: {'  '.join(ways)}  ({budget}, policy {settings.policy})"
