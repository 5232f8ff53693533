"""What the commands about memories do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from foldaway.cli.inspecting import stored
from foldaway.cli.output import clipped, say, show, show_bytes, show_json
from foldaway.cli.storing import opened, with_keys
from foldaway.errors import SettingsError
from foldaway.protocols import Filter, Memory, Reader
from foldaway.remembering import LongTermMemory

_WIDTH = 160


@contextmanager
def _memories(url: str, user: str) -> Iterator[LongTermMemory]:
    with opened(url) as store:
        yield LongTermMemory(with_keys(store), Reader(owner=user))


def learn(url: str, user: str, session: str, task: str, at: str, *, as_json: bool) -> None:
    """Raises StoreError where there is no such session."""
    with stored(url, user=user, name=session) as scene, _memories(url, user) as mine:
        learned = mine.learn(scene.session, task=task, at=at)
        fresh = [mine.get(one) for one in dict.fromkeys(learned.fresh)]
    if as_json:
        show_json(
            {
                "known": len(learned.ids) - len(learned.fresh),
                "skipped": len(learned.skipped),
                "forgotten": [{"tombstone": one.tombstone, "at": one.at} for one in learned.forgotten],
                "learned": _rows(fresh),
            }
        )
        return
    for one in fresh:
        show(_line(one))
    for new, old in learned.contradictions:
        say(f"{new} contradicts {old}: both are kept and marked")
    for gone in learned.forgotten:
        say(f"left out, forgotten on {gone.at[:10]}: {gone.memory.kind} of #{gone.memory.item} ({gone.tombstone})")
    say(
        f"{len(fresh)} memories learned, {len(learned.ids) - len(learned.fresh)} known, {len(learned.skipped)} left out"
    )


def listed(
    url: str, user: str, kinds: Sequence[str], session: str, *, everything: bool, limit: int, as_json: bool
) -> None:
    with _memories(url, user) as mine:
        found = mine.find(_among(kinds, session, everything), limit)
    _tell(found, as_json)


def search(
    url: str, user: str, query: str, kinds: Sequence[str], session: str, *, everything: bool, limit: int, as_json: bool
) -> None:
    with _memories(url, user) as mine:
        found = mine.search(query, limit, _among(kinds, session, everything))
    if as_json:
        show_json([{**asdict(one.memory), "score": one.score, "why": one.why} for one in found])
    else:
        _tell([one.memory for one in found], as_json)


def original(url: str, user: str, memory: str) -> None:
    with _memories(url, user) as mine:
        text = mine.original(memory)
    show_bytes(text)


def correct(url: str, user: str, memory: str, text: str, source: str, *, as_json: bool) -> None:
    with _memories(url, user) as mine:
        made = mine.get(mine.correct(memory, text, source=source))
    _tell([made], as_json)


def forget(url: str, user: str, ids: Sequence[str], *, as_json: bool) -> int:
    with _memories(url, user) as mine:
        there = [one for one in dict.fromkeys(ids) if mine.holds(one)]
        beside = {other.id: other for one in there for other in mine.beside(one) if other.id not in ids}
        gone = mine.forget(there)
        failed = len(there) < len(set(ids)) or any(mine.holds(one) for one in there)
        beside = {one: other for one, other in beside.items() if mine.holds(one)}
    if as_json:
        show_json({"deleted": gone})
    else:
        show(f"{gone} memories deleted")
    for other in beside.values():
        say(f"made from the same item, and still there: {_line(other)}")
    return int(failed)


def forgotten(url: str, user: str, *, as_json: bool) -> None:
    with _memories(url, user) as mine:
        found = mine.tombstones()
    if as_json:
        show_json([{"id": one.id, "at": one.at} for one in found])
        return
    for one in found:
        show(f"{one.id}  {one.at}")
    if not found:
        say("nothing was forgotten")


def lift(url: str, user: str, ids: Sequence[str], *, everything: bool, as_json: bool) -> int:
    """Raises SettingsError where neither or both of ids and `everything` are given."""
    if bool(ids) == everything:
        raise SettingsError("say what to lift: ids of tombstones, or --all")
    with _memories(url, user) as mine:
        wanted = [one.id for one in mine.tombstones()] if everything else ids
        gone = mine.lift(wanted)
    if as_json:
        show_json({"lifted": gone})
    else:
        show(f"{gone} tombstones lifted")
    return int(gone < len(set(wanted)))


def _among(kinds: Sequence[str], session: str, everything: bool) -> Filter:
    return Filter(kinds=tuple(kinds), sessions=(session,) if session else (), current_only=not everything)


def _tell(memories: Sequence[Memory], as_json: bool) -> None:
    if as_json:
        show_json(_rows(memories))
        return
    for one in memories:
        show(_line(one))
    if not memories:
        say("no memories")


def _rows(memories: Sequence[Memory]) -> list[dict[str, Any]]:
    return [asdict(one) for one in memories]


def _line(one: Memory) -> str:
    """id, day, kind, where from, text; marks of what does not simply hold."""
    marks = ["superseded"] if one.superseded_by else []
    marks += ["contradicted"] if one.contradicts else []
    where = f"{one.session} #{one.item}" if one.session else one.source or "-"
    told = f"[{', '.join(marks)}] " if marks else ""
    text = clipped(" / ".join(one.text.splitlines()), _WIDTH)
    return f"{one.id}  {one.at[:10]}  {one.kind:10}  {clipped(where, 32)}  {told}{text}"
