from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from foldaway.lab.likelihood.text import action_text, messages_text, view_text
from foldaway.model.recorded import Recorded
from foldaway.testing.histories import Writer
from foldaway.wire import FORMATS


def _history(format: str) -> Writer:
    writer = Writer(format)
    writer.user("Look at main_entry.")
    writer.call("run", "def open_box(): pass", command='cat "a.py"\nls', limit=3)
    return writer


@pytest.mark.parametrize("format", FORMATS)
def test_a_history_reads_the_same_in_every_format(format: str) -> None:
    assert messages_text(format, _history(format).messages) == (
        "[user]\nLook at main_entry.\n\n"
        '[call run]\ncommand: cat "a.py"\nls\nlimit: 3\n\n'
        "[result run]\ndef open_box(): pass\n\n"
    )


def test_system_and_tools_stand_in_front() -> None:
    text = view_text("anthropic_messages", [], [{"type": "text", "text": "Be brief."}], [{"name": "run"}])
    assert text == '[system]\nBe brief.\n\n[tools]\n{"name": "run"}\n\n'


def test_reasoning_is_not_shown() -> None:
    writer = Writer("openai_responses")
    writer.call("run", "ok", thought="secret plan", command="ls")
    assert "secret" not in messages_text("openai_responses", writer.messages)


@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages"])
def test_an_action_is_its_calls_without_the_words_before(format: str, build: Callable[..., Recorded]) -> None:
    writer = Writer(format)
    writer.user("Go.")
    writer.call("run", "ok", thought="I will run ls now.", command="ls")
    recorded = Recorded(name="x", source_format="test", format=format, messages=writer.messages)
    assert action_text(recorded, 1, 2) == "[call run]\ncommand: ls\n\n"


def test_an_action_without_calls_is_its_words(build: Callable[..., Recorded]) -> None:
    answer: dict[str, Any] = {"role": "assistant", "content": "ls -l"}
    assert action_text(build({"role": "user", "content": "Go."}, answer), 1, 2) == "[assistant]\nls -l\n\n"
