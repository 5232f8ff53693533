"""I2: same log, ledger and settings give the same bytes, in any process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS
from foldaway.testing.walks import MOVES, Move, Walk, dumped

MOVE_LISTS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 59)), min_size=1, max_size=8)
BUDGETS = st.sampled_from((900, 1500, 3000))


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_another_process_on_the_same_store_sends_the_same_bytes(
    policy: str, moves: list[Move], format: str, budget: int
) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    for move, view in walk.play(moves):
        if view is not None:
            with walk.open() as other:
                assert dumped(other.view().messages) == dumped(view.messages), move


@pytest.mark.parametrize("policy", policy_names())
def test_protection_after_an_undo_outlives_a_restart(policy: str) -> None:
    walk = Walk(format="openai_chat", policy=policy, budget=1200, warm_steps=14)
    assert walk.session.view().commit is not None
    assert walk.session.undo()
    again = walk.open()
    assert again.engine.guards == walk.session.engine.guards
    assert dumped(again.view().messages) == dumped(walk.session.view().messages)


def test_hash_seeds_do_not_matter() -> None:
    script = (
        "import hashlib\n"
        "from foldaway import Session\n"
        "from foldaway.settings.parts import policy_names\n"
        "from foldaway.testing.histories import FORMATS, working_session\n"
        "from foldaway.testing.walks import dumped\n"
        "for policy in policy_names():\n"
        "    for format in FORMATS:\n"
        "        s = Session(budget=1500, policy=policy, format=format)\n"
        "        s.append(working_session(format, 20))\n"
        "        print(hashlib.sha256('|'.join(dumped(s.view().messages)).encode()).hexdigest())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "77")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == len(policy_names()) * len(FORMATS)
