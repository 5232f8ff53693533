"""What a fold note opens with, and what is promised of each item it covers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from foldaway import Change, Level, RecallError, Session, SettingsError
from foldaway.engine.snapshot import Snapshot
from foldaway.model.plan import Action, Section, action_of
from foldaway.testing.histories import Writer, prose, working_session


@dataclass(frozen=True, slots=True)
class Telling:
    """Folds the oldest items and opens the note with what it was given."""

    sections: tuple[Section, ...] = ()
    action: Action | None = None
    most: int = 10

    def propose(self, snapshot: Snapshot) -> Iterator[Any]:
        yield from self.sections
        for item in snapshot.foldable[: self.most]:
            yield Change(item=item.id, level=Level.STUB, reason="oldest", action=self.action)


def session(policy: Any = "window", **fields: Any) -> Session:
    made = Session(**{"budget": 2_500, "policy": policy, **fields})
    made.append(working_session("openai_chat", 30, words=80))
    return made


def note(made: Session) -> str:
    made.view()
    assert made.engine.shown.note is not None
    return made.engine.shown.note.text


def test_a_section_from_outside_opens_the_note_and_takes_its_room_into_account() -> None:
    made = session(Telling(most=30))
    made.set_section("State", "The rates are fixed.\nTwo berths are open.", sources=[2, 3, 2])
    text = note(made)
    assert text.index("The rates are fixed.") < re.search(r"^#\d+ ", text, re.MULTILINE).start()  # type: ignore[union-attr]
    record = next(e for e in made.ledger if e["type"] == "section")
    assert (record["title"], record["sources"], record["source"]) == ("State", [2, 3], "caller")
    assert made.engine.snapshot().sections_tokens == 0
    assert made.view().tokens <= 2_500


def test_sections_keep_their_order_and_one_of_the_same_title_replaces_the_other() -> None:
    made = session()
    made.set_section("State", "old state")
    made.set_section("Digest", "a digest")
    made.set_section("State", "new state")
    text = note(made)
    assert "old state" not in text
    assert text.index("a digest") < text.index("new state")


def test_a_section_without_text_takes_it_out() -> None:
    made = session()
    made.set_section("State", "here")
    assert "here" in note(made)
    made.set_section("State", "")
    made.append(working_session("openai_chat", 20, words=80)[1:])
    assert "here" not in note(made)


def test_sections_survive_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with session(store=url) as made:
        made.set_section("State", "The rates are fixed.")
        before = made.view().messages
    with Session(budget=2_500, policy="window", store=url) as again:
        assert again.view().messages == before
        again.append(working_session("openai_chat", 20, words=80)[1:])
        assert "The rates are fixed." in note(again)


def test_a_pin_leaves_sections_where_they_are() -> None:
    made = session()
    made.set_section("State", "The rates are fixed.")
    assert "The rates are fixed." in note(made)
    folded = next(i.id for i in made.items() if made.level(i.id) < Level.RAW)
    made.pin(folded)
    assert made.level(folded) is Level.RAW
    assert "The rates are fixed." in note(made)


def test_sections_give_way_last() -> None:
    made = session(Telling(most=30), budget=4_000, low_share=0.5)
    made.set_section("State", "The rates are fixed.")
    made.append(Writer("openai_chat").call("bash", prose(2_900), command="cat big"))
    text = note(made)
    assert made.view().tokens <= 4_000
    assert "The rates are fixed." in text
    assert "note is full: oldest lines go first" in {row[3] for row in made.ledger[-1]["changes"]}


def test_a_giant_section_gives_way_before_the_ceiling_does() -> None:
    made = session()
    made.set_section("State", prose(4_000))
    view = made.view()
    assert view.tokens <= 2_500
    assert not view.missing_tokens


def test_a_policy_may_yield_sections() -> None:
    made = session(Telling(sections=(Section(title="State", text="The rates are fixed."),), most=30))
    text = note(made)
    assert "The rates are fixed." in text
    assert made.ledger[-1]["sections"][0][0] == "State"


def test_a_section_needs_a_title_and_known_sources() -> None:
    made = session()
    with pytest.raises(SettingsError, match="title"):
        made.set_section(" ", "text")
    with pytest.raises(RecallError, match="#999"):
        made.set_section("State", "text", sources=[999])
    assert made.ledger == []


def test_the_ledger_keeps_the_action_of_each_change() -> None:
    made = session(Telling(action=Action.ARCHIVE))
    made.compact()
    rows = made.ledger[-1]["changes"]
    assert "archive" in {row[6] for row in rows}
    plain = session(Telling(most=2), budget=6_000, low_share=0.3)
    plain.compact()
    assert {row[6] for row in plain.ledger[-1]["changes"]} >= {"fold"}


def test_every_action_promises_something_and_every_level_amounts_to_one() -> None:
    assert len({action.promise for action in Action}) == len(Action)
    assert [action_of(level) for level in Level] == [
        Action.ARCHIVE, Action.FOLD, Action.MASK, Action.MASK, Action.KEEP,
    ]  # fmt: skip


def test_to_prune_what_nothing_proves_obsolete_is_refused() -> None:
    made = session(Telling(action=Action.PRUNE))
    commit = made.view().commit
    assert commit is not None
    refused = {r.code for r in commit.refused}
    assert "not-obsolete" in refused
    assert not [c for c in commit.changes if c.action is Action.PRUNE]
