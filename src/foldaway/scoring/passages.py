"""Value of whole text: how likely a later action repeats a line of an item word for word, per token that it costs.

Agents quote what they read when they edit, and mostly soon after. The chance depends on the kind of item, grows with
its size but less than in proportion (so small items are worth more per token) and falls with age. Kinds' weights, decay
and exponent come from `python scripts/fit_passages.py DATA`, on half of the recording sources, by this package's own
reading of lines.
"""

from __future__ import annotations

from collections.abc import Iterable

from foldaway.model.items import Item, Kind

DECAY = 0.99
"""Chances fall with (1 + age in steps) to this power."""
SIZE = 0.43
"""And grow with tokens to this power."""
WEIGHTS = {
    Kind.READ: 1.0,
    Kind.ERROR: 0.30,
    Kind.LISTING: 0.24,
    Kind.EDIT: 0.10,
    Kind.COMMAND: 0.07,
    Kind.RESULT: 0.05,
    Kind.SEARCH: 0.03,
}
"""Relative to a read. Listings rest on ten uses only."""
OTHER = 0.05
"""Kinds that the fitted half hardly knows."""
NONE = frozenset({Kind.THOUGHT, Kind.REASONING, Kind.PLAN, Kind.ANNOTATION, Kind.NOTE, Kind.ATTACHMENT})


def density(items: Iterable[Item], cost_tokens: int, step: int) -> float:
    """Worth per token of keeping these items raw, which costs `cost_tokens`; only good for comparing."""
    value: float = sum(
        WEIGHTS.get(item.kind, OTHER) * max(1, item.tokens) ** SIZE / (1 + step - item.created_step) ** DECAY
        for item in items
        if item.kind not in NONE
    )
    return round(value / max(1, cost_tokens), 12)
