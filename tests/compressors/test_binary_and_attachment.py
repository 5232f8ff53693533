from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from foldaway.compressors.attachment import Attachment, described, digest, media_in
from foldaway.compressors.base import Hint
from foldaway.compressors.binary import Binary, without_payload

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1280, 720) + bytes(range(256)) * 3
KINDS = [
    (PNG, "PNG image"),
    (b"%PDF-1.7\n" + bytes(range(200)) * 4, "PDF document"),
    (b"PK\x03\x04" + bytes(range(250)) * 3, "ZIP archive or Office document"),
    (bytes(range(1, 250)) * 4, "binary data"),
    (b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(range(250)) * 3, "WebP image"),
]


@pytest.mark.parametrize(("raw", "kind"), KINDS, ids=lambda value: value if isinstance(value, str) else "")
def test_payload_is_named_by_its_first_bytes_and_its_size(raw: bytes, kind: str) -> None:
    data = base64.b64encode(raw).decode()
    text = f"saved plot to out/plot_3.png\n{data}\ndone"
    found = Binary().digest(text, Hint(), 200)
    assert found.text == f"saved plot to out/plot_3.png\n[{kind}: {len(data):,} characters]\ndone"
    assert found.content == kind
    assert Binary().matches(text, Hint()) > 0.8


def test_data_urls_say_their_type_themselves() -> None:
    text, kinds = without_payload(f'<img src="data:image/webp;base64,{base64.b64encode(PNG).decode()}">')
    assert text.startswith('<img src="[image/webp: ')
    assert kinds == {"image/webp": 1}


@pytest.mark.parametrize(
    "text",
    ["a" * 500, "commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "/".join(["some_long_folder"] * 20), "word " * 100],
)
def test_hashes_paths_and_words_are_no_payload(text: str) -> None:
    assert without_payload(text)[0] == text
    assert Binary().matches(text, Hint()) == 0.0


def test_raw_bytes_are_counted_not_shown() -> None:
    text = "\x7fELF" + "".join(chr(n % 32) for n in range(600))
    assert Binary().digest(text, Hint(), 100).text == "[ELF executable: 604 characters]"


def test_a_picture_is_one_line() -> None:
    picture = Attachment(
        media="image/png", data=base64.b64encode(PNG).decode(), tokens=1105, caption="Login page\nafter"
    )
    assert (
        digest(picture, 200).text == '[picture: image/png, 1,280 x 720 pixels, about 1,105 tokens: "Login page after"]'
    )


@pytest.mark.parametrize("room", [0, 5, 12, 30, 60, 90, 200])
def test_caption_and_name_go_first_when_there_is_no_room(room: int) -> None:
    document = Attachment(media="application/pdf", name="terms_2026.pdf", tokens=3000, caption="What was signed")
    line = digest(document, room).text
    assert len(line) <= room
    assert (room < 10) == (line == "")
    assert ("terms_2026.pdf" in line) == (room >= 90) or room == 60


def test_a_data_url_needs_no_type_beside_it() -> None:
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert digest(Attachment(data=url), 100).text == "[picture: image/png, 1,280 x 720 pixels]"


BLOCKS: list[tuple[dict[str, Any], str]] = [
    ({"type": "input_image", "image_url": "https://a.example/x.png"}, "[picture: https://a.example/x.png]"),
    ({"type": "input_image", "file_id": "file-7"}, "[picture: file-7]"),
    ({"type": "image", "data": "AAAA", "mimeType": "image/jpeg"}, "[picture: image/jpeg, 3 bytes]"),
    (
        {"type": "image", "source": {"type": "url", "url": "https://a.example/y.gif"}},
        "[picture: https://a.example/y.gif]",
    ),
    ({"type": "input_file", "filename": "a.pdf", "file_data": "AAAA"}, "[document: a.pdf, 3 bytes]"),
    ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "[sound: audio/wav, 3 bytes]"),
    (
        {"type": "document", "title": "Terms", "context": "Signed in May", "source": {"type": "file", "file_id": "f1"}},
        '[document: Terms: "Signed in May"]',
    ),
    (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Article 1.\nArticle 2."}},
        '[document: text/plain: "Article 1. Article 2."]',
    ),
    (
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "Article 7."}]}},
        '[document: "Article 7."]',
    ),
    ({"type": "audio_url", "audio_url": {"url": "https://a.example/z.mp3"}}, "[sound: https://a.example/z.mp3]"),
]


@pytest.mark.parametrize(("block", "line"), BLOCKS, ids=lambda value: value if isinstance(value, str) else "")
def test_blocks_of_every_format_are_told_alike(block: dict[str, Any], line: str) -> None:
    assert media_in([block]) == [block]
    assert digest(described(block), 200).text == line


@pytest.mark.parametrize(
    "block", [None, "text", [], {}, {"type": "image"}, {"type": "file", "file": None}, {"source": 5}]
)
def test_what_is_no_attachment_is_told_all_the_same(block: Any) -> None:
    assert digest(described(block), 200).text.startswith("[")


def test_a_damaged_data_url_has_no_opening() -> None:
    block = {"type": "file", "file": {"file_data": "data:text/plain;base64,%%%\u00e9"}}
    assert described(block).opening == ""
