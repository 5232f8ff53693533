"""From a memory back to what it was made from: the item's bytes in the session that the store keeps."""

from __future__ import annotations

import json
import re

from foldaway.engine.recall import recall
from foldaway.errors import RecallError
from foldaway.protocols import Memory, SessionKey, Store
from foldaway.session import Session
from foldaway.wire import detect_format

_BRANCH = re.compile(r" \(branch (\d{1,6})\)$")


def original(store: Store, memory: Memory) -> str:
    """What the owner's session holds under the memory's item: the result of a call, else the words, byte for byte.

    Whoever calls has made sure that the reader may see it. Opens the session: O(its length). Raises RecallError where
    the memory names no item, or the session or the item is not in the store (any more).
    """
    if not memory.session or memory.item <= 0:
        raise RecallError(f"memory {memory.id} names no item of a session")
    if memory.session not in store.sessions(memory.owner):
        raise RecallError(f"session {memory.session!r}, which memory {memory.id} comes from, is not in this store")
    found = _BRANCH.search(memory.source)
    branch = int(found.group(1)) if found else 0
    with _opened(store, memory, branch) as session:
        recalled = recall(session.engine.log, f"#{memory.item}")
    if not recalled.found:
        raise RecallError(f"session {memory.session!r} has no item #{memory.item}")
    return recalled.text


def _opened(store: Store, memory: Memory, branch: int) -> Session:
    key = store.open(SessionKey(user=memory.owner, name=memory.session))
    messages = [json.loads(record)["m"] for record in store.read(key, branch)]
    return Session(
        format=detect_format(messages), store=store, user=memory.owner, name=memory.session, branch=branch
    )  # fmt: skip
