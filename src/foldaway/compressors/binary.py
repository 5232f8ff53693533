"""Base64, hex dumps and raw bytes in text: what it is by its first bytes, how large, and the words around it.

Payload is never an answer to quote from: it is named and counted, the rest of the text stays.
"""

from __future__ import annotations

import base64
import binascii
import re

from foldaway.compressors._picking import ends
from foldaway.compressors.base import EDGE_CHARS, Digest, Fact, Hint
from foldaway.compressors.facts import facts

SHORTEST = 120
"""A run of base64 or hex below this length is taken for an id or a hash, and stays."""
SHORTEST_LINE = 60
"""A run may be broken into lines of at least this length."""
_MOST_RUNS = 1_000
_PARTED = bytes(c if chr(c).isalnum() or c in b"+/_-" else 0x20 for c in range(128)) + b" " * 128

_RUN = re.compile(
    r"(?:data:(?P<media>[\w.+-]{1,60}/[\w.+-]{1,60})(?:;[\w=-]{1,40}){0,3},)?"
    r"(?P<data>[A-Za-z0-9+/_-]{60,}(?:(?:\r?\n[A-Za-z0-9+/_-]{60,}){1,200000}(?:\r?\n[A-Za-z0-9+/_-]{1,76})?)?={0,2})"
)
_UNREADABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]")
MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"BM", "BMP image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive or Office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"(\xb5/\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!", "RAR archive"),
    (b"\x7fELF", "ELF executable"),
    (b"MZ", "Windows executable"),
    (b"\xca\xfe\xba\xbe", "Java class"),
    (b"\x00asm", "WebAssembly module"),
    (b"SQLite format 3", "SQLite database"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"wOF2", "WOFF2 font"),
    (b"wOFF", "WOFF font"),
    (b"\x00\x01\x00\x00", "TrueType font"),
    (b"PAR1", "Parquet file"),
    (b"\x93NUMPY", "NumPy array"),
    (b"<svg", "SVG image"),
    (b"<?xml", "XML"),
    (b"-----BEGIN", "PEM text"),
)


class Binary:
    """A result that is mostly payload."""

    name = "binary"
    surest = 0.9

    def matches(self, text: str, hint: Hint) -> float:
        edge = text[:EDGE_CHARS]
        if not edge:
            return 0.0
        payload = strange = 0
        # Nearly all texts have no run long enough and nothing unreadable: both are seen without looking at each sign.
        if max(map(len, edge.encode("ascii", "replace").translate(_PARTED).split()), default=0) >= SHORTEST_LINE:
            payload = sum(len(run.group("data")) for run in _RUN.finditer(edge) if is_payload(run.group("data")))
        if "\ufffd" in edge or not edge.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
            strange = len(_UNREADABLE.findall(edge))
        return 0.9 if payload > 0.6 * len(edge) or strange > 0.1 * len(edge) else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        room = max(0, room_chars)
        if len(text) <= room:
            return Digest(text=text, content="binary", facts=facts(text, first=hint.line))
        replaced, kinds = without_payload(text)
        strange = len(_UNREADABLE.findall(replaced))
        if strange * 10 > len(replaced):
            kind = kind_of(text[:64].encode("latin-1", "replace"))
            replaced = f"[{kind}: {len(text):,} characters]"
            kinds = {kind: 1, **kinds}
        shown = ends(replaced, room)
        content = next(iter(kinds), "binary")
        listed = tuple(Fact("content", kind, hint.line) for kind in kinds)
        return Digest(text=shown, content=content, facts=listed, lost="payload")


def without_payload(text: str) -> tuple[str, dict[str, int]]:
    """The text with each run of base64 or hex replaced by what it is, and how many there are of each kind."""
    pieces: list[str] = []
    kinds: dict[str, int] = {}
    at = 0
    for number, run in enumerate(_RUN.finditer(text)):
        data = run.group("data")
        if number >= _MOST_RUNS or not is_payload(data):
            continue
        kind = run.group("media") or kind_of(decoded(data))
        kinds[kind] = kinds.get(kind, 0) + 1
        pieces += [text[at : run.start()], f"[{kind}: {len(data):,} characters]"]
        at = run.end()
    pieces.append(text[at:])
    return "".join(pieces), kinds


def is_payload(data: str) -> bool:
    """Whether a run of letters and digits is encoded data: long, mixed, no words joined by _ or /."""
    if len(data) < SHORTEST:
        return False
    head = data[:400]
    digits, upper = sum(c.isdigit() for c in head), sum(c.isupper() for c in head)
    if digits * 40 < len(head):
        return False
    hexadecimal = all(c in "0123456789abcdefABCDEF\r\n" for c in head)
    return hexadecimal or (upper * 10 > len(head) and head.count("_") + head.count("-") < len(head) // 12)


def decoded(data: str) -> bytes:
    """The first bytes of base64 or hex; b"" when it is neither."""
    head = "".join(data[:200].split())[:96]
    try:
        if all(c in "0123456789abcdefABCDEF" for c in head):
            return bytes.fromhex(head[: len(head) // 2 * 2])
        return base64.urlsafe_b64decode(head.replace("+", "-").replace("/", "_")[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def kind_of(raw: bytes) -> str:
    """What bytes are by how they begin."""
    if raw[:4] == b"RIFF":
        return {b"WEBP": "WebP image", b"WAVE": "WAV audio"}.get(raw[8:12], "RIFF media")
    if raw[4:8] == b"ftyp":
        return "MP4 media"
    return next((kind for magic, kind in MAGIC if raw.startswith(magic)), "binary data")
