"""What every compressor of line-shaped content, and the registry, must keep whatever text comes in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.compressors.base import Compressor, Digest, Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.diff import Diff
from foldaway.compressors.listing import Listing
from foldaway.compressors.log import Log
from foldaway.compressors.registry import digest
from foldaway.compressors.shell import Shell
from foldaway.compressors.source import Source
from foldaway.compressors.tests_run import TestsRun
from foldaway.compressors.trace import Trace

PARTS: tuple[Compressor, ...] = (Source(), Diff(), Listing(), Shell(), TestsRun(), Trace(), Log())
by_name = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)

LINES = st.sampled_from(
    'def load_rows(path):|    return path|  File "/a/b.py", line 3, in run|ValueError: no|+new_line = 1|-old_line = 2|'
    "@@ -1,2 +1,3 @@|diff --git a/x.py b/x.py|src/a.py:12:hit_here|src/b.py|FAILED t.py::test_a|2 passed in 0.1s|"
    "2024-01-01 10:00:00 INFO up|ERROR: it broke|    12→code_here()|\tat a.b.C.m(C.java:3)|这是一行中文。|\r|}||"
    "-rw-r--r-- 1 a a 12 Nov 1 10:00 x.txt|Process exited with code 1|</output>|\x1b[31mred_text\x1b[0m".split("|")
)
TEXTS = st.one_of(st.text(max_size=400), st.lists(LINES, max_size=60).map("\n".join))


@by_name
@settings(max_examples=60)
@given(text=TEXTS, room=st.integers(0, 300), wanted=st.lists(st.text(max_size=6), max_size=3))
def test_any_text_gives_a_digest_within_its_room(part: Compressor, text: str, room: int, wanted: list[str]) -> None:
    hint = Hint(path="a.py", wanted=tuple(wanted))
    assert 0.0 <= part.matches(text, hint) <= 1.0
    assert len(part.digest(text, hint, room).text) <= max(room, 0)
    assert part.digest(text, hint, room) == part.digest(text, hint, room)


@settings(max_examples=150)
@given(text=TEXTS, room=st.integers(-1, 300))
def test_the_registry_never_makes_a_text_longer(text: str, room: int) -> None:
    found = digest(text, Hint(tool="bash", arguments={"command": "cat a.py"}), room)
    assert len(found.text) <= max(0, min(room, len(text)))
    if len(text) <= room:
        assert found.text == text
        assert found.lost == ""


@by_name
@pytest.mark.parametrize("text", ["", "x", "这是一个测试。\n" * 40, "a_b\r\nc_d\r\n" * 40, "word_1 " * 3000])
@pytest.mark.parametrize("room", [0, 1, 7, 60])
def test_edge_cases_fit_the_smallest_rooms(part: Compressor, text: str, room: int) -> None:
    assert len(part.digest(text, Hint(), room).text) <= room


@by_name
def test_no_part_makes_anything_up(part: Compressor) -> None:
    for text in REAL.values():
        for room in (len(text) // 4, len(text) // 2):
            made: Digest = part.digest(text, Hint(), room)
            assert unsupported(made.text, text) == (), part.name


REAL = {
    "code": "import os\nfrom app.core import run_all\n\nLIMIT_ROWS = 1200\n\n\nclass RowReader:\n"
    + "".join(
        f"    def read_{n}(self, row_id: int) -> str:\n        return self._rows[row_id + {n * 7}]\n\n"
        for n in range(40)
    ),
    "diff": "".join(
        f"diff --git a/src/m{n}.py b/src/m{n}.py\nindex 12ab{n:02}..34cd{n:02} 100644\n--- a/src/m{n}.py\n+++"
        f" b/src/m{n}.py\n"
        f"@@ -{n},3 +{n},4 @@ def run_{n}():\n     keep_this()\n-    old_name_{n}()\n+    new_name_{n}()\n+   "
        f" extra()\n"
        for n in range(30)
    ),
    "log": "".join(f"2024-05-01 10:00:{n % 60:02} INFO worker-{n % 4} handled job_{n}\n" for n in range(120))
    + "2024-05-01 10:02:01 ERROR worker-2 cannot open /var/data/x7.db\n" * 3,
    "hits": "".join(f"src/pkg_{n % 7}/mod.py:{n + 3}:    value_{n} = compute_{n}()\n" for n in range(80)),
    "trace": "Traceback (most recent call last):\n"
    + "".join(
        f'  File "/app/site-packages/lib_{n}.py", line {n + 10}, in call_{n}\n    step_{n}()\n' for n in range(30)
    )
    + '  File "/app/own.py", line 7, in main\n    start()\nRuntimeError: code 4711\n',
    "tests": "".join(f"tests/test_a.py::test_{n} PASSED\n" for n in range(60))
    + "=== FAILURES ===\n___ test_x ___\nE   assert 41 == 42\ntests/test_a.py:17: AssertionError\n"
    + "=== 1 failed, 60 passed in 1.2s ===\n",
}
