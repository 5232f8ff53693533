"""BFCL conversations: the user's turns only. The set holds no agent messages; they are there to be played."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from foldaway.model.recorded import Recorded
from foldaway.readers._build import Draft
from foldaway.readers._source import LineFormat, Log
from foldaway.readers.plain import is_messages


def _knows(record: Mapping[str, Any]) -> bool:
    turns = record.get("question")
    return "id" in record and isinstance(turns, list) and bool(turns) and is_messages(turns[0])


def _read(records: Iterable[tuple[int, dict[str, Any]]], log: Log) -> Iterator[Recorded]:
    for line, record in records:
        with log.guard(line, "a BFCL entry with its turns under question"):
            draft = Draft()
            for turn in record["question"]:
                for message in turn:
                    message["role"]
                    draft.add(message)
            meta = {key: record[key] for key in ("topic", "scenario", "involved_classes") if key in record}
            yield draft.recorded(log.name(record["id"]), "bfcl", "openai_chat", meta=meta)


LINES = LineFormat("bfcl", _knows, _read)
