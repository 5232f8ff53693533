"""Pictures, documents and sound as one line: type, size, what they cost, and the caption if there is one.

`[picture: login.png, image/png, 1,280 x 720 pixels, about 1,105 tokens: "Login page after the fix"]`
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foldaway.compressors.base import Digest, Fact
from foldaway.linking.kinds import one_line
from foldaway.tokens.media import pixel_size, split_data_url

CAPTION_CHARS = 240
OPENING_CHARS = 600
"""Of a text document the digest quotes so much, where there is room."""
NAME_CHARS = 160
_KINDS = (
    ("image", "picture"), ("audio", "sound"), ("video", "video"), ("application/pdf", "document"),
    ("computer_screenshot", "picture"), ("input_image", "picture"), ("output_image", "picture"),
    ("input_audio", "sound"),
)  # fmt: skip
"""How a media type, or else a block's own type, begins -> what the thing is called."""
_HOLDERS = ("image_url", "source", "file", "input_audio", "audio_url", "video_url")
_NAMES = ("filename", "file_name", "name", "title", "url", "file_url", "file_id")
_CAPTIONS = ("caption", "alt", "alt_text", "context", "description")
_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml")
MEDIA_BLOCKS = frozenset(
    "image image_url input_image output_image computer_screenshot document file input_file input_audio audio "
    "audio_url video_url".split()
)
"""Types of blocks that hold something other than text, in the formats of all providers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """What is known of a part that is no text."""

    media: str = ""
    """Media type: image/png."""
    data: str = ""
    """Base64, or a data URL; "" when it is kept elsewhere."""
    name: str = ""
    """File name or address."""
    tokens: int = 0
    """What it costs the target model; 0: not known."""
    caption: str = ""
    """Alternative text, title or what the agent said about it."""
    type: str = ""
    """Type of the block that held it, for where nothing says the media type: input_audio."""
    opening: str = ""
    """How a text document begins."""

    def words(self) -> str:
        """All of it that can be read: name, caption, opening."""
        return "\n".join(filter(None, (self.name, self.caption, self.opening)))


def described(block: Any, tokens: int = 0) -> Attachment:
    """What a content block of any provider's format says of the thing it holds. Copies none of its data.

    `tokens`: what it costs the target model.
    """
    outer: Mapping[str, Any] = block if isinstance(block, Mapping) else {}
    held = next((outer[key] for key in _HOLDERS if outer.get(key)), None)
    inner: Mapping[str, Any] = held if isinstance(held, Mapping) else {"url": held} if isinstance(held, str) else {}
    both = (inner, outer)
    media, data = _said(both, ("media_type", "mimeType", "mime_type")), _said(both, ("data", "file_data"))
    name = _said(both, _NAMES)
    if name[:5].lower() == "data:":
        # The address is the thing itself: its name may stand beside.
        data, name = name, _said(both, tuple(key for key in _NAMES if key != "url"))
    if not media and (sound := _said((inner,), ("format",))):
        media = f"audio/{sound}"
    found = Attachment(
        media=media, data=data, name=one_line(name, NAME_CHARS), tokens=tokens, caption=_said(both, _CAPTIONS),
        type=_said((outer,), ("type",)),
    )  # fmt: skip
    if inner.get("type") == "text":
        return replace(found, media=media or "text/plain", data="", opening=data[:OPENING_CHARS])
    if isinstance(texts := inner.get("content", outer.get("content")), str | list):
        return replace(found, opening=_texts(texts)[:OPENING_CHARS])
    return replace(found, opening=_opening(found))


def media_in(content: Any) -> list[Mapping[str, Any]]:
    """The blocks of a message's or a result's content that hold something other than text."""
    blocks = content if isinstance(content, list) else [content]
    return [block for block in blocks if isinstance(block, Mapping) and str(block.get("type")) in MEDIA_BLOCKS]


def is_plain(block: Mapping[str, Any]) -> bool:
    """Whether a block is a document whose text stands in the message itself."""
    source = block.get("source")
    return isinstance(source, Mapping) and source.get("type") in ("text", "content")


def digest(attachment: Attachment, room_chars: int) -> Digest:
    """The line, at most `room_chars` long: the caption goes first, then the name. Reads the head of the data only.

    A text document's first lines stand in for a caption.
    """
    media, data = attachment.media, attachment.data
    if inside := split_data_url(data):
        media, data = media or inside[0], inside[1]
    kind = _kind(media, attachment.type)
    said = [media] if media else []
    size = pixel_size(data) if kind == "picture" and data else None
    if size:
        said.append(f"{size[0]:,} x {size[1]:,} pixels")
    elif data:
        said.append(f"{len(data) * 3 // 4:,} bytes")
    if attachment.tokens:
        said.append(f"about {attachment.tokens:,} tokens")
    caption = one_line(attachment.caption or attachment.opening, CAPTION_CHARS)
    facts = tuple(Fact(key, value, 1) for key, value in (("type", media), ("name", attachment.name)) if value)
    for named, quoted in ((attachment.name, caption), (attachment.name, ""), ("", "")):
        inner = ", ".join([*([named] if named else []), *said])
        text = f"[{kind}" + (f": {inner}" if inner else "") + (f': "{quoted}"' if quoted else "") + "]"
        if len(text) <= room_chars:
            break
    else:
        text = f"[{kind}]" if len(kind) + 2 <= room_chars else ""
    return Digest(text=text, content=kind, facts=facts, lost="all but its description")


def _kind(media: str, type: str) -> str:
    named = media or type
    return next((word for start, word in _KINDS if named.startswith(start)), "document" if named else "attachment")


def _said(places: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """The first text that one of these keys holds."""
    for key in keys:
        for place in places:
            if isinstance(value := place.get(key), str) and value:
                return value
    return ""


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(b["text"] for b in content if isinstance(b, Mapping) and isinstance(b.get("text"), str))


def _opening(attachment: Attachment) -> str:
    """How a text that came as base64 begins; "" for everything else."""
    media, data = attachment.media, attachment.data
    head = data[: 2 * OPENING_CHARS + 200]
    if inside := split_data_url(head):
        media, head = media or inside[0], inside[1]
    if not media.startswith(_TEXTUAL):
        return ""
    letters = "".join(head.split())
    try:
        raw = base64.b64decode(letters[: len(letters) // 4 * 4])
    except (binascii.Error, ValueError):
        return ""
    return raw.decode("utf-8", "ignore")[:OPENING_CHARS]
