"""Recalls that bring more than one text: attachments, dependencies, refetches and the working set."""

from __future__ import annotations

import base64
import json
from typing import Any

from foldaway import Level, Session
from foldaway.testing.histories import Writer, prose

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + b"\0\0\4\0\0\0\3\0" + b"x" * 3000


def with_pictures() -> list[dict[str, Any]]:
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Compare the plans."}]
    for n in range(5):
        picture = {"type": "image_url", "image_url": {"url": url}}
        messages.append({"role": "user", "content": [{"type": "text", "text": f"plan {n}"}, picture]})
        messages.append({"role": "assistant", "content": prose(90, n)})
    return messages


def test_a_folded_picture_comes_back_as_its_block_and_shows_again_when_the_model_asks() -> None:
    messages = with_pictures()
    session = Session(budget=1500)
    session.append([*messages, {"role": "user", "content": "And now?"}])
    session.view()
    picture = session.items_of(1)[1]
    assert session.level(picture) < Level.RAW
    assert json.loads(session.recall(str(picture)).text) == messages[1]["content"][1]
    session.append([{"role": "assistant", "content": f"I must see it. [RETRIEVE: #{picture}]"}])
    view = session.view()
    assert session.level(picture) is Level.RAW
    assert messages[1] in view.messages
    assert "shown again in its place" in json.dumps(view.messages[-1])


def folded_reader() -> tuple[Session, int]:
    writer = Writer("openai_chat")
    writer.user("Mend the berth planner.")
    writer.call("grep", "src/berths.py:7: BERTH_TABLE_77", pattern="BERTH")
    writer.call("read_file", f"BERTH_TABLE_77 = load()\n{prose(120, 1)}", path="src/berths.py")
    for n in range(8):
        writer.call("bash", prose(160, n), command=f"make step{n}")
    session = Session(budget=1500, policy="window")
    session.append(writer.messages)
    session.view()
    return session, session.items_of(4)[0]


def test_a_served_recall_names_what_the_item_rests_on() -> None:
    session, read = folded_reader()
    assert session.level(read) <= Level.STUB
    session.append([{"role": "assistant", "content": f"[RETRIEVE: #{read}]"}])
    tail = json.dumps(session.view().messages[-1], ensure_ascii=False)
    assert "BERTH_TABLE_77 = load()" in tail
    assert "it rests on:" in tail
    assert "grep BERTH" in tail


def test_a_call_made_again_after_its_fold_is_a_fault_and_the_second_time_its_answer_is_protected_ever_longer() -> None:
    session, _ = folded_reader()
    protected = []
    for turn in range(3):
        writer = Writer("openai_chat")
        writer.call("read_file", f"BERTH_TABLE_77 = load()\n{prose(120, 1)}", path="src/berths.py")
        session.append(writer.messages)
        again = max(i.id for i in session.items())
        protected.append(session.engine.guards.get(again, 0) - session.engine.log.step)
        for n in range(8 << (turn + 1)):
            filler = Writer("openai_chat")
            filler.call("bash", prose(160, n), command=f"make more{turn}-{n}")
            session.append(filler.messages)
            session.view()
    assert [e["type"] for e in session.ledger].count("refetch") == 3
    assert protected[0] <= 0 < protected[1] < protected[2]


def test_the_read_of_a_file_under_edit_comes_back_before_the_next_edit() -> None:
    code = "\n".join(f"def load_part_{n}(crate): return crate * {n}" for n in range(30))
    writer = Writer("openai_chat")
    writer.user("Rename the loaders one by one.")
    writer.call("read_file", code, path="src/loaders.py")
    for n in range(20):
        writer.call("read_file", prose(200, n), path=f"src/other{n}.py")
    session = Session(budget=4000)
    session.append(writer.messages)
    session.view()
    assert session.level(2) <= Level.STUB
    edit = Writer("openai_chat")
    old = "def load_part_3(crate): return crate * 3"
    edit.call("edit_file", "ok", path="src/loaders.py", old_string=old, new_string="def third(crate): ...")
    session.append(edit.messages)
    view = session.view()
    assert "def load_part_4(crate): return crate * 4" in json.dumps(view.messages[-1])
    assert view.tokens <= 4000
    before = json.dumps(view.messages)
    assert json.dumps(session.view().messages) == before
