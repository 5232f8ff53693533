"""Bodies are read and written by orjson where it is installed, with the standard library's very results."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.proxy import jsons

ODD = (
    b"-0", b"-0.0", b"1e999", b"[NaN, Infinity, -Infinity]", b"18446744073709551615", b"18446744073709551616",
    b"-9223372036854775809", b'{"n": 123456789012345678901234567890, "f": 1e22}', b'{"a": 1, "b": 2, "a": 3}',
    b'"\\ud800"', b'{"\\udfff": 1}', b'"\\ud83d\\ude00"', b"\xef\xbb\xbf{}", b'"\x7f\\u0000"', b'"\xc3"', b"[1,]",
    b'""x', b"", b"nul", b" [1.0, 1e5, 1E-7, 0.1e-400] ", b'"\xed\xa0\x80"', "\u3042".encode("utf-16"), b"[" * 5_000,
)  # fmt: skip
numbers = st.integers() | st.integers(-(2**70), 2**70) | st.floats()
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text() | st.characters(categories=["Cs"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(params=["orjson", "json"], autouse=True)
def installed(request: pytest.FixtureRequest) -> Any:
    if request.param == "orjson" and jsons.FAST is None:
        pytest.skip("orjson is not installed")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "json":
            patch.setattr(jsons, "FAST", None)
        yield


def outcome(read: Any, raw: bytes) -> Any:
    try:
        return repr(read(raw))
    except RecursionError:
        return RecursionError
    except ValueError:
        return ValueError


@pytest.mark.parametrize("raw", ODD)
def test_odd_texts_are_read_as_the_standard_library_reads_them(raw: bytes) -> None:
    assert outcome(jsons.loads, raw) == outcome(json.loads, raw)


def test_what_one_of_the_two_may_still_read_is_deeper_than_any_request_may_be() -> None:
    for depth in (900, 1_000, 1_020, 1_030, 20_000):
        try:
            assert jsons.measured(b"[" * depth + b"]" * depth)[1] == depth
        except RecursionError:
            assert depth > 900


@given(values)
def test_what_is_written_is_what_the_standard_library_writes_and_reads_back(value: Any) -> None:
    body = {"value": value}
    written = jsons.dumps(body)
    try:
        assert written == json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        assert written == json.dumps(body, separators=(",", ":")).encode()
    assert repr(jsons.loads(written)) == repr(json.loads(written))


def test_depth_counts_the_lists_and_objects_around_a_value() -> None:
    assert jsons.measured(b"1") == (1, 0)
    assert jsons.measured(b"[]")[1] == 1
    assert jsons.measured(b'{"a": [{"b": 1}], "c": 2}')[1] == 3


def test_not_a_number_is_written_and_never_turned_into_null() -> None:
    assert jsons.dumps({"n": math.nan}) == b'{"n":NaN}'
    assert jsons.dumps({"n": [2**64, 1e22]}) == b'{"n":[18446744073709551616,1e+22]}'
