from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.compressors.condense import condense, lift_start
from foldaway.compressors.names import Names, name_pieces


def test_what_fits_stays_as_it_is() -> None:
    assert condense(["a", "b"], [0.0, 0.0], 3).text == "a\nb"


def test_the_lines_that_rate_highest_stay_and_gaps_name_what_stood_there() -> None:
    lines = ["first_name()", *(f"    call_me_{n}(row, {'x' * 30})" for n in range(9)), "the end of it"]
    short = condense(lines, [5.0, *[0.0] * 9, 5.0], 260, names_share=0.9)
    assert short.text.split("\n")[0] == "first_name()"
    assert short.text.endswith("the end of it")
    assert re.search(r"\[lines \d-10 left out, names there: call_me_\d call_me_\d ", short.text)
    assert short.kept + short.left_out == len(lines)


def test_gaps_carry_the_numbers_of_the_file() -> None:
    lines = [f"plain words here {n}" for n in range(30)]
    text = condense(lines, [9.0, *[-1.0] * 29], 300, numbers=range(100, 130)).text
    assert text == "plain words here 0\n[lines 101-129 left out]"


def test_gaps_can_be_counted_instead() -> None:
    text = condense([f"plain words here {n}" for n in range(30)], [9.0, *[-1.0] * 29], 300, numbers=0).text
    assert text == "plain words here 0\n[29 lines left out]"


def test_lines_below_zero_are_neither_shown_nor_named() -> None:
    text = condense(["shown_one()", "hidden_one()", "shown_two()"], [1.0, -1.0, 1.0], 200).text
    assert "hidden_one" not in text
    assert "shown_two()" in text


def test_wanted_lines_come_first() -> None:
    lines = [f"some line about thing {n}" for n in range(100)]
    assert "some line about thing 73" in condense(lines, [0.0] * 100, 120, wanted=("thing 73",)).text


def test_a_name_on_a_kept_line_is_not_listed_again() -> None:
    lines = [
        "keep my_value here",
        *["filler text line without any name in it"] * 5,
        "use my_value again and more words",
    ]
    text = condense(lines, [9.0, *[0.0] * 6], 110).text
    assert text.count("my_value") == 1


def test_a_long_line_is_cut_with_a_mark() -> None:
    text = condense(["x" * 5000, "tail"], [1.0, 1.0], 900).text
    assert " … " in text
    assert len(text) <= 900


def test_names_are_what_one_would_have_to_type_again() -> None:
    cases = {
        "saveMessage": ("saveMessage",),
        "message": (),
        "self.sessionManager.saveMessage": ("sessionManager", "saveMessage"),
        "src/app/main.py:12:": ("src/app/main.py",),
        "os.path.join": ("os.path.join",),
        "README.md": ("README.md",),
        "--no-verify": ("--no-verify",),
        "https://example.org/a/b": ("https://example.org/a/b",),
        "1234": ("1234",),
        "12": (),
        "well-known": (),
        "av-36i8": ("av-36i8",),
    }
    assert {run: name_pieces(run) for run in cases} == cases


def test_each_name_is_kept_at_the_line_that_has_it_first() -> None:
    names = Names()
    for index, line in enumerate(["plain text", "load_rows(x)", "load_rows(y) and save_rows(z)"]):
        names.add(line, index)
    assert names.line == {"load_rows": 1, "save_rows": 2}
    assert names.count["load_rows"] == 2


@settings(max_examples=100)
@given(
    lines=st.lists(st.text("ab_X.1/ \"'", max_size=30), max_size=30),
    room=st.integers(0, 200),
    share=st.floats(0, 1),
    data=st.data(),
)
def test_the_room_is_never_exceeded(lines: list[str], room: int, share: float, data: st.DataObject) -> None:
    ratings = data.draw(st.lists(st.floats(-1, 9), min_size=len(lines), max_size=len(lines)))
    short = condense(lines, ratings, room, names_share=share)
    assert len(short.text) <= room
    assert short.kept + short.left_out == len(lines)


def test_one_giant_line_is_chosen_from_piece_by_piece() -> None:
    line = " ".join(f"plain words about nothing name_{n} and more" for n in range(400))
    short = condense([line], [1.0], 2_000)
    assert 1_800 < len(short.text) <= 2_000
    assert "name_0" in short.text
    assert (short.kept, short.left_out) == (1, 0)
    # Far more than two ends of it: names from all over.
    assert sum(f"name_{n}" in short.text.split() or f"name_{n}]" in short.text for n in range(100, 300)) > 20


def test_room_that_estimates_left_over_is_given_out_again() -> None:
    lines = [f"    value_{n} = compute_{n % 7}(row[{n}], other_{n})" for n in range(300)]
    for room in (800, 2_000, 4_000):
        assert 0.93 * room < len(condense(lines, [1.0] * len(lines), room).text) <= room


def test_the_first_lines_rise_together_but_for_those_that_say_nothing() -> None:
    lines = [f"line number {n:02} of forty" for n in range(40)]
    ratings = [0.6] * 40
    ratings[1], ratings[2], ratings[3] = -1.0, 0.0, 5.0
    lift_start(lines, ratings, 10 * 24, 2.0, above=0.0)
    assert ratings[:13] == [2.0, -1.0, 0.0, 5.0, *[2.0] * 8, 0.6]
    before = list(ratings)
    lift_start(lines, ratings, 150, 3.0)
    assert ratings == before
