"""A session that is let go of is freed at once, whole: servers keep many, and look for cycles seldom."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from foldaway.session import Session


def told(steps: int) -> list[dict[str, str]]:
    found = [{"role": "user", "content": "Do the task."}]
    for n in range(steps):
        found += [{"role": "assistant", "content": f"step {n}"}, {"role": "user", "content": f"see f{n}.py " * 40}]
    return found


@pytest.mark.parametrize("policy", ["auto", "self-gc", "layered", "cwl", "ace"])
def test_nothing_of_a_session_waits_for_the_search_for_cycles(policy: str, tmp_path: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        store = f"sqlite:///{tmp_path / 's.db'}"
        with Session(budget=1_500, policy=policy, store=store) as session:
            session.append(told(30))
            assert session.view().commit is not None
        # Opened again, it builds an engine from what is stored.
        with Session(budget=1_500, policy=policy, store=store) as session:
            session.append(told(30)[1:3])
            session.recall("#4")
            session.view()
        left = [weakref.ref(o) for o in (session, session.engine.log, session.engine.planner)]
        del session
        assert [ref() for ref in left] == [None, None, None]
    finally:
        gc.enable()
