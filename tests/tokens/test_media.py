from __future__ import annotations

import base64
import struct

import pytest

from foldaway.tokens.media import PicturePrice, document_tokens, picture_price, pixel_size


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def png(width: int, height: int) -> str:
    return encoded(b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02" + bytes(40))


def jpeg(width: int, height: int, before: int = 0) -> str:
    preview = b"\xff\xe1" + struct.pack(">H", before + 2) + bytes(before)
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return encoded(b"\xff\xd8" + preview + frame + bytes(40))


def gif(width: int, height: int) -> str:
    return encoded(b"GIF89a" + struct.pack("<HH", width, height) + bytes(40))


def webp(kind: bytes, body: bytes) -> str:
    return encoded(b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", 50) + body + bytes(40))


@pytest.mark.parametrize(
    "data",
    [
        png(800, 600),
        jpeg(800, 600),
        jpeg(800, 600, before=60_000),
        gif(800, 600),
        webp(b"VP8X", bytes(4) + (799).to_bytes(3, "little") + (599).to_bytes(3, "little")),
        webp(b"VP8L", b"\x2f" + (799 | 599 << 14).to_bytes(4, "little")),
        webp(b"VP8 ", bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 800, 600)),
        "\n".join([png(800, 600)[:20], png(800, 600)[20:]]),
    ],
)
def test_measures_are_read_from_the_header(data: str) -> None:
    assert pixel_size(data) == (800, 600)


@pytest.mark.parametrize(
    "data",
    ["", "A", "not base64 at all!", encoded(bytes(3_000)), png(800, 600)[:20], png(0, 600), "中", jpeg(8, 8)[:12]],
)
def test_measures_that_cannot_be_read_are_none(data: str) -> None:
    assert pixel_size(data) is None


@pytest.mark.parametrize(
    ("size", "detail", "tokens"),
    [
        # The worked examples of OpenAI's own guide.
        ((1024, 1024), "high", 765),
        ((2048, 4096), "high", 1105),
        ((4096, 8192), "low", 85),
        ((100, 100), "", 255),
    ],
)
def test_openai_charges_by_tiles(size: tuple[int, int], detail: str, tokens: int) -> None:
    assert picture_price("gpt-4o", "openai_chat").tokens(size, detail) == tokens


def test_small_openai_models_charge_by_patches() -> None:
    price = picture_price("gpt-4.1-mini", "openai_chat")
    assert price.tokens((1024, 1024)) == 1659
    assert price.tokens((8000, 8000)) == price.tokens(None)


def test_anthropic_charges_by_area_up_to_its_longest_side() -> None:
    price = picture_price("claude-opus-4-5", "anthropic_messages")
    assert price.tokens((750, 100)) == 100
    assert price.tokens((8000, 8000)) == 1600
    assert picture_price("claude-opus-4-8", "anthropic_messages").tokens((8000, 8000)) == 4784


@pytest.mark.parametrize(
    "model", ["", "gpt-4o", "gpt-4o-mini", "gpt-5", "o4-mini", "claude-opus-4-5", "claude-opus-4-8"]
)
@pytest.mark.parametrize("size", [(1, 1), (1, 99_999), (1568, 1568), (4096, 4096), (2048, 768)])
def test_a_picture_of_unknown_size_costs_the_most(model: str, size: tuple[int, int]) -> None:
    price: PicturePrice = picture_price(model, "openai_chat")
    assert 0 < price.tokens(size) <= price.tokens(None)


def test_a_document_costs_by_its_size_within_bounds() -> None:
    assert document_tokens(10) == 3_000
    assert document_tokens(400_000) == 9_000
    assert document_tokens(10**9) == 300_000
