from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldaway.compressors.base import Fact, Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.json_data import JsonData

FLIGHTS = [
    {
        "flight_number": f"HAT{n:03}",
        "origin": "JFK",
        "status": "available",
        "prices": {"economy": 100 + n, "business": 400 - n},
        "remarks": f"Flight {n} may be late in the evening, see the board at the gate for what is new.",
    }
    for n in range(40)
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
    max_leaves=40,
)


def digest(value: Any, room: int, hint: Hint | None = None) -> str:
    return JsonData().digest(value if isinstance(value, str) else json.dumps(value), hint or Hint(), room).text


@settings(max_examples=150, deadline=None)
@given(value=st.lists(VALUES, min_size=1, max_size=8), room=st.integers(20, 400))
@example(value=[-10_000_000_000_000_000_000, [1000]], room=30)
def test_json_stays_json(value: Any, room: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    shown = digest(text, room)
    assert len(shown) <= room
    json.loads(shown)
    assert unsupported(shown, text) == ()


def test_like_objects_become_a_table_with_every_id() -> None:
    text = json.dumps(FLIGHTS)
    shown = json.loads(digest(text, len(text) // 4))
    assert shown["table"] == "40 rows"
    assert shown["same in all rows"] == {"origin": "JFK", "status": "available"}
    place = shown["columns"].index("flight_number")
    assert [row[place] for row in shown["rows"]] == [flight["flight_number"] for flight in FLIGHTS]
    assert "prices.economy" in shown["columns"]


def test_what_a_table_leaves_out_is_named_with_its_extremes() -> None:
    shown = digest(FLIGHTS, 900)
    assert '"left out":' in shown
    assert "column prices.business from 361 to 400" in shown or "prices.business" in json.loads(shown)["columns"]


def test_objects_by_key_are_a_table_too() -> None:
    text = json.dumps({f"99{n:04}": {"size": n, "colour": "red" if n % 2 else "blue"} for n in range(60)})
    shown = digest(text, len(text) * 2 // 3)
    assert all(f"99{n:04}" in shown for n in range(60))
    assert json.loads(shown)["rows"][0] == ["990000", 0, "blue"]


def test_small_values_stay_beside_a_large_one() -> None:
    text = json.dumps({"id": 7781, "state": "open", "log": "It went on and on. " * 200, "next": None})
    shown = json.loads(digest(text, 400))
    assert (shown["id"], shown["state"]) == (7781, "open")
    assert 0 < len(shown["log"]) < 380


def test_numbers_keep_their_spelling() -> None:
    text = '{"price": 1.10, "big": 1e400, "id": 12345678901234567890, "pad": "' + "x y " * 100 + '"}'
    shown = digest(text, 120)
    assert '"price":1.10' in shown
    assert '"big":1e400' in shown
    assert "12345678901234567890" in shown


def test_lists_of_numbers_tell_from_where_to_where() -> None:
    shown = digest([5, 900, -3, *range(10, 400)], 100)
    assert json.loads(shown)[:2] == [5, 900]
    assert "items from -3 to 900" in shown


def test_json_lines_are_one_table() -> None:
    text = "\n".join(json.dumps({"event": f"ev_{n}", "ms": n}) for n in range(80))
    found = JsonData().digest(text, Hint(), len(text) // 2)
    assert found.content == "json lines"
    assert '"table":"80 rows"' in found.text
    assert "ev_79" in found.text


@pytest.mark.parametrize("cut", [300, 777, 1001, 2500])
def test_a_document_that_breaks_off_is_read_as_far_as_it_goes(cut: int) -> None:
    text = json.dumps({"flights": FLIGHTS})[:cut]
    found = JsonData().digest(text, Hint(), cut // 2)
    assert found.content == "cut-off json"
    assert "HAT000" in found.text
    assert unsupported(found.text, text) == ()


def test_words_before_and_between_stay() -> None:
    text = (
        f"$ run a\n{json.dumps(FLIGHTS[:9])}\n--- second ---\n{json.dumps({'id': 'Q-77', 'pad': 'x y ' * 200})}\ndone"
    )
    shown = digest(text, 700)
    for kept in ("$ run a", "--- second ---", "Q-77", "done", "HAT008"):
        assert kept in shown


def test_json_inside_a_string_is_read_too() -> None:
    text = json.dumps({"status": 200, "body": json.dumps(FLIGHTS)})
    shown = json.loads(digest(text, len(text) // 4))
    assert shown["body"]["table"] == "40 rows"


def test_facts_have_the_path_the_spelling_and_the_line() -> None:
    text = json.dumps({"user": {"id": 48213, "mail": "a_b@example.com"}}, indent=1)
    assert JsonData().digest(text, Hint(), 1000).facts == (
        Fact("user.id", "48213", 3),
        Fact("user.mail", "a_b@example.com", 4),
    )


def test_wanted_values_decide_which_column_stays() -> None:
    rows = [{"id": f"id_{n:04}", "code": f"code_{n * 7:05}"} for n in range(100)]
    room = 100 * 12 + 150
    assert "code_00700"[:5] not in "".join(json.loads(digest(rows, room))["columns"][:1])
    shown = json.loads(digest(rows, 100 * 16, Hint(wanted=("code_00007",))))
    assert "code" in shown["columns"]


@pytest.mark.parametrize(
    "text", ["def f(x):\n    return {x: 1}\n", "plain words", "[1] see the note", "", "{% if x %}"]
)
def test_what_is_no_json_is_not_taken_for_it(text: str) -> None:
    assert JsonData().matches(text, Hint()) < 0.5


@pytest.mark.parametrize(
    "text", ['{"a": 1}', "[1, 2]", '[\n {"a":', '{"a":1}\n{"a":2}', '$ x\n{\n  "a": 1, "b": {}, "c": []}']
)
def test_what_is_json_is_taken_for_it(text: str) -> None:
    assert JsonData().matches(text, Hint()) > 0.6
