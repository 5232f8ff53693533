"""Behind the proxy, secrets lie encrypted in the store, and sessions go on where they were, in another process too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="needs the extra proxy")
pytest.importorskip("cryptography", reason="needs the extra encrypt")

from foldaway import Session, SqliteStore
from foldaway.stores.encryption import KEY_FILE_IN, new_key
from foldaway.testing.histories import Writer, prose
from foldaway.testing.scripted_http import chat

# In two parts, so that no scanner takes this file for a leak.
SECRET = "sk-" + "madeup-0123456789madeup0123456789madeup"


def test_a_secret_in_a_tool_result_is_in_no_byte_of_the_store_and_the_model_sees_it(
    world: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keys").write_text(new_key())
    monkeypatch.setenv(KEY_FILE_IN, str(tmp_path / "keys"))
    (tmp_path / "store").mkdir()
    url = f"sqlite:///{tmp_path / 'store' / 's.db'}"
    told = Writer("openai_chat")
    told.user("Read conf.yaml, then deploy.")
    told.call("bash", f"api_key: {SECRET}\n{prose(9_000)}", command="cat conf.yaml")
    seen: list[Any] = []
    for number in range(3):
        # Each time another process: nothing is known but what the store has.
        made = world([chat(f"step {number}")], store=url, budget=2_500, redact="encrypt")
        answer = made.ask("/v1/chat/completions", {"model": "m", "messages": told.messages})
        assert answer.status == 200
        seen.append(str(made.upstream.sent[-1].body))
        told.say(f"step {number}")
        told.call("bash", prose(4_000), command=f"deploy {number}")
    assert SECRET in seen[0]
    data = b"".join(path.read_bytes() for path in sorted((tmp_path / "store").iterdir()))
    assert SECRET.encode() not in data
    with SqliteStore(tmp_path / "store" / "s.db") as store:
        places = [(user, name) for user in store.users() for name in store.sessions(user)]
        ((user, name),) = [(user, name) for user, name in places if user != "foldaway proxy"]  # recognised each time
        with Session(store=store, user=user, name=name, budget=2_500, redact="encrypt") as session:
            assert SECRET in session.recall("#2").text
        with Session(store=store, user=user, name=name, budget=2_500, redact=True) as session:
            assert "api_key: [redacted:api-key:1]" in session.recall("#2").text
