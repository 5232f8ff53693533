"""Pictures, documents and sound as one line: type, size, what they cost, and the caption if there is one.

`[picture: image/png, 1,280 x 720 pixels, about 1,105 tokens: "Login page after the fix"]`
"""

from __future__ import annotations

from dataclasses import dataclass

from foldaway.compressors.base import Digest, Fact
from foldaway.linking.kinds import one_line
from foldaway.tokens.media import pixel_size, split_data_url

CAPTION_CHARS = 240
_KINDS = (("image/", "picture"), ("audio/", "sound"), ("video/", "video"), ("application/pdf", "document"))


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


def digest(attachment: Attachment, room_chars: int) -> Digest:
    """The line, at most `room_chars` long: the caption goes first, then the name. Reads the head of the data only."""
    media, data = attachment.media, attachment.data
    if inside := split_data_url(data):
        media, data = media or inside[0], inside[1]
    kind = next((word for start, word in _KINDS if media.startswith(start)), "document" if media else "attachment")
    said = [media] if media else []
    size = pixel_size(data) if kind == "picture" and data else None
    if size:
        said.append(f"{size[0]:,} x {size[1]:,} pixels")
    elif data:
        said.append(f"{len(data) * 3 // 4:,} bytes")
    if attachment.tokens:
        said.append(f"about {attachment.tokens:,} tokens")
    caption = one_line(attachment.caption, CAPTION_CHARS)
    facts = tuple(Fact(key, value, 1) for key, value in (("type", media), ("name", attachment.name)) if value)
    for named, quoted in ((attachment.name, caption), (attachment.name, ""), ("", "")):
        inner = ", ".join([*([named] if named else []), *said])
        text = f"[{kind}" + (f": {inner}" if inner else "") + (f': "{quoted}"' if quoted else "") + "]"
        if len(text) <= room_chars:
            break
    else:
        text = f"[{kind}]" if len(kind) + 2 <= room_chars else ""
    return Digest(text=text, content=kind, facts=facts, lost="all but its description")
