from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.compressors.checker import unsupported

SOURCE = 'GET /api/v2/users -> 404, user_id=48213, "path": "C:\\\\data\\\\run_7", took 1.5 s, caf\\u00e9_9 a&amp;b_1'


@pytest.mark.parametrize(
    ("digest", "made_up"),
    [
        ("user_id=48213 at /api/v2/users", ()),
        ("user_id=48214", ("48214",)),
        ("user 4821", ("4821",)),
        ("took 1.5 s", ()),
        ("took 1.51 s", ("51",)),
        ("loadUsers failed", ("loadUsers",)),
        ("run_7 and café_9", ()),
        ("b_1", ()),
        ("some plain words", ()),
    ],
)
def test_a_literal_must_stand_in_the_source_as_a_whole(digest: str, made_up: tuple[str, ...]) -> None:
    assert unsupported(digest, SOURCE) == made_up


@pytest.mark.parametrize(
    "count", ["[csv: 1,204 rows]", "312 more keys", "lines 17–93 of 500", "#12", "× 31", "3 of 77 items"]
)
def test_counts_under_a_fixed_word_are_the_digests_own(count: str) -> None:
    assert unsupported(count, "nothing of the kind") == ()


@pytest.mark.parametrize("number", ["1204 euros", "costs 1,204", "rows.1204x"])
def test_a_number_under_any_other_word_is_not(number: str) -> None:
    assert unsupported(number, "nothing of the kind") != ()


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=200), start=st.integers(0, 200))
def test_every_text_is_supported_by_itself_and_its_lines_are(text: str, start: int) -> None:
    assert unsupported(text, text) == ()
    for line in text.split("\n"):
        assert unsupported(line, text) == ()


def test_colours_of_a_terminal_are_no_part_of_a_literal() -> None:
    assert unsupported("12 and run_4", "\x1b[32m12\x1b[0m \x1b[1;31mrun_4\x1b[0m") == ()
    assert unsupported("run_5", "\x1b[32mrun_4\x1b[0m") == ("run_5",)
