"""An MCP server over one stored session: four small tools for agents that speak MCP.

    foldaway mcp --store sqlite:///foldaway.db --session harbour

Whoever manages the agent's context (the proxy, an adapter, the library) writes the session; the agent looks into it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from foldaway.adapters._base import RECALL_DESCRIPTION, asked, missing
from foldaway.errors import FoldawayError, RecallError, SettingsError, StoreError
from foldaway.model.items import Level
from foldaway.model.view import Explanation
from foldaway.protocols import SessionKey, Store
from foldaway.session import Session
from foldaway.settings.parts import make_store
from foldaway.wire import detect_format

try:
    # The name since 2.0; in 1.x it is mcp.server.fastmcp.FastMCP.
    from mcp.server.mcpserver import MCPServer
    from pydantic import BeforeValidator
except ImportError as error:
    raise missing("mcp", error) from error

__all__ = ["SessionTools", "serve", "server"]

INSTRUCTIONS = (
    "Older parts of this conversation may be folded away to save room; notes in it say which, by id (#12). search "
    "finds them by words, recall brings them back word for word, pin keeps one in sight, why says what became of one."
)
SEARCH = "Finds things of this conversation by words, folded away or not: ids and titles, best first."
PIN = "Keeps a thing of this conversation in full sight, by its id; on=false lets it go again."
WHY = "Says how a thing of this conversation is shown now and why, and what depends on it, by its id."
MOST_HITS = 50


def _plain(given: Any) -> Any:
    if isinstance(given, list):
        return ", ".join(str(one) for one in given)
    return "" if given is None else str(given) if isinstance(given, int) else given


Text = Annotated[str, BeforeValidator(_plain)]
"""Told to the model as a string; the numbers, lists and nulls that models send all the same are taken too."""


class SessionTools:
    """What the tools do, as text for a model. Safe from several threads; what others write to the session is seen.

    The other way round, a session that is open elsewhere learns of a pin with its next view.
    Opening costs one pass over the session; a call after that costs what is new in the store, and a pass where there is
    something.
    """

    def __init__(self, store: str | Store, session: str, *, user: str = "default") -> None:
        """Raises SettingsError for no usable store URL or a blank name. The session need not be there yet."""
        if not session.strip() or not user.strip():
            raise SettingsError("the session's name and user must not be blank: foldaway mcp --session NAME")
        if isinstance(store, str) and not store.startswith(("sqlite:///", "postgresql://", "postgres://")):
            raise SettingsError(f"store {store!r}: expected sqlite:///PATH or postgresql://...")
        self._given = store
        self._store: Store | None = None
        self._key = SessionKey(user=user, name=session)
        self._session: Session | None = None
        self._at = (0, 0)
        self._lock = threading.Lock()

    def search(self, query: Text, limit: int = 8) -> str:
        return self._answer(lambda session: _hits(session, query, max(1, min(limit, MOST_HITS))))

    def recall(self, ids: Text = "", find: Text = "") -> str:
        return self._answer(lambda session: session.recall_result(asked({"ids": ids, "find": find})))

    def pin(self, item: Text, on: bool = True) -> str:
        def act(session: Session) -> str:
            number = _number(item)
            (session.pin if on else session.unpin)(number)
            if not on and session.explain(number).pinned:
                return f"#{number} stays in full sight: it is protected by what it is, not by a pin."
            what = "stays in full sight" if on else "may be folded again"
            return f"#{number} {what}, from the next call on."

        return self._answer(act)

    def why(self, item: Text) -> str:
        return self._answer(lambda session: _told(session.explain(_number(item))))

    def close(self) -> None:
        with self._lock:
            close = getattr(self._store, "close", None)
            if close is not None and isinstance(self._given, str):
                close()
            self._store = self._session = None

    # -- inside

    def _answer(self, act: Callable[[Session], str]) -> str:
        try:
            with self._lock:
                text = act(self._opened())
                self._caught_up()
                return text
        except FoldawayError as error:
            # A model reads what went wrong; it can try otherwise.
            return f"Nothing done: {error}"

    def _opened(self) -> Session:
        """The session as it stands in the store now."""
        if self._store is None:
            self._store = _store(self._given)
        if self._session is None or self._moved():
            self._session = _session(self._store, self._key)
            self._caught_up()
        return self._session

    def _moved(self) -> bool:
        assert self._store is not None
        branch, known = self._at
        opened = self._store.open(self._key)
        return self._store.head(opened) != branch or bool(self._store.read(opened, branch, known))

    def _caught_up(self) -> None:
        assert self._store is not None
        opened = self._store.open(self._key)
        branch = self._store.head(opened)
        known = self._at[1] if branch == self._at[0] else 0
        self._at = (branch, known + len(self._store.read(opened, branch, known)))


def server(tools: SessionTools) -> MCPServer:
    """The server with the four tools; run it over any of MCP's transports."""
    made = MCPServer("foldaway", instructions=INSTRUCTIONS)
    for function, text in (
        (tools.search, SEARCH), (tools.recall, RECALL_DESCRIPTION), (tools.pin, PIN), (tools.why, WHY),
    ):  # fmt: skip
        made.add_tool(function, description=text, structured_output=False)
    return made


def serve(store: str, session: str, *, user: str = "default") -> None:
    """Serve over stdio until the client goes away. Raises SettingsError."""
    tools = SessionTools(store, session, user=user)
    try:
        server(tools).run("stdio")
    finally:
        tools.close()


def _store(given: str | Store) -> Store:
    if isinstance(given, str) and given.startswith("sqlite:///"):
        path = given.removeprefix("sqlite:///")
        if not Path(path).is_file():
            # Opening it would make an empty one.
            raise StoreError(f"no store at {path} yet")
    made = make_store(given)
    assert made is not None
    return made


def _session(store: Store, key: SessionKey) -> Session:
    if key.name not in store.sessions(key.user):
        raise StoreError(f"no session {key.name!r} of user {key.user!r} in the store yet")
    opened = store.open(key)
    records: list[dict[str, Any]] = [json.loads(record) for record in store.read(opened, store.head(opened))]
    told = detect_format([record["m"] for record in records if "m" in record])
    return Session(format=told, store=store, user=key.user, name=key.name)


def _number(item: str) -> int:
    text = str(item).strip().removeprefix("#")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RecallError(f"item {item!r}: expected an id such as #12")
    return int(text)


def _hits(session: Session, query: str, limit: int) -> str:
    lines = []
    for hit in session.search(query, limit):
        if not hit.ref.isdigit():
            lines.append(f"note {hit.text}" + (" (superseded)" if hit.superseded else ""))
            continue
        level = session.level(int(hit.ref))
        lines.append(f"#{hit.ref} {hit.text}" + ("" if level is Level.RAW else f" (shown as {level.name.lower()})"))
    return "\n".join(lines) or f"Nothing about {query!r}."


def _told(found: Explanation) -> str:
    at = "" if found.commit is None else f", commit {found.commit}"
    lines = [
        f"#{found.item} {found.kind}: {found.title}",
        f"shown as {found.level} ({found.tokens} tokens in full): {found.reason}{at}",
    ]
    if found.pinned:
        lines.append("pinned")
    for word, links in (("needed by", found.needed_by), ("needs", found.needs)):
        if links:
            lines.append(f"{word}: " + ", ".join(f"#{item} ({why})" for item, _, _, why in links))
    return "\n".join(lines)
