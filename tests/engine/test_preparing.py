"""Digests and costs made ahead: a commit then only looks them up, and views are the same either way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import foldaway
from foldaway import Level, Session
from foldaway.compressors.base import Digest, Hint
from foldaway.compressors.excerpt import cut_head
from foldaway.compressors.registry import Registry
from foldaway.engine.preparing import ENTRY_CHARS, waiting
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions
from foldaway.testing.histories import SYSTEM, Writer, prose
from foldaway.testing.walks import dumped

SESSIONS = Path(foldaway.__file__).parent / "data/sessions"
LONG_WORDS = 1_500


@dataclass(frozen=True, slots=True)
class Counting:
    """Takes any text, and tells which texts it was given."""

    name: str = "counting"
    seen: list[str] = field(default_factory=list)

    def matches(self, text: str, hint: Hint) -> float:
        return 1.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        self.seen.append(text)
        return Digest(text=cut_head(text, room_chars), content="text")


def reading(reads: int = 6, words: int = LONG_WORDS, policy: str = "clear-tools") -> tuple[Session, Writer, Counting]:
    """A session that has read some long files, and what digests of it were asked for."""
    session, writer, counting = Session(budget=19_000, policy=policy, system=SYSTEM), Writer("openai_chat"), Counting()
    session.engine.planner.digests.registry = Registry().with_compressor(counting)
    session.append(writer.user("Read all notes."))
    for number in range(reads):
        session.append(writer.call("read_file", prose(words, number), path=f"notes_{number}.md"))
    return session, writer, counting


def unmade(session: Session) -> list[int]:
    engine = session.engine
    return [item.id for item in waiting(engine.log, engine.shown, engine.planner.digests)]


def views(recorded: Recorded, policy: str, *, ahead: bool) -> Iterator[list[str]]:
    session = Session(format=recorded.format, budget=8_000, policy=policy, system=recorded.system)
    for start in range(0, len(recorded.messages), 2):
        session.append(recorded.messages[start : start + 2], recorded.origins[start : start + 2])
        if ahead:
            session.prepare(20_000)
        yield dumped(session.view().messages)


@pytest.mark.parametrize("policy", ["clear-tools", "cwl", "near-tail"])
@pytest.mark.parametrize("name", ["tau2-gpt-4.1-retail", "openhands-6e5782946284"])
def test_views_are_the_same_with_digests_made_ahead_and_without(policy: str, name: str) -> None:
    recorded = next(iter(read_sessions(next(SESSIONS.glob(f"{name}*")))))
    for ahead, late in zip(views(recorded, policy, ahead=True), views(recorded, policy, ahead=False), strict=True):
        assert ahead == late


def test_a_commit_makes_no_digest_that_was_made_ahead() -> None:
    session, _, counting = reading()
    assert session.prepare(10_000_000) == 0
    made = len(counting.seen)
    assert made == 6
    commit = session.compact()
    assert commit is not None
    assert any(change.after is Level.ABSTRACT for change in commit.changes)
    assert len(counting.seen) == made


def test_one_call_reads_no_more_than_asked_the_oldest_first_and_one_item_at_least() -> None:
    session, _, counting = reading()
    before = unmade(session)
    assert session.prepare(1) == len(before) - 1
    assert unmade(session) == before[1:]
    assert counting.seen == [prose(LONG_WORDS, 0)]
    assert session.prepare(2 * len(prose(LONG_WORDS))) < len(before) - 1


def test_small_results_are_ready_as_they_enter_and_large_ones_wait() -> None:
    session, writer, _ = reading(reads=0)
    session.append(writer.call("read_file", prose(600, 1), path="small.md"))
    session.append(writer.call("read_file", prose(LONG_WORDS, 2), path="large.md"))
    small, large = (item for item in session.items() if item.name == "read_file")
    assert len(prose(600, 1)) <= ENTRY_CHARS < len(prose(LONG_WORDS, 2))
    assert session.engine.planner.digests.ready(small)
    assert unmade(session) == [large.id]


def test_a_policy_that_never_shows_digests_has_none_made_ahead() -> None:
    session, _, counting = reading(policy="window")
    assert session.prepare(10_000_000) == 0
    assert counting.seen == []


def test_what_waits_for_results_is_not_remembered_under_its_id() -> None:
    session, writer, _ = reading(reads=1, words=200)
    exchange = writer.call("read_file", prose(LONG_WORDS, 5), path="late.md")
    session.append(exchange[:1])
    assert session.engine.log.open
    call = session.items()[-1]
    assert session.costs(call.id).raw == call.tokens
    session.append(exchange[1:])
    assert session.costs(call.id).raw > 1_000


def test_costs_are_those_of_the_texts_that_would_be_shown() -> None:
    session, _, _ = reading(reads=2)
    item = next(i for i in session.items() if i.name == "read_file")
    costs, count = session.costs(item.id), session.engine.log.counter.counter.count
    assert costs.raw == item.tokens
    assert costs.abstract == count(session.digest(item.id))
    assert costs.stub < costs.masked < costs.raw
    assert costs.stub < costs.abstract <= costs.raw // 2


def test_a_text_handed_in_changes_the_cost_of_its_item() -> None:
    session, _, _ = reading(reads=2)
    item = next(i for i in session.items() if i.name == "read_file")
    before = session.costs(item.id).abstract
    session.set_digest(item.id, "The berth plan loads crane slots while the tide gauge reports drift.")
    assert session.costs(item.id).abstract < before


def test_a_read_made_again_gets_a_digest_that_points_to_the_newer_one() -> None:
    session, writer, _ = reading(reads=2)
    session.prepare(10_000_000)
    first = next(i for i in session.items() if i.name == "read_file")
    session.append(writer.call("read_file", prose(LONG_WORDS, 0) + "\none more line", path="notes_0.md"))
    assert first.id in unmade(session)
    session.prepare(10_000_000)
    assert "superseded by" in session.digest(first.id)


def test_a_compressor_that_fails_does_not_stop_what_comes_in() -> None:
    @dataclass(frozen=True, slots=True)
    class Broken(Counting):
        def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
            raise ZeroDivisionError

    session, writer, _ = reading(reads=0)
    session.engine.planner.digests.registry = Registry().with_compressor(Broken(name="broken"))
    session.append(writer.call("read_file", prose(600, 1), path="small.md"))
    session.view()
    assert any("digests not made ahead" in warning for warning in session.warnings)
