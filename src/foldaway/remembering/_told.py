"""Words that several kinds of memories are told in."""

from __future__ import annotations

import re
from typing import Any

from foldaway.engine.log import Log
from foldaway.linking.kinds import command_of, one_line
from foldaway.model.items import Item
from foldaway.model.wire import PartType

SUBJECT_CHARS = 160
SOURCE_CHARS = 100
_BRANCH = re.compile(r"\s*\(branch \d+\)\s*$")
_QUIET = re.compile(r"\s*(?:2>&1|\|\s*(?:tail|head|less|cat|tee)\b.*)$")


def source_of(item: Item) -> str:
    """What made an item, as one names it; never with an ending that looks like a branch."""
    return _BRANCH.sub("", one_line(item.title, SOURCE_CHARS)) or item.kind.value


def subject_of(item: Item) -> str:
    """A command or call in one line, without what only trims its output."""
    return _QUIET.sub("", one_line(item.title, SUBJECT_CHARS)).strip() or item.kind.value


def command(log: Log, item: Item) -> str:
    """The whole command of a shell call on one line; "" for what is no such call."""
    arguments = arguments_of(log, item)
    return " ".join(command_of(arguments, "").split()) if isinstance(arguments, dict) else ""


def arguments_of(log: Log, item: Item) -> Any:
    parts = log.turns[item.turn].parts
    return next((parts[p].arguments for p in item.parts if parts[p].type is PartType.CALL), None)
