"""What pictures, documents and sound cost: by their measures, never by the letters of their base64.

Rules of price, as published by the vendors: OpenAI scales a picture into 2048 x 2048, then its shorter side to 768,
and charges a base and a price for each 512-pixel tile; its small models charge for 32-pixel patches, 1,536 at most.
Anthropic charges width * height / 750 after scaling to a longest side of 1,568 (2,576 from Claude 4.7 on).
Google charges 263 tokens for a second of video with sound, OpenAI ten for a second of sound.
A picture whose measures cannot be read (a URL, a file id, a damaged header) costs what the largest would.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from dataclasses import dataclass
from typing import Any

from foldaway.tokens.families import bare_name, claude_is_new

_HEAD_CHARS = 262_144
"""Base64 characters looked at: a JPEG's measures may stand behind a preview and a colour profile."""

_DOCUMENT_TOKENS_PER_STEP = 3_000
_DOCUMENT_STEP_BYTES = 100_000
_DOCUMENT_MOST = 300_000
_DOCUMENT_UNKNOWN = 6_000
_SOUND_BYTES_PER_TOKEN = 1_600
_SOUND_UNKNOWN = 1_000
_VIDEO_TOKENS_PER_SECOND = 263
_VIDEO_BYTES_PER_SECOND = 125_000
_VIDEO_UNKNOWN_SECONDS = 60


def pixel_size(data: str) -> tuple[int, int] | None:
    """Width and height of a PNG, JPEG, GIF or WebP given as base64; None when that cannot be read.

    Looks at the first 192 KB only, whatever the length.
    """
    raw = _decoded(data[:64])
    if raw[:2] == b"\xff\xd8":
        size = _jpeg(_decoded(data[:_HEAD_CHARS]))
    else:
        size = _png(raw) or _gif(raw) or _webp(raw)
    return size if size is not None and size[0] > 0 and size[1] > 0 else None


