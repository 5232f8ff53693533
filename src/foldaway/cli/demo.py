"""`foldaway demo`: the bundled sessions under a budget, and one thing folded away and brought back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foldaway.cli.inputs import BUNDLED
from foldaway.cli.inspecting import Scene, at_call, recalled, window
from foldaway.cli.output import clipped
from foldaway.cli.replaying import Maker, plan_runs, replay_runs
from foldaway.errors import RecallError
from foldaway.lab import FULL, ReplayResult
from foldaway.lab.finder import strings_of
from foldaway.lab.runner import Progress
from foldaway.model.items import Kind
from foldaway.model.recorded import Recorded
from foldaway.readers import read_sessions

BUDGET = 16_000
"""All bundled sessions are three to ten times as long."""
POLICIES = (FULL, "window", "clear-tools", "auto")
SHOWN = "mini-swe-agent-django-11910"
"""The session whose fold note is shown: a reader needs no more than Python to follow it."""
LARGEST_SHOWN = 6_000
"""Characters of the item that is recalled: enough to be worth folding, little enough to be printed in part."""


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
    # What was recalled on the way is a copy, and not in the recording.
    rows = [row for row in window(scene, "stub") if row["kind"] != Kind.RECALLED]
    texts = {row["item"]: recalled(scene, [f"#{row['item']}"], None).text for row in rows}
    listed = [(len(text), item) for item, text in texts.items() if item in lines and len(text) <= LARGEST_SHOWN]
    if note is None or not listed:
        raise RecallError(f"nothing of {recorded.name} was folded under {BUDGET} tokens")
    item = max(listed)[1]
    text = texts[item]
    # Against the recording itself, not against the engine's copy of it.
    identical = any(text == string for message in recorded.messages for string in strings_of(message))
    return Recall(scene=scene, note=note.text, item=item, line=lines[item], text=text, identical=identical)


def story(recall: Recall, lines: int, width: int) -> str:
    """What was folded and what came back, for people, and where to go next."""
    scene, session = recall.scene, recall.scene.name
    file = _short_path(next(iter(sorted(BUNDLED.glob(f"{session}*"))), BUNDLED))
    note = _head(recall.note, lines, width)
    if recall.line not in recall.note.split("\n")[:lines]:
        note += f"\n    {clipped(recall.line, width)}"
    verdict = "the same, byte for byte, as in the recording" if recall.identical else "NOT what the recording holds"
    return f"""
{session} at its end: {scene.seen} messages, a view of {scene.tokens} tokens. What was folded stands in it as one note:

{note}

Recalling #{recall.item} brings back {len(recall.text.encode("utf-8", "surrogatepass"))} bytes, {verdict}:

{_head(recall.text, lines, width)}

Where to go next:
    foldaway show {file} --level stub
        the window of a session at any call
    foldaway explain {file} {recall.item}
        why an item is gone, and what rests on it
    foldaway replay YOUR-SESSION.jsonl --policy all
        your own sessions, under every policy
    foldaway fit request.json --budget 16000
        one request in, the managed one out
    foldaway --help
        everything else"""


def _short_path(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _head(text: str, lines: int, width: int) -> str:
    kept = text.rstrip("\n").split("\n")
    more = [f"... {len(kept) - lines} more lines"] if len(kept) > lines else []
    return "\n".join(f"    {clipped(line, width)}" for line in [*kept[:lines], *more])
