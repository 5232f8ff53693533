"""`foldaway demo`: the bundled sessions under a budget, and one thing folded away and brought back."""

from __future__ import annotations

from dataclasses import dataclass

from foldaway.cli.inputs import BUNDLED
from foldaway.cli.inspecting import Scene, at_call, window
from foldaway.cli.replaying import Maker, plan_runs, replay_runs
from foldaway.errors import RecallError
from foldaway.lab import FULL, ReplayResult
from foldaway.lab.finder import strings_of
from foldaway.lab.runner import Progress
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions

BUDGET = 16_000
"""All bundled sessions are three to ten times as long."""
POLICIES = (FULL, "window", "clear-tools", "auto")
SHOWN = "mini-swe-agent-django-11910"
"""The session whose fold note is shown: a reader needs no more than Python to follow it."""
LARGEST_SHOWN = 1_500
"""Tokens of the item that is recalled: enough to be worth folding, little enough to be printed in part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """One folded item, its line in the view, and what came back."""

    scene: Scene
    note: str
    item: int
    line: str
    text: str
    identical: bool
    """Whether the text is, byte for byte, one that stands in the recorded messages."""


def demo_sessions() -> list[Recorded]:
    """The bundled sessions; the twelve short talks of one file follow each other as one working day."""
    return [next(read_sessions(file, joined=True)) for file in sorted(BUNDLED.glob("*.gz"))]


def demo_results(sessions: list[Recorded], progress: Progress | None = None) -> list[ReplayResult]:
    return replay_runs(plan_runs(sessions, POLICIES, [BUDGET]), Maker(), progress=progress)


def demo_recall(sessions: list[Recorded]) -> Recall:
    """Fold one session to its end and recall the largest item that has a line in the fold note and fits a page.

    Raises RecallError when nothing was folded.
    """
    recorded = next(recorded for recorded in sessions if recorded.name == SHOWN)
    scene = at_call(recorded, None, budget=BUDGET)
    note = scene.session.engine.shown.note
    lines = scene.session.engine.shown.lines
    listed = [row for row in window(scene, "stub") if row["item"] in lines and row["tokens"] <= LARGEST_SHOWN]
    if note is None or not listed:
        raise RecallError(f"nothing of {recorded.name} was folded under {BUDGET} tokens")
    item = max(listed, key=lambda row: (row["tokens"], row["item"]))["item"]
    text = scene.session.recall(f"#{item}").text
    # Against the recording itself, not against the engine's copy of it.
    identical = any(text == string for message in recorded.messages for string in strings_of(message))
    return Recall(scene=scene, note=note.text, item=item, line=lines[item], text=text, identical=identical)
