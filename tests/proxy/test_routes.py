"""Which paths are managed, where they go, and that a log shows no key that stood in one."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.errors import SettingsError
from foldaway.proxy import ProxySettings
from foldaway.proxy.routes import route_of, shown
from foldaway.testing.scripted_http import chat

Worlds = Callable[..., Any]
TURNS = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "word " * 100} for n in range(41)]
ASKED = {"model": "m", "max_tokens": 9, "messages": TURNS, "input": TURNS}


@pytest.mark.parametrize(
    ("path", "goes_to"),
    [
        ("/chat/completions", "http://openai.test/v1/chat/completions"),
        ("/responses", "http://openai.test/v1/responses"),
        ("/messages", "http://anthropic.test/v1/messages"),
        ("/api/v1/chat/completions", "http://openai.test/api/v1/chat/completions"),
        ("/openai/deployments/gpt/chat/completions", "http://openai.test/openai/deployments/gpt/chat/completions"),
    ],
)
def test_a_base_url_without_the_version_or_with_a_path_is_managed_too(world: Worlds, path: str, goes_to: str) -> None:
    made = world([chat()], budget=1_000)
    answer = made.ask(path, ASKED)
    assert answer.header("x-foldaway-view")
    (sent,) = made.upstream.sent
    assert sent.url == goes_to
    assert len(sent.content) < len(json.dumps(ASKED))
    assert made.ask(path, None, method="GET").header("x-foldaway-view") is None


def test_an_upstream_with_a_path_gets_no_version_put_in(world: Worlds) -> None:
    made = world([chat()], openai_upstream="http://gemini.test/v1beta/openai")
    made.ask("/chat/completions", ASKED)
    assert made.upstream.sent[0].url == "http://gemini.test/v1beta/openai/chat/completions"


@pytest.mark.parametrize("path", ["/v1/threads/t1/messages", "/v1/messages/count_tokens", "/v1/other/responses"])
def test_paths_that_only_end_alike_pass(path: str) -> None:
    assert route_of(path) == ""


def test_what_the_settings_put_in_front_is_cut_off(world: Worlds) -> None:
    made = world([chat()], path_prefix="/llm", token="tok")
    assert made.ask("/llm/t/tok/v1/chat/completions", ASKED).header("x-foldaway-view")
    assert made.ask("/llm/health", None, method="GET").status == 200
    assert made.ask("/llmx/v1/models", None, [(b"x-foldaway-token", b"tok")], method="GET").status == 200
    assert [s.url for s in made.upstream.sent] == [
        "http://openai.test/v1/chat/completions", "http://openai.test/llmx/v1/models",
    ]  # fmt: skip
    with pytest.raises(SettingsError, match="path_prefix"):
        ProxySettings(path_prefix="llm/")


def test_a_key_in_a_path_or_a_query_is_in_no_log(world: Worlds, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = world([chat()])
    for path in ("/v1/chat/completions", "/k/SECRETKEY/v1/chat/completions", "/SECRETKEY/models", "/v1/SECRETKEY"):
        assert made.ask(f"{path}?key=SECRETKEY&api-version=1", ASKED).status == 200
    assert "key=SECRETKEY" in made.upstream.sent[0].url
    assert "SECRETKEY" not in caplog.text
    assert "SECRETKEY" not in made.ask("/metrics", None, method="GET").content.decode()
    told = [json.loads(r.getMessage())["path"] for r in caplog.records if r.name == "foldaway.proxy"]
    assert told[:3] == ["/v1/chat/completions", "/*/*/v1/chat/completions", "/*/models"]


def test_a_path_of_many_parts_is_cut_in_a_log() -> None:
    assert len(shown("/v1" * 5_000)) < 60
