"""`foldaway show`, `recall`, `explain`: a session, recorded or stored, at one of its calls. Looking changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foldaway.cli.storing import with_keys
from foldaway.engine.recall import Recalled, recall
from foldaway.errors import OverBudget, RecallError, SettingsError, StoreError
from foldaway.lab.timeline import steps_of
from foldaway.model.items import Level
from foldaway.model.recorded import Recorded
from foldaway.model.view import Explanation
from foldaway.protocols import SessionKey
from foldaway.session import Session
from foldaway.settings.parts import make_store
from foldaway.wire import detect_format


@dataclass(frozen=True, slots=True)
class Scene:
    """A session at one of its calls."""

    session: Session
    name: str
    call: int
    """Calls are numbered from 0; the number behind the last one stands for the call that would come next."""
    seen: int
    """Messages seen before it."""
    tokens: int
    budget: int | None


def at_call(recorded: Recorded, call: int | None, **settings: Any) -> Scene:
    """Walk a recorded session up to a call (None: to its end); `settings` are those of `Session`.

    Every call on the way gets its view, as it would have in a live run. Raises SettingsError where there is no such
    call, OverBudget where nothing could be sent for it.
    """
    starts = [step.start for step in steps_of(recorded)] + [len(recorded.messages)]
    last = len(starts) - 1
    call = last if call is None else call
    if not 0 <= call <= last:
        raise SettingsError(f"no call {call} in {recorded.name}; it has calls 0 to {last - 1}, and {last} is its end")
    name = recorded.name or "default"
    settings = {**settings, "model": settings.get("model") or recorded.model, "fixed_over_budget": "send"}
    session = Session(name=name, format=recorded.format, system=recorded.system, tools=recorded.tools, **settings)
    done = tokens = budget = 0
    for number, start in enumerate(starts[: call + 1]):
        session.append(recorded.messages[done:start], recorded.origins[done:start])
        done = start
        try:
            view = session.view()
            tokens, budget = view.tokens, view.budget
        except OverBudget:
            # As in a live run: what could not be sent once may fit the next time.
            if number == call:
                raise
    return Scene(session, recorded.name, call, done, tokens, budget)


@contextmanager
def stored(url: str, *, user: str, name: str, format: str = "auto") -> Iterator[Scene]:
    """A session in a store, as its last decisions left it. Raises StoreError where there is none of this name."""
    path = url.removeprefix("sqlite:///")
    if not url.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise SettingsError(f"store {url!r}: expected sqlite:///PATH or postgresql://...")
    if path != url and not Path(path).is_file():
        # Opening it would make an empty one.
        raise StoreError(f"no store at {path}; name the file that the session was kept in")
    store = make_store(url)
    assert store is not None
    try:
        store = with_keys(store)
        known = store.sessions(user)
        if name not in known:
            listed = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "") or "none"
            raise StoreError(f"no session {name!r} of user {user!r} in the store; there: {listed}")
        key = store.open(SessionKey(user=user, name=name))
        messages = [json.loads(record)["m"] for record in store.read(key, store.head(key))]
        told = detect_format(messages) if format == "auto" else format
        session = Session(format=told, store=store, user=user, name=name)
        session.engine.snapshot()
        tokens = session.engine.tokens()
        yield Scene(session, name, session.engine.log.step, len(messages), tokens, None)
    finally:
        store.close()


def window(scene: Scene, level: str = "") -> list[dict[str, Any]]:
    """The items at their levels, oldest first; with `level`, only those shown at it."""
    names = [one.name.lower() for one in Level]
    if level and level not in names:
        raise SettingsError(f"no level {level!r}; choose from {', '.join(reversed(names))}")
    newest = _newest_changes(scene.session)
    shown = scene.session.engine.shown
    rows = []
    for item in scene.session.items():
        at = scene.session.level(item.id)
        if level in ("", at.name.lower()):
            reason, commit = newest.get(item.id, ("", None)) if at is not Level.RAW else ("", None)
            rows.append(
                {
                    "item": item.id,
                    "kind": item.kind.value,
                    "level": at.name.lower(),
                    "tokens": item.tokens,
                    "title": item.title,
                    "reason": reason,
                    "commit": commit,
                    "pinned": item.pinned or item.id in scene.session.engine.pins,
                    "stub": None if at is Level.RAW else shown.lines.get(item.id) or shown.texts.get(item.id),
                }
            )
    return rows


def note_text(scene: Scene) -> str | None:
    """The fold note of the window."""
    note = scene.session.engine.shown.note
    return None if note is None else note.text


def recalled(scene: Scene, references: Sequence[str], find: str | None) -> Recalled:
    """What is asked for, byte for byte. Not counted as a fault: only the agent's own recalls protect an item."""
    found = recall(scene.session.engine.log, references, find)
    if not found.found:
        raise RecallError(f"{found.problem or 'nothing asked for'}; `foldaway show` lists what there is")
    return found


def explained(scene: Scene, items: Sequence[str]) -> list[Explanation]:
    """Raises SettingsError for what is no item id, RecallError for one that is not there."""
    numbers = [part.strip().removeprefix("#") for given in items for part in given.split(",")]
    for number in numbers:
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise SettingsError(f"item {number!r}: expected an id such as 12 or #12")
    return [scene.session.explain(int(number)) for number in numbers]


def explanation_row(explanation: Explanation) -> dict[str, Any]:
    """As JSON data; links are objects."""
    fields = asdict(explanation)
    for key in ("needed_by", "needs"):
        fields[key] = [dict(zip(("item", "weight", "provenance", "why"), link, strict=True)) for link in fields[key]]
    return fields


def _newest_changes(session: Session) -> dict[int, tuple[str, int]]:
    """Item -> reason and number of the newest commit that changed it."""
    return {
        change[0]: (change[3], entry["number"])
        for entry in session.ledger
        if entry["type"] == "commit"
        for change in entry["changes"]
    }
