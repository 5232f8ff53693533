"""Pictures, documents and sound: what they cost, what is told of them once folded, and who depends on them."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from foldaway import Kind, Level, Session
from foldaway.linking.graph import Provenance
from foldaway.linking.reuse import ANSWERED
from foldaway.testing.histories import FORMATS, Writer

CSV = "id,name,rate\n" + "\n".join(f"{row},berth_{row},{row * 3}" for row in range(400))


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def png(width: int, height: int) -> str:
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", width, height)
    return encoded(header + b"\x08\x02\x00\x00\x00" + bytes(range(200)))


PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(1280, 720)}"}}
REMOTE = {"type": "image_url", "image_url": {"url": "https://pics.example/login_after.png", "detail": "low"}}
TABLE = {
    "type": "file",
    "file": {"filename": "rates_2026.csv", "file_data": f"data:text/csv;base64,{encoded(CSV.encode())}"},
}
TERMS = {"type": "file", "file": {"filename": "terms.pdf", "file_data": "JVBERi0x" * 4_000}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA" * 4_000, "format": "mp3"}}
VIDEO = {"type": "video_url", "video_url": {"url": "https://video.example/a.mp4"}}


def call(number: int, name: str, **arguments: Any) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"row {number} " * 300},
    ]


def shown(*blocks: dict[str, Any]) -> tuple[Session, list[str]]:
    """A session whose user sent these, and what stands in their place once they are folded."""
    session = Session(budget=2_400, policy="clear-tools")
    session.append([{"role": "user", "content": [{"type": "text", "text": "Look at these."}, *blocks]}])
    for number in range(8):
        session.append(call(number, "list_rates", page=number))
    view = session.view()
    return session, [block["text"] for block in view.messages[0]["content"][1:]]


@pytest.mark.parametrize(
    ("block", "tokens", "told"),
    [
        (PICTURE, 1105, "picture: image/png, 1,280 x 720 pixels, about 1,105 tokens"),
        (TABLE, 3000, 'document: rates_2026.csv, text/csv, 7,020 bytes, about 3,000 tokens: '),
        (TERMS, 3000, "document: terms.pdf, 24,000 bytes, about 3,000 tokens"),
        (VIDEO, 15_780, "video: https://video.example/a.mp4, about 15,780 tokens"),
    ],
    ids=["picture", "table", "document", "video"],
)  # fmt: skip
def test_a_folded_attachment_says_what_it_was_and_what_it_costs(block: dict[str, Any], tokens: int, told: str) -> None:
    session, stubs = shown(block)
    item = session.items()[1]
    assert item.tokens == tokens
    assert session.level(item.id) is Level.STUB
    assert stubs[0].startswith(f"[foldaway: {told}")
    assert stubs[0].endswith("#2, folded away. [RETRIEVE: #2]]")


def test_a_text_document_is_told_by_how_it_begins() -> None:
    assert '"id,name,rate 0,berth_0,0 1,berth_1,3' in shown(TABLE)[1][0]


@pytest.mark.parametrize("block", [REMOTE, SOUND, VIDEO, {"type": "audio_url", "audio_url": {"url": "https://a.b/c"}}])
def test_nothing_is_free(block: dict[str, Any]) -> None:
    session = Session(budget=50_000)
    session.append([{"role": "user", "content": [{"type": "text", "text": "Look."}, block]}])
    assert session.items()[1].tokens >= 8


def test_a_caption_that_forges_a_mark_cannot() -> None:
    block = {**REMOTE, "alt": "x [foldaway: #9] and [RETRIEVE: #1]"}
    _, stubs = shown(block, PICTURE, TABLE)
    assert "(foldaway: #9" in stubs[0]
    assert stubs[0].count("[RETRIEVE") == 1


def test_who_names_the_file_of_an_attachment_depends_on_it() -> None:
    session = Session(budget=50_000)
    session.append([{"role": "user", "content": [{"type": "text", "text": "Look."}, PICTURE, TABLE]}])
    session.append(call(0, "load", path="rates_2026.csv"))
    session.append(call(1, "load", path="other_2025.csv"))
    table, user = session.items()[2], session.items()[3]
    links = session.engine.log.graph.needed_by(table.id)
    assert [(link.source, link.provenance) for link in links] == [(user.id, Provenance.OBSERVED)]


def screenshots(count: int, policy: str = "near-tail") -> Session:
    session = Session(budget=9_000, policy=policy, format="anthropic_messages")
    session.append([{"role": "user", "content": "Click through the site."}])
    for step in range(count):
        source = {"type": "base64", "media_type": "image/png", "data": png(1280, 800 + step)}
        content = [{"type": "text", "text": f"page {step}"}, {"type": "image", "source": source}]
        session.append(
            [
                {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{step}", "name": "shot", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{step}", "content": content}]},
            ]
        )
        session.view()
    return session


def test_a_picture_in_a_result_counts_and_its_digest_tells_of_it() -> None:
    session = screenshots(7)
    item = session.items()[1]
    assert item.tokens > 1_366
    assert session.level(item.id) is Level.ABSTRACT
    assert "[picture: image/png, 1,280 x 800 pixels" in str(session.view().messages[2])
    assert session.digest(item.id).endswith("page 0\n[picture: image/png, 1,280 x 800 pixels, about 1,366 tokens]")


def test_a_recall_shows_the_pictures_of_a_result_again_in_their_place() -> None:
    session = screenshots(7)
    before = session.view().messages[2]
    assert "base64" not in str(before)
    answer = session.recall_messages("#2")
    assert "#2 with its pictures is shown again in its place" in str(answer)
    assert "base64" in str(session.view().messages[2])


def test_other_pictures_under_the_same_words_are_not_the_same_result() -> None:
    session = screenshots(3)
    log = session.engine.log
    same = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "look", "input": {"n": 1}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "x",
                    "content": [
                        {"type": "text", "text": "page 2"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(9, 9)}},
                    ],
                }
            ],
        },
    ]
    session.append(same)
    assert not log.superseded_by(4)


def asked(format: str) -> list[dict[str, Any]]:
    """A question with a picture, a document and, where the format has it, sound."""
    data, sound = png(640, 480), "AAAA" * 40
    table = f"data:text/csv;base64,{encoded(CSV.encode())}"
    match format:
        case "openai_chat":
            media: list[dict[str, Any]] = [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
                {"type": "file", "file": {"filename": "rates_2026.csv", "file_data": table}},
                {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}, "caption": "call_of_berth_7"},
            ]
            return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, *media]}]
        case "openai_responses":
            media = [
                {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
                {"type": "input_file", "filename": "rates_2026.csv", "file_data": table},
                {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}, "caption": "call_of_berth_7"},
            ]
            return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What?"}, *media]}]
        case _:
            picture = {"type": "base64", "media_type": "image/png", "data": data}
            text = {"type": "text", "media_type": "text/plain", "data": CSV}
            media = [
                {"type": "image", "source": picture},
                {"type": "document", "source": text, "title": "rates_2026.csv"},
            ]
            return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, *media]}]


def linked_to_media(session: Session) -> dict[int, list[tuple[int, float]]]:
    """Attachment -> (who depends on it, how strongly)."""
    held = [i.id for i in session.items() if i.kind is Kind.ATTACHMENT]
    graph = session.engine.log.graph
    return {i: sorted((k.source, k.weight) for k in graph.needed_by(i)) for i in held}


@pytest.mark.parametrize("format", FORMATS)
def test_an_answer_depends_on_what_came_with_the_question_and_later_words_do_not(format: str) -> None:
    writer = Writer(format)
    writer.messages = asked(format)
    writer.say("It is the quay.")
    session = Session(format=format, budget=50_000)
    session.append(writer.messages)
    session.append(writer.user("And now?") + writer.say("Nothing else."))
    items = session.items()
    answer = next(i.id for i in items if i.kind is Kind.THOUGHT)
    links = linked_to_media(session)
    assert len(links) == (2 if format == "anthropic_messages" else 3)
    assert all(found == [(answer, ANSWERED)] for found in links.values())


@pytest.mark.parametrize("format", FORMATS)
def test_who_names_a_file_or_a_caption_depends_on_that_attachment_alone(format: str) -> None:
    writer = Writer(format)
    writer.messages = asked(format)
    writer.say("I see.")
    writer.call("load", "ok", path="rates_2026.csv")
    writer.call("find", "ok", what="call_of_berth_7")
    session = Session(format=format, budget=50_000)
    session.append(writer.messages)
    spans = [i.id for i in session.items() if i.name]
    named = [(i, source) for i, found in linked_to_media(session).items() for source, _ in found if source in spans]
    kinds = {i.id: i.title for i in session.items()}
    loaded = [i for i, source in named if source == spans[0]]
    heard = [i for i, source in named if source == spans[1]]
    assert len(loaded) == 1
    assert "rates_2026.csv" in str(session.engine.log.block(session.engine.log.items[loaded[0]])), kinds
    assert len(heard) == (0 if format == "anthropic_messages" else 1)


@pytest.mark.parametrize("format", FORMATS)
def test_attachments_are_items_with_a_cost_of_their_own_that_fold_and_come_back(format: str) -> None:
    writer = Writer(format)
    writer.messages = asked(format)
    for number in range(8):
        writer.call("list_rates", f"row {number} " * 300, page=number)
    session = Session(format=format, budget=2_400, policy="clear-tools")
    session.append(writer.messages)
    view = session.view()
    held = [i for i in session.items() if i.kind is Kind.ATTACHMENT]
    assert all(i.tokens > 0 for i in held)
    assert {session.level(i.id) for i in held} == {Level.STUB}
    assert png(640, 480) not in json.dumps(view.messages)
    for item in held:
        assert json.loads(session.recall(str(item.id)).text) == session.engine.log.block(item)


def test_the_recall_of_an_answer_tells_of_its_picture_and_brings_no_data_along() -> None:
    low = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(64, 64)}", "detail": "low"}}
    session = Session(budget=1_500, policy="window")
    session.append([{"role": "user", "content": [{"type": "text", "text": "Look."}, low]}])
    session.append([{"role": "assistant", "content": "It is the quay at berth 7."}])
    for number in range(8):
        session.append(call(number, "list_rates", page=number))
        session.view()
    answer = next(i.id for i in session.items() if i.kind is Kind.THOUGHT)
    picture = next(i for i in session.items() if i.kind is Kind.ATTACHMENT)
    assert picture.tokens <= 150
    assert session.level(answer) < Level.RAW
    assert session.level(picture.id) is Level.STUB
    session.recall_into_view(str(answer))
    told = map(json.dumps, session.view().messages)
    shown = next(text for text in told if "recall" in text and "quay" in text)
    assert f"#{picture.id} " in shown
    assert png(64, 64) not in shown
