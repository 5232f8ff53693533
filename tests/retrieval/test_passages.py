from __future__ import annotations

import json

from foldaway.retrieval.passages import UNIT_CHARS, Text, lowered, passage, places, told_within
from foldaway.retrieval.terms import asked


def shown(text: str, query: str, chars: int = 400, whole: int = 0) -> tuple[str, tuple[tuple[int, int], ...]]:
    wanted, source = asked(query), Text.of(text)
    found = passage(source, places(source, wanted, told_within(source, wanted)), chars, whole)
    return found.text, found.lines


def numbered(lines: int) -> list[str]:
    return [f"line {n} of the tide table" for n in range(1, lines + 1)]


def test_a_passage_is_the_line_that_fits_with_those_around_it() -> None:
    lines = numbered(60)
    lines[39] = "the crane at berth 7 stands still"
    text, where = shown("\n".join(lines), "crane berth", chars=150)
    assert text.split("\n") == lines[37:42]
    assert where == ((38, 42),)


def test_words_close_together_go_before_the_same_words_apart() -> None:
    lines = numbered(60)
    lines[5], lines[50] = "a crane", "a berth"
    lines[30] = "the crane at the berth"
    text, _ = shown("\n".join(lines), "crane berth", chars=120)
    assert "the crane at the berth" in text
    assert "a crane" not in text


def test_words_side_by_side_tell_which_of_many_is_meant() -> None:
    lines = [f"code of {what} {n}: Q{n}" for n in range(30) for what in ("lot", "record")]
    text, _ = shown("\n".join(lines), "code of record 17", chars=40)
    assert "code of record 17: Q17" in text


def test_several_places_come_in_the_order_of_the_text_with_a_gap_between() -> None:
    lines = numbered(60)
    lines[10] = lines[50] = "the crane is broken"
    text, where = shown("\n".join(lines), "crane broken", chars=600)
    assert where == ((9, 13), (49, 53))
    assert text.count("\n…\n") == 1


def test_json_on_one_line_is_shown_around_the_words_in_bounds() -> None:
    rows = json.dumps([{"berth": n, "crane": f"C{n * 7:04d}"} for n in range(500)])
    text, where = shown(rows, '"berth": 333', chars=2 * UNIT_CHARS)
    assert '"berth": 333' in text
    assert text.startswith("…")
    assert text.endswith("…")
    assert len(text) < 3 * UNIT_CHARS
    assert where == ((1, 1),)


def test_a_short_text_comes_whole_when_that_is_asked_for() -> None:
    text = "\n".join(numbered(12))
    assert shown(text, "tide", whole=1000)[0] == text


def test_small_letters_keep_every_place() -> None:
    for text in ("İstanbul Crane", "ΣΑΣ", "Straße", "plain"):
        assert len(lowered(text)) == len(text)


def test_passages_are_lines_of_the_text_byte_for_byte() -> None:
    source = "\n".join(numbered(80))
    for query in ("line 7", "table 44 tide", "zebra"):
        text, _ = shown(source, query)
        assert all(line == "…" or line in source.split("\n") for line in text.split("\n"))
