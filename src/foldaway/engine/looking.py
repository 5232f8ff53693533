"""Questions about one item: why it is where it is, what stands for it, which message it came from."""

from __future__ import annotations

from foldaway.engine.engine import Engine
from foldaway.engine.window import gone
from foldaway.model.items import Item, Level
from foldaway.model.view import Explanation


def explanation(engine: Engine, item: Item) -> Explanation:
    """Why an item is gone or still here, and who depends on it. O(ledger)."""
    reason, commit, step = "never changed", None, None
    for entry in engine.entries:
        for change in entry.get("changes", ()) if entry["type"] == "commit" else ():
            if change[0] == item.id:
                reason, commit, step = change[3], entry["number"], entry["step"]
    graph = engine.log.graph
    return Explanation(
        item=item.id, title=item.title, kind=item.kind.value, level=engine.shown.level(item.id).name.lower(),
        tokens=item.tokens, reason=reason, commit=commit, step=step,
        needed_by=tuple((k.source, round(k.weight, 3), k.provenance.value, k.why) for k in graph.needed_by(item.id)),
        needs=tuple((k.target, round(k.weight, 3), k.provenance.value, k.why) for k in graph.needs(item.id)),
        guesses=tuple((k.target, round(k.weight, 3), k.provenance.value, k.why) for k in graph.guesses(item.id)),
        pinned=item.pinned or item.id in engine.pins, faults=engine.faults.get(item.id, 0),
        stand_in=stand_in(engine, item),
    )  # fmt: skip


def stand_in(engine: Engine, item: Item) -> str | None:
    """The text that the view shows for an item; None where it is shown whole."""
    shown = engine.shown
    if shown.level(item.id) is Level.RAW:
        return None
    note = shown.note
    if gone(shown, item) and note is not None and note.holds(item.id):
        return note.text
    return shown.texts.get(item.id)


def items_at(engine: Engine, position: int) -> tuple[int, ...]:
    """Ids of the items made from the log's message at this position, recalls put in by us not counted."""
    for at, count in engine.injections:
        position += count if at <= position else 0
    found: list[int] = []
    for turn in engine.log.turns_from_source(position):
        made = engine.log.turns[turn]
        at = made.sources.index(position)
        for item in engine.log.items_of_turn(turn):
            messages = {made.parts[p].message for p in item.parts}
            if len(made.sources) != len(made.messages) or at in messages:
                found.append(item.id)
    return tuple(found)
