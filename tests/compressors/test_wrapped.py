from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.compressors.wrapped import unwrapped

INNER = '# Title\n\nIt\'s "quoted" at C:\\data\\new and ends.\n' + "More words. " * 60


def _printed(text: str) -> str:
    return f"meta=None content=[TextContent(type='text', text={text!r}, annotations=None)] isError=False"


def _mcp(text: str) -> str:
    return json.dumps({"_meta": None, "content": [{"type": "text", "text": text}], "isError": False})


@pytest.mark.parametrize("wrap", [_printed, _mcp, lambda text: _printed(_mcp(text)), lambda text: _mcp(_mcp(text))])
def test_the_text_inside_comes_out_word_for_word(wrap: object) -> None:
    assert callable(wrap)
    assert unwrapped(wrap(INNER)) == INNER


def test_a_wrapping_that_breaks_off_gives_what_there_is() -> None:
    whole = _printed(_mcp(INNER))
    inner = unwrapped(whole[: len(whole) // 2])
    assert inner is not None
    assert INNER.startswith(inner.rstrip("\\"))
    assert len(inner) > 100


def test_small_fields_beside_a_dominant_text_follow_it() -> None:
    assert unwrapped(json.dumps({"output": INNER, "exit_code": 3})) == INNER + '\n{"exit_code": 3}'


def test_a_failure_is_not_lost() -> None:
    assert (unwrapped(_printed(INNER).replace("isError=False", "isError=True")) or "").endswith("isError=True")


@pytest.mark.parametrize("text", ["", "plain", '{"a": 1}', "[1, 2]", json.dumps({"a": INNER, "b": INNER}), "content=5"])
def test_what_is_not_wrapped_stands_for_itself(text: str) -> None:
    assert unwrapped(text) is None


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="meta=None cot[Tx(ypu'\\\"),]{}:", max_size=200))
def test_any_text_is_taken(text: str) -> None:
    unwrapped("meta=" + text)
    unwrapped('{"content": [' + text)
