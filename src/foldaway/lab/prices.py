"""Price lists of providers for the bills of the lab; they stand in `foldaway.model.prices`, where sessions use them."""

from __future__ import annotations

from foldaway.model.prices import (
    ANTHROPIC,
    ANTHROPIC_HOUR,
    DEEPSEEK,
    GEMINI,
    NO_CACHE,
    OPENAI,
    OPENAI_HALF,
    PLAIN,
    PRICE_LISTS,
    PriceList,
)

__all__ = [
    "ANTHROPIC", "ANTHROPIC_HOUR", "DEEPSEEK", "GEMINI", "NO_CACHE", "OPENAI", "OPENAI_HALF", "PLAIN", "PRICE_LISTS",
    "PriceList",
]  # fmt: skip
