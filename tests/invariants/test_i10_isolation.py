"""I10: one user or session never sees another's items, notes or hits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import MemoryStore, RecallError, Session
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS, Writer, working_session

OWNERS = (("ann", "work"), ("ann", "play"), ("bob", "work"))


def open_session(
    store: MemoryStore, owner: tuple[str, str], policy: str = "window", format: str = "openai_chat"
) -> Session:
    return Session(budget=1500, policy=policy, format=format, store=store, user=owner[0], name=owner[1])


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=5, deadline=None)
@given(order=st.lists(st.integers(0, 2), min_size=6, max_size=14), format=st.sampled_from(FORMATS))
def test_interleaved_sessions_on_one_store_never_mix(policy: str, order: list[int], format: str) -> None:
    store = MemoryStore()
    sessions = [open_session(store, owner, policy, format) for owner in OWNERS]
    writers = [Writer(format) for _ in OWNERS]
    for n, who in enumerate(order):
        secret = f"secret_{who}_of_owner"
        messages = writers[who].user(f"{secret} {n}") + writers[who].call(
            "read_file", f"{secret}\n" * 60, path=f"{n}.md"
        )
        sessions[who].append(messages)
        sessions[who].view()
        sessions[who].remember(f"{secret} noted", key="note")
    for who, session in enumerate(sessions):
        reopened = open_session(store, OWNERS[who], policy, format)
        for other in {0, 1, 2} - {who}:
            foreign = f"secret_{other}_of_owner"
            for one in (session, reopened):
                seen = [str(one.view().messages), *(hit.text for hit in one.search(foreign)), one.recall("#1-#99").text]
                seen += [one.recall(foreign).text, *(note.text for note in one.notes())]
                assert not any(foreign in text for text in seen)


def test_a_handle_or_an_id_of_another_session_opens_nothing() -> None:
    store = MemoryStore()
    mine, other = open_session(store, OWNERS[0]), open_session(store, OWNERS[2])
    mine.append(working_session("openai_chat", 3))
    note = mine.remember("the rate is 9731", key="rate")
    assert other.note(handle=note.handle) is None
    assert not other.recall("#1").found
    with pytest.raises(RecallError):
        other.explain(1)
    with pytest.raises(RecallError):
        other.pin(1)
