from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import foldaway
from foldaway.compressors.base import Digest, Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.envelope import peel
from foldaway.compressors.hints import path_of
from foldaway.compressors.registry import Registry, digest
from foldaway.model.wire import PartType
from foldaway.readers import read_sessions
from foldaway.wire import get_wire

CODE = "".join(f"def load_rows_{n}(path):\n    return open_store(path).fetch_rows({n})\n\n" for n in range(30))


class Poem:
    name = "poem"

    def matches(self, text: str, hint: Hint) -> float:
        return 0.99 if "roses are red" in text else 0.0

    def digest(self, text: str, hint: Hint, room_chars: int) -> Digest:
        return Digest(text="roses", content="poem", lost="the rest")


def test_the_content_decides_not_the_tool() -> None:
    trace = 'Traceback (most recent call last):\n  File "/a/x.py", line 3, in run\n    go()\nValueError: no\n' * 12
    assert digest(trace, Hint(tool="read_file"), 300).content == "stack trace"
    assert digest(CODE, Hint(tool="bash"), 300).content == "python source"


def test_a_text_that_fits_is_its_own_digest() -> None:
    made = digest(CODE, Hint(tool="Read"), len(CODE))
    assert (made.text, made.content, made.lost) == (CODE, "python source", "")


def test_what_a_tool_puts_around_its_result_is_kept_where_it_says_something() -> None:
    text = f"Chunk ID: 1a2b3c\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n{CODE}"
    shown = digest(text, Hint(), 600).text
    assert shown.startswith("Process exited with code 1\n")
    assert "Chunk ID" not in shown
    read = "     1→import os\n     2→import re\n     3→x = load_rows()\n"
    text = f"{read}\n<system-reminder>\n{'Be good. ' * 40}\n</system-reminder>\n"
    assert "Be good" not in digest(text, Hint(tool="Read"), 200).text


def test_numbers_of_lines_count_from_the_start_of_the_whole_result() -> None:
    envelope = peel("<returncode>0</returncode>\n<output>\nfirst\nsecond\n</output>")
    assert (envelope.head, envelope.body, envelope.line) == (("<returncode>0</returncode>",), "first\nsecond", 3)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"file_path": "/a/b.py"}, "/a/b.py"),
        ({"command": "cd /x && sed -n '1,20p' src/app.ts | head"}, "src/app.ts"),
        ({"cmd": ["cat", "notes.md"]}, "notes.md"),
        ({"command": "python run.py"}, ""),
        ({"command": "cat > new.py <<'EOF'\nx = 1\nEOF"}, ""),
    ],
)
def test_the_file_of_a_read_is_told_from_its_call(arguments: dict[str, object], path: str) -> None:
    assert path_of(Hint(arguments=arguments)) == path


def test_users_add_compressors_and_tool_names() -> None:
    mine = Registry().with_compressor(Poem()).with_tool("recite", "poem")
    text = "roses are red\n" * 40
    assert mine.digest(text, Hint(tool="recite"), 100).content == "poem"
    assert Registry().digest(text, Hint(tool="recite"), 100).content != "poem"
    with pytest.raises(ValueError, match="no compressor is called 'sonnet'"):
        mine.with_tool("recite", "sonnet")


def test_a_tool_name_inclines_where_the_content_leaves_room() -> None:
    text = "alpha_1 beta\ngamma delta\nroses are grey\n" * 60
    plain = Registry().choose(text, Hint()).name
    assert Registry().with_tool("probe", plain).choose(text, Hint(tool="probe")).name == plain


def bundled() -> Iterator[tuple[str, Hint]]:
    for file in sorted((Path(foldaway.__file__).parent / "data" / "sessions").glob("*.gz")):
        for recorded in read_sessions(file):
            parts = [
                p
                for t in get_wire(recorded.format).parse(recorded.messages, origins=recorded.origins).turns
                for p in t.parts
            ]
            calls = {p.call_id: p.arguments for p in parts if p.type is PartType.CALL}
            for part in parts:
                if part.type is PartType.RESULT and len(part.text) > 2000:
                    arguments = calls.get(part.call_id)
                    yield part.text, Hint(tool=part.name, arguments=arguments if isinstance(arguments, dict) else None)


def test_digests_of_real_results_fit_a_quarter_and_make_nothing_up() -> None:
    seen = 0
    for text, hint in bundled():
        made = digest(text, hint, len(text) // 4)
        assert len(made.text) <= len(text) // 4
        assert made.text
        assert unsupported(made.text, text) == (), (made.content, hint.arguments)
        seen += 1
    assert seen >= 20
