"""What a session leaves behind: facts, the user's wishes, decisions, pitfalls and a digest, each with its provenance.

By rule alone, and strict: what nobody confirmed stays in the log. The texts are the session's own words in short
frames. A pure function of the session.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from foldaway.protocols import Memory
from foldaway.remembering._facts import facts
from foldaway.remembering._pitfalls import pitfalls
from foldaway.remembering._wishes import wishes
from foldaway.remembering._work import decisions, digest
from foldaway.session import Session

MOST_OF_A_KIND = 40
"""Memories of one kind that one session leaves, the newest."""


def distil(session: Session, task: str = "") -> tuple[Memory, ...]:
    """The memories of a session, by kind, and within a kind by item.

    Each names its session, item and source (with the branch where that is not the first). Open calls are left out.
    O(session): meant for its end.
    """
    found: list[Memory] = []
    for made in (facts(session), wishes(session), decisions(session), pitfalls(session), digest(session)):
        found += _newest(made)
    branch = f" (branch {session.branch})" if session.branch else ""
    return tuple(
        replace(memory, task=task, session=session.name, source=f"{memory.source}{branch}") for memory in found
    )


def _newest(made: Iterable[Memory]) -> list[Memory]:
    """Of one key the last, of one text once; the newest `MOST_OF_A_KIND`, oldest first."""
    by_subject: dict[tuple[str, str], Memory] = {}
    for memory in made:
        subject = memory.key or memory.text, memory.kind
        by_subject.pop(subject, None)
        by_subject[subject] = memory
    kept = sorted(by_subject.values(), key=lambda memory: memory.item)
    return kept[-MOST_OF_A_KIND:]
