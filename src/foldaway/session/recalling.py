"""What comes back: recalls by id and by words, and notes kept on purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from foldaway.engine.finding import find_items
from foldaway.engine.recall import Recalled, as_data, recall
from foldaway.engine.recall_tool import recall_tool
from foldaway.model.wire import Message
from foldaway.protocols import Hit
from foldaway.protocols import Note as StoredNote
from foldaway.session.core import Core

_Kept = TypeVar("_Kept", Hit, StoredNote)


class Recalling(Core):
    """The part of a session that brings things back."""

    def recall(self, reference: str | Sequence[str], find: str | None = None, *, for_view: bool = False) -> Recalled:
        """Bring things back, byte for byte: ids, ranges, lines (`12:40-80`) or words; several in one call.

        Words bring the passages about them, best first, from at most three items and in about 2,400 characters (with
        `for_view` less where the view has less room); `also` names further items, and an id brings the whole. With
        `find`: the part about these words. What is recalled is protected for some steps (I7). An attachment is its
        block as JSON; with `for_view` it is shown again in its place from the next view on. Words cost O(size of the
        log).
        """
        room = self._engine.word_chars() if for_view else None
        found = recall(self._engine.log, reference, find, for_view=for_view, word_chars=room)
        if for_view:
            self._show_attachments(found)
        if found.items:
            thrash = self._engine.fault(found.items)
            for item in thrash:
                self._warn(f"item #{item} was recalled {self._engine.faults[item]} times: it stays protected longer")
            self._save()
        return found

    def recall_into_view(self, reference: str | Sequence[str], find: str | None = None) -> Recalled:
        """Bring things back at the tail of the next view, as data: what a model asked for, served without its client.

        The client's history stays as it is; the views from now on hold the recall where it came in.
        """
        wanted = [reference] if isinstance(reference, str) else list(reference)
        found = self._engine.inject([f"{w} {find}" if find else w for w in wanted])
        self._engine.fault(found.items)
        self._show_attachments(found)
        self._save()
        return found

    def recall_messages(self, reference: str | Sequence[str], find: str | None = None) -> list[Message]:
        """Call and result, to append when the model itself asked: recalled text arrives at the tail, as data."""
        found = self.recall(reference, find, for_view=True)
        shown = reference if isinstance(reference, str) else ", ".join(reference)
        arguments = {"ids": shown, **({"find": find} if find else {})}
        call = f"recall_{self._engine.log.next_id}"
        return self._wire.exchange(call, "recall", arguments, self._as_data(found))

    def recall_result(self, arguments: Mapping[str, Any]) -> str:
        """The text to answer a model's own `recall` call with: framed as data, its marks unable to close the frame."""
        ids = arguments.get("ids") or ""
        wanted = [str(each) for each in ids] if isinstance(ids, list | tuple) else str(ids)
        found = self.recall(wanted, find=arguments.get("find"), for_view=True)
        return self._as_data(found)

    def _as_data(self, found: Recalled) -> str:
        return as_data(found, self._recall_chars(), stale=self._engine.outdated(found))

    def recall_tool(self) -> dict[str, Any]:
        """The definition of the recall tool in this session's format, to offer to the model."""
        return recall_tool(self.format)

    def search(self, query: str, limit: int = 10) -> list[Hit]:
        """Notes and items about some words, notes first, then the items with the best passages; any text is legal.

        Scores of items are comparable within one search only. O(size of the log).
        """
        store, mine = self._kept.notes()
        hits = self._readable(store.search(mine, query, limit))
        for hit in find_items(self._engine.log, query, limit).hits:
            hits.append(Hit(ref=str(hit.item.id), text=hit.item.title, score=round(hit.score, 6)))
        return hits[:limit]

    def remember(self, text: str, *, key: str, at: str | None = None) -> StoredNote:
        """Keep a note apart from the messages; the same key again tells the same subject anew."""
        store, mine = self._kept.notes()
        return store.put_note(mine, key=key, text=text, at=at)

    def notes(self) -> list[StoredNote]:
        store, mine = self._kept.notes()
        return self._readable(store.notes(mine))

    def note(self, *, key: str | None = None, handle: str | None = None) -> StoredNote | None:
        store, mine = self._kept.notes()
        found = store.note(mine, key=key, handle=handle)
        return None if found is None else self._readable([found])[0]

    def _readable(self, found: Sequence[_Kept]) -> list[_Kept]:
        """As somebody without the key of their secrets reads them, where it is not there."""
        texts = self._kept.readable([one.text for one in found])
        return [replace(one, text=text) for one, text in zip(found, texts, strict=True)]
