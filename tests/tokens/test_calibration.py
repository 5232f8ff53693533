from __future__ import annotations

from typing import Any

import pytest

from foldaway.tokens import Calibration, reported_tokens


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 2000, "prompt_tokens_details": {"cached_tokens": 1900}}, 2000),
        ({"prompt_tokens": 1558, "prompt_cache_hit_tokens": 1500}, 1558),
        ({"input_tokens": 40, "cache_read_input_tokens": 4700, "cache_creation_input_tokens": 60}, 4800),
        ({"input_tokens": 0, "cache_read_input_tokens": 4700}, 4700),
        ({"input_tokens": 900, "input_tokens_details": {"cached_tokens": 800}}, 900),
        (None, None),
        ({}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": None, "prompt_tokens_details": None}, None),
        ({"input_tokens": "900"}, None),
        ({"input_tokens": -5}, None),
        ({"prompt_tokens": True}, None),
    ],
)
def test_the_size_of_the_request_is_read_in_each_providers_way(usage: Any, tokens: int | None) -> None:
    assert reported_tokens(usage) == tokens


def test_the_factor_nears_what_is_reported() -> None:
    calibration = Calibration()
    for _ in range(20):
        assert calibration.report({"prompt_tokens": 6000}, 5000)
    assert calibration.factor == pytest.approx(1.2, abs=0.01)


def test_a_low_count_is_corrected_sooner_than_a_high_one() -> None:
    up, down = Calibration(), Calibration()
    up.report({"prompt_tokens": 6000}, 5000)
    down.report({"prompt_tokens": 4000}, 5000)
    assert up.factor == pytest.approx(1.1)
    assert down.factor == pytest.approx(0.97)


def test_an_absurd_report_moves_the_factor_within_bounds() -> None:
    calibration = Calibration()
    for _ in range(99):
        calibration.report({"prompt_tokens": 10**12}, 5000)
    assert 1 < calibration.factor <= 3
    for _ in range(99):
        calibration.report({"prompt_tokens": 1}, 5000)
    assert 0.5 <= calibration.factor < 1


def test_a_small_request_says_little() -> None:
    calibration = Calibration()
    calibration.report({"prompt_tokens": 400}, 200)
    assert 1 < calibration.factor <= 1.05


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0}, {"prompt_tokens": None}])
def test_a_report_that_tells_nothing_changes_nothing(usage: Any) -> None:
    calibration = Calibration(1.3)
    assert not calibration.report(usage, 5000)
    assert not calibration.report({"prompt_tokens": 500}, 0)
    assert calibration.factor == 1.3
