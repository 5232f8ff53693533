from __future__ import annotations

import json

import pytest

from foldaway.lab.finder import Finder, message_text, normalise, occurs


@pytest.mark.parametrize(
    ("literal", "text", "expected"),
    [
        ("foo", "self.foo(1)", True),
        ("foo", "src/foo/bar", True),
        ("foo", "foobar foo_1 xfoo", False),
        ("foo", "foobar, then foo", True),
        ("a.py", "src/a.py:3", True),
        ("a.py", "aa.py", False),
        ("1234", "at 1234.", True),
        ("1234", "1234.5 and 0.1234 and 5,1234", False),
        ("def first(a, b):", "  12\tdef first(a, b):\n", True),
        ("x == y", "x == yy", False),
    ],
)
def test_borders_of_words_and_numbers_are_kept(literal: str, text: str, expected: bool) -> None:
    assert occurs(literal, text) is expected
    assert (Finder([literal]).find(text) == {0}) is expected


def test_all_literals_of_a_text_are_found_and_no_others() -> None:
    finder = Finder(["alpha_1", "src/alpha_1.py", "beta_2", "no such line here", "ναι όχι"])
    assert finder.find("see src/alpha_1.py and ναι όχι") == {0, 1, 4}


def test_two_spellings_of_the_same_text_are_both_found() -> None:
    assert Finder(["a_b", 'say \\"hi\\" now', 'say "hi" now']).find('a_b: say "hi" now') == {0, 1, 2}


def test_text_escaped_twice_is_found() -> None:
    inner = json.dumps({"body": 'first\n\tname = "value_1"'})
    assert Finder(['name = "value_1"']).find(json.dumps({"result": inner})) == {0}


def test_text_without_escapes_stays_the_same_object() -> None:
    text = "nothing to do"
    assert normalise(text) is text


def test_arguments_in_json_are_read_as_the_values_they_hold() -> None:
    call = {"id": "call_9", "type": "function", "function": {"name": "run", "arguments": '{"code": "x\\u00e9_1"}'}}
    text = message_text({"role": "assistant", "content": None, "tool_calls": [call]})
    assert "xé_1" in text
    assert "run" in text
    assert "call_9" not in text


def test_arguments_that_are_no_json_are_read_as_they_are() -> None:
    assert '{"code": "x' in message_text({"type": "function_call", "arguments": '{"code": "x'})


def test_signatures_and_pictures_are_no_text() -> None:
    block = {"type": "thinking", "thinking": "plan", "signature": "SIG", "source": {"type": "base64", "data": "QUJD"}}
    assert message_text({"role": "assistant", "content": [block]}) == "plan"
