"""What a hint gives away about content: the file a call was about, and the lines of a text as they should be read."""

from __future__ import annotations

import re

from foldaway.compressors.base import Hint
from foldaway.linking.kinds import command_of

_PATH_KEYS = ("file_path", "path", "filename", "file", "filePath", "target_file", "notebook_path")
_SHOWS = re.compile(r"(?:^|[;&|(\n]\s{0,8})(?:cat|sed -n|head|tail|nl|less|more|bat|awk)\b([^|;&<>\n]{1,400})")
_WORDS = re.compile(r"[\s'\";|&()<>=]+")
_FILE = re.compile(r"[\w@.~+/-]{1,300}\.[A-Za-z]{1,8}")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")


def path_of(hint: Hint) -> str:
    """The file whose content the text is, as the call spells it; "" when there is no telling."""
    if hint.path:
        return hint.path
    arguments = hint.arguments or {}
    for key in _PATH_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
    for words in _SHOWS.findall(command_of(arguments, "")[:2000]):
        for word in _WORDS.split(words):
            if _FILE.fullmatch(word):
                return word
    return ""


def uncoloured(text: str) -> str:
    """The text without the escape sequences by which a terminal colours it. Linear."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def lines_of(text: str) -> list[str]:
    """The lines as a terminal would show them: no colours, nothing overwritten by a carriage return. Linear."""
    text = uncoloured(text)
    if "\r" not in text:
        return text.split("\n")
    return [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