def _decoded(data: str) -> bytes:
    letters = "".join(data.split()).encode("ascii", "ignore").rstrip(b"=")
    try:
        return base64.b64decode(letters[: len(letters) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _png(raw: bytes) -> tuple[int, int] | None:
    if raw[:8] != b"\x89PNG\r\n\x1a\n" or len(raw) < 24:
        return None
    return int.from_bytes(raw[16:20], "big"), int.from_bytes(raw[20:24], "big")


def _gif(raw: bytes) -> tuple[int, int] | None:
    if raw[:6] not in (b"GIF87a", b"GIF89a") or len(raw) < 10:
        return None
    return int.from_bytes(raw[6:8], "little"), int.from_bytes(raw[8:10], "little")


def _webp(raw: bytes) -> tuple[int, int] | None:
    if raw[:4] != b"RIFF" or raw[8:12] != b"WEBP" or len(raw) < 30:
        return None
    kind = raw[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(raw[24:27], "little"), 1 + int.from_bytes(raw[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(raw[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        return int.from_bytes(raw[26:28], "little") & 0x3FFF, int.from_bytes(raw[28:30], "little") & 0x3FFF
    return None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    if raw[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 <= len(raw):
        if raw[at] != 0xFF:
            return None
        marker = raw[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame header
            return int.from_bytes(raw[at + 7 : at + 9], "big"), int.from_bytes(raw[at + 5 : at + 7], "big")
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # markers without a body
            at += 2
        else:
            at += 2 + max(2, int.from_bytes(raw[at + 2 : at + 4], "big"))
    return None


@dataclass(frozen=True, slots=True)
class PicturePrice:
    """How one model charges for pictures. The defaults are OpenAI's tiles as of GPT-4o."""

    base: int = 85
    tile: int = 170
    patch_factor: float = 0.0
    """Charged by patches instead of tiles when above 0."""
    longest_side: int = 0
    """Charged by area instead (Anthropic) when above 0."""
    most: int = 0

    def tokens(self, size: tuple[int, int] | None, detail: str = "") -> int:
        """Cost of a picture of this size in pixels; None: not known, the most that one picture can cost."""
        if self.longest_side:
            return self.most if size is None else self._by_area(*size)
        if self.patch_factor:
            return self._by_patches(*size) if size is not None else math.ceil(1536 * self.patch_factor)
        if detail == "low":
            return self.base
        return self.base + self.tile * (8 if size is None else _tiles(*size))

    def _by_area(self, width: int, height: int) -> int:
        scale = min(1.0, self.longest_side / max(width, height))
        return max(1, min(self.most, math.ceil(width * scale * height * scale / 750)))

    def _by_patches(self, width: int, height: int) -> int:
        patches = math.ceil(width / 32) * math.ceil(height / 32)
        return math.ceil(min(1536, patches) * self.patch_factor)


def _tiles(width: int, height: int) -> int:
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return max(1, math.ceil(width * scale / 512) * math.ceil(height * scale / 512))


_PATCHES = (
    (re.compile(r"gpt-4\.1-nano|gpt-5(\.\d)?-nano"), 2.46),
    (re.compile(r"o4-mini"), 1.72),
    (re.compile(r"gpt-4\.1-mini|gpt-5(\.\d)?-mini"), 1.62),
)
_TILES = (
    (re.compile(r"gpt-4o-mini"), PicturePrice(2833, 5667)),
    (re.compile(r"gpt-5"), PicturePrice(70, 140)),
    (re.compile(r"o[13]"), PicturePrice(75, 150)),
)


def picture_price(model: str, format: str) -> PicturePrice:
    """How this model charges for pictures; models nobody knows are charged as the format's vendor does."""
    name = bare_name(model)
    if "claude" in name or (not name and format == "anthropic_messages"):
        if claude_is_new(name):
            return PicturePrice(longest_side=2576, most=4784)
        return PicturePrice(longest_side=1568, most=1600)
    for pattern, factor in _PATCHES:
        if pattern.match(name):
            return PicturePrice(patch_factor=factor)
    for pattern, price in _TILES:
        if pattern.match(name):
            return price
    if format == "anthropic_messages":
        return PicturePrice(longest_side=1568, most=1600)
    return PicturePrice()


def document_tokens(base64_chars: int | None) -> int:
    """A flat figure for a PDF by its size: 3,000 tokens for each started 100 KB, a page or two. None: not known."""
    if base64_chars is None:
        return _DOCUMENT_UNKNOWN
    steps = math.ceil(base64_chars * 3 / 4 / _DOCUMENT_STEP_BYTES)
    return min(_DOCUMENT_MOST, _DOCUMENT_TOKENS_PER_STEP * max(1, steps))


def sound_tokens(base64_chars: int | None) -> int:
    """A flat figure for sound by its size: ten tokens for a second of MP3 at 128 kbit/s. None: not known."""
    if base64_chars is None:
        return _SOUND_UNKNOWN
    return max(1, math.ceil(base64_chars * 3 / 4 / _SOUND_BYTES_PER_TOKEN))


def video_tokens(base64_chars: int | None) -> int:
    """A flat figure for video by its size, 1 Mbit for a second; None: not known, a minute."""
    if base64_chars is None:
        return _VIDEO_TOKENS_PER_SECOND * _VIDEO_UNKNOWN_SECONDS
    return _VIDEO_TOKENS_PER_SECOND * max(1, math.ceil(base64_chars * 3 / 4 / _VIDEO_BYTES_PER_SECOND))


def split_data_url(url: Any) -> tuple[str, str] | None:
    """Media type and base64 of a data URL; None for any other URL or value."""
    if not isinstance(url, str) or url[:5].lower() != "data:":
        return None
    head, comma, data = url.partition(",")
    if not comma or ";base64" not in head.lower():
        return None
    return head[5:].split(";", 1)[0].lower(), data
