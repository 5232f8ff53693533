"""All contact with foldaway: its public interface and nothing else. Change this file when that interface changes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from foldaway.testing.cases.asgi import AsgiProxy
from foldaway.testing.cases.system import (
    Clock,
    Listed,
    Message,
    NotApplicable,
    Proxy,
    Recalled,
    Sent,
    Session,
    Setup,
)

_QUIRKS = ("no_prefill", "strict_alternation", "strict_arguments", "thinking")
_STORE_FILE = "store.db"

# Cases on the store alone give no budget; a session wants one.
_STORE_BUDGET = 8000


def _foldaway() -> Any:
    return importlib.import_module("foldaway")


def _session_settings(setup: Setup) -> dict[str, Any]:
    foldaway = _foldaway()
    quirks = {name: bool(setup.settings[name]) for name in _QUIRKS if name in setup.settings}
    return {
        "format": setup.format,
        "budget": _STORE_BUDGET if setup.store_only and setup.budget is None else setup.budget,
        "window": setup.window,
        "max_output_tokens": setup.settings.get("max_output_tokens"),
        "model": setup.model,
        "system": setup.system,
        "tools": setup.tools,
        "quirks": foldaway.Quirks(**quirks),
        "redact": bool(setup.settings.get("redact", False)),
    }


def _sent(view: Any) -> Sent:
    return Sent(
        messages=list(view.messages),
        system=view.system,
        tools=None if view.tools is None else list(view.tools),
        tokens=int(view.tokens),
        warnings=tuple(view.warnings),
    )


class Foldaway:
    """The way into foldaway itself."""

    def __init__(self) -> None:
        # Loads code and word lists once, so that the processes forked for each case have them already.
        _foldaway().fit([{"role": "user", "content": "hello"}], budget=_STORE_BUDGET)

    def open(self, setup: Setup, root: Path, *, user: str, name: str, clock: Clock) -> Session:
        foldaway = _foldaway()
        store = foldaway.SqliteStore(root / _STORE_FILE, clock=clock)
        try:
            session = foldaway.Session(
                **_session_settings(setup), store=store, user=user, name=name, clock=clock, recall="tool"
            )
        except BaseException:
            store.close()
            raise
        return FoldawaySession(session, store)

    def fit_once(self, setup: Setup, messages: Sequence[Message]) -> Sent:
        return _sent(_foldaway().fit(messages, **_session_settings(setup)))

    def count_once(self, setup: Setup, messages: Sequence[Message]) -> int:
        session = _foldaway().Session(**_session_settings(setup))
        try:
            session.append(messages)
            return int(session.count())
        finally:
            session.close()

    def proxy(self, root: Path) -> Proxy:
        try:
            proxy = importlib.import_module("foldaway.proxy")
        except ImportError as error:
            raise NotApplicable("foldaway.proxy is not there") from error
        return AsgiProxy(lambda upstream: proxy.app_in_front_of(upstream, store=root / _STORE_FILE))

    def tear(self, root: Path, keep_fraction: float) -> None:
        importlib.import_module("foldaway.testing.torn").tear_last_record(root / _STORE_FILE, keep_fraction)

    def is_own(self, error: BaseException) -> bool:
        return isinstance(error, importlib.import_module("foldaway.errors").FoldawayError)

    def is_missing(self, error: BaseException) -> bool:
        return isinstance(error, importlib.import_module("foldaway.errors").RecallError)

    def calls(self, what: str) -> list[int]:
        # Foldaway writes no summaries with a model, so no stub is ever called.
        return []


class FoldawaySession:
    """One `foldaway.Session` with the store it stands on."""

    def __init__(self, session: Any, store: Any) -> None:
        self._session, self._store = session, store

    def append(self, messages: Sequence[Message]) -> None:
        self._session.append(messages)

    def sync(self, messages: Sequence[Message]) -> None:
        self._session.sync(messages)

    def fit(self) -> Sent:
        return _sent(self._session.view())

    def count(self) -> int:
        return int(self._session.count())

    def compact(self) -> None:
        self._session.compact()

    def set_budget(self, *, budget: int | None, window: int | None) -> None:
        self._session.set_budget(budget=budget, window=window)

    def report_usage(self, usage: Mapping[str, Any] | None) -> None:
        self._session.report_usage(usage)

    def handles_of(self, position: int) -> list[str]:
        return [str(item) for item in self._session.items_of(position)]

    def stand_in(self, position: int) -> str | None:
        shown: str | None = self._session.stand_in(position)
        return shown

    def recall(self, handles: Sequence[str], find: str | None) -> Recalled:
        got = self._session.recall(list(handles), find=find)
        parts = tuple(part for item in got.items if isinstance(part := getattr(item, "text", None), str))
        return Recalled(text=got.text, parts=parts, found=got.found)

    def recall_exchange(self, handles: Sequence[str], find: str | None) -> list[Message]:
        return list(self._session.recall_messages(list(handles), find=find))

    def remember(self, text: str, key: str, at: str | None) -> Listed:
        return _listed(self._session.remember(text, key=key, at=at))

    def note(self, *, key: str | None = None, handle: str | None = None) -> Recalled:
        note = self._session.note(key=key) if handle is None else self._session.note(handle=handle)
        if note is not None:
            return Recalled(text=note.text)
        # A handle may also be what a model makes up for an evicted message.
        return self.recall([handle], None) if handle is not None else Recalled(found=False)

    def notes(self) -> list[Listed]:
        return [_listed(note) for note in self._session.notes()]

    def search(self, query: str) -> list[Listed]:
        hits = self._session.search(query)
        return [Listed(text=hit.text, handle=hit.ref, replaced=hit.superseded) for hit in hits]

    def warnings(self) -> list[str]:
        said = [str(line) for line in self._session.warnings]
        return said + [line for line in self._store.recovered if line not in said]

    def close(self) -> None:
        self._session.close()
        self._store.close()


def _listed(note: Any) -> Listed:
    at = note.at.isoformat() if isinstance(note.at, datetime) else str(note.at)
    return Listed(text=note.text, key=note.key, at=at, handle=note.handle, replaced=note.superseded)
