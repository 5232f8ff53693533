"""I1: any item can be brought back byte for byte at any time, also after a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway import Level, Session
from foldaway.settings.parts import policy_names
from foldaway.testing.histories import FORMATS, prose, working_session
from foldaway.testing.walks import MOVES, Move, Walk

MOVE_LISTS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 59)), min_size=1, max_size=8)
BUDGETS = st.sampled_from((900, 1500, 3000))


@pytest.mark.parametrize("policy", policy_names())
@settings(max_examples=6, deadline=None)
@given(moves=MOVE_LISTS, format=st.sampled_from(FORMATS), budget=BUDGETS)
def test_every_item_comes_back_word_for_word_after_any_walk(
    policy: str, moves: list[Move], format: str, budget: int
) -> None:
    walk = Walk(format=format, policy=policy, budget=budget, warm_steps=8)
    for _ in walk.play(moves):
        pass
    for position, message in enumerate(walk.writer.messages if not any(m[0] == "directive" for m in moves) else ()):
        texts = [walk.session.recall(f"#{item}").text for item in walk.session.items_of(position)]
        assert all(any(said in text for text in texts) for said in plain_texts(message)), message


def plain_texts(message: dict[str, Any]) -> list[str]:
    """What people and tools wrote in a message, as it stands there."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    said = [b.get("text") or b.get("content") for b in blocks if b.get("type") != "tool_use"]
    found = [content, message.get("output"), *said]
    return [text for text in found if isinstance(text, str)]


@pytest.mark.parametrize("format", FORMATS)
def test_the_arguments_of_a_folded_call_come_back_too(format: str) -> None:
    walk = Walk(format=format, policy="window", budget=900)
    secret = "\n".join(f"row {n}: crane slot {n * 7919}" for n in range(80))
    walk.add(walk.writer.call("edit_file", "ok", path="src/slots.py", text=secret))
    edit = walk.session.items()[-1].id
    for n in range(6):
        walk.add(walk.writer.call("read_file", prose(150, n), path=f"{n}.md"))
        walk.session.view()
    assert walk.session.level(edit) < Level.RAW
    assert "crane slot 7919" in walk.session.recall(f"#{edit}.call").text


def test_a_process_that_dies_without_closing_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    script = (
        "import os, sys\n"
        "from foldaway import Session\n"
        "from foldaway.testing.histories import working_session\n"
        "s = Session(budget=1500, store=f'sqlite:///{sys.argv[1]}', policy='window')\n"
        "s.append(working_session('openai_chat', 20))\n"
        "s.view()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    died = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert died.returncode == -9
    with Session(budget=1500, store=f"sqlite:///{path}", policy="window") as session:
        assert any(session.level(item.id) < Level.RAW for item in session.items())
        history = working_session("openai_chat", 20)
        for position, message in enumerate(history):
            if message["role"] == "tool":
                [item] = session.items_of(position)
                assert session.recall(f"#{item}").text == message["content"]
