"""Correcting the own count by what the provider reports after each call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LOWEST, _HIGHEST = 0.5, 3.0
_RAISE, _LOWER = 0.5, 0.15
_FULL_WEIGHT_TOKENS = 2_000


def reported_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Size of the request that a provider's usage speaks of; None when it does not tell.

    Chat (`prompt_tokens`) and Responses (`input_tokens`) have the cached tokens inside the figure. Anthropic leaves
    them out: `input_tokens` + `cache_read_input_tokens` + `cache_creation_input_tokens`. A sum of zero, null and
    anything that is no number tell nothing: streams end without usage, gateways fill in zeros.
    """
    if not isinstance(usage, Mapping):
        return None
    prompt = _number(usage.get("prompt_tokens"))
    if prompt:
        return prompt
    total = _number(usage.get("input_tokens"))
    if usage.get("input_tokens_details") is None:
        total += _number(usage.get("cache_read_input_tokens")) + _number(usage.get("cache_creation_input_tokens"))
    return total or None


@dataclass(slots=True)
class Calibration:
    """A factor on the own count, drawn gently towards what the provider reports.

    After each usable report: ratio = reported / own count of that request, kept within 0.5 to 3; the factor goes
    half of the way up to a higher ratio and 15 % of the way down to a lower one, since a count too low loses the
    call and one too high only some room. Requests below 2,000 tokens move it in proportion to their size: what the
    provider adds to every request weighs too much in them. The factor depends on the order of reports alone, so
    replaying a log gives it again.
    """

    factor: float = 1.0

    def report(self, usage: Mapping[str, Any] | None, own_tokens: int) -> bool:
        """Take in one usage report for a request that counted `own_tokens` without the factor.

        False when the report told nothing and changed nothing.
        """
        reported = reported_tokens(usage)
        if reported is None or own_tokens <= 0:
            return False
        ratio = min(_HIGHEST, max(_LOWEST, reported / own_tokens))
        pace = _RAISE if ratio > self.factor else _LOWER
        weight = min(1.0, own_tokens / _FULL_WEIGHT_TOKENS)
        self.factor += pace * weight * (ratio - self.factor)
        return True


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
