from __future__ import annotations

from typing import Any

import pytest

from foldaway.testing.cases.generators import CaseError, expand


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        ({"repeat": {"text": "row {i}", "times": 3, "join": ";"}}, "row 0;row 1;row 2"),
        ({"repeat": {"text": "x", "times": 4}}, "xxxx"),
        ({"repeat": {"text": "{n}{i}", "times": 2, "var": "n"}}, "0{i}1{i}"),
        ({"concat": ["a", {"repeat": {"text": "b", "times": 2}}, {"codepoints": ["0000"]}]}, "abb\0"),
        ({"codepoints": ["D83D"]}, "\ud83d"),
        ({"base64": {"bytes": 3}}, "AAEC"),
        ({"nest": {"open": "[", "close": "]", "depth": 3}}, "[[[]]]"),
    ],
)
def test_a_generator_gives_its_text(node: Any, wanted: str) -> None:
    assert expand({"content": node}) == {"content": wanted}


def test_repeated_items_are_spliced_and_their_variable_reaches_every_depth() -> None:
    item = {"id": "c{turn}", "content": {"repeat": {"text": "{turn}.{i}", "times": 2, "join": " "}}}
    grown = expand(["first", {"repeat": {"items": [item, "{turn}"], "times": 2, "var": "turn"}}, "last"])
    assert grown == ["first", {"id": "c0", "content": "0.0 0.1"}, "0", {"id": "c1", "content": "1.0 1.1"}, "1", "last"]


def test_repeats_nest() -> None:
    inner = {"repeat": {"items": ["{a}{b}"], "times": 2, "var": "b"}}
    assert expand([{"repeat": {"items": [inner], "times": 2, "var": "a"}}]) == ["00", "01", "10", "11"]


@pytest.mark.parametrize(
    "node",
    [
        {"content": {"lorem": {"words": 3}}},
        {"content": {"repeat": {"text": "x"}}},
        {"content": {"repeat": {"text": "x", "times": 2, "sep": ","}}},
        {"content": {"nest": {"open": "[", "depth": 2}}},
        {"content": {"codepoints": ["XYZ"]}},
        {"content": {"concat": [["no", "text"]]}},
    ],
)
def test_an_unknown_or_malformed_generator_is_an_error(node: Any) -> None:
    with pytest.raises(CaseError):
        expand(node)


def test_a_tool_property_named_text_is_no_generator() -> None:
    schema = {"properties": {"text": {"type": "string"}}}
    assert expand(schema) == schema
