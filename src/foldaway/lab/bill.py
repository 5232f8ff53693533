"""A simulated prompt bill under the prices of a provider's prompt cache.

Amounts are kept in tokens and priced afterwards. What the model writes is left out: it is the same under every
policy. Lifetime, smallest cached prompt and block size come from a price list; without one every prefix that was sent
before is read from the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foldaway.lab.prices import PLAIN, PriceList
from foldaway.model.plan import Prices

CACHE = Prices()
NO_PREMIUM = Prices(read=0.5, write=1.0, name="cache 0.5/1.0")
PRICES = (CACHE, NO_PREMIUM)

RECALL_CAP_TOKENS = 2_000
"""Most tokens that one simulated recall brings back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Tokens of a run's prompts by how they are charged."""

    read_tokens: int = 0
    """Prefix that the call before had sent as well."""
    written_tokens: int = 0
    """The rest: sent for the first time, or again behind a broken prefix."""
    recall_read_tokens: int = 0
    """Whole views sent again by the extra calls that fetch what a step missed."""
    recall_written_tokens: int = 0
    """What those calls fetched."""
    extra_calls: int = 0
    plain_tokens: int = 0
    """Prompts too short for the cache, charged at the base price."""

    def cost(self, prices: Prices = CACHE) -> float:
        """The bill in tokens at base input price."""
        read = self.read_tokens + self.recall_read_tokens
        written = self.written_tokens + self.recall_written_tokens
        return read * prices.read + written * prices.write + self.plain_tokens

    def share_of(self, full: Bill, prices: Prices = CACHE) -> float:
        """This bill as a share of another (0 when that one is 0)."""
        whole = full.cost(prices)
        return self.cost(prices) / whole if whole else 0.0

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            read_tokens=self.read_tokens + other.read_tokens,
            written_tokens=self.written_tokens + other.written_tokens,
            recall_read_tokens=self.recall_read_tokens + other.recall_read_tokens,
            recall_written_tokens=self.recall_written_tokens + other.recall_written_tokens,
            extra_calls=self.extra_calls + other.extra_calls,
            plain_tokens=self.plain_tokens + other.plain_tokens,
        )


def call_bill(
    prefix_tokens: int,
    total_tokens: int,
    recalled: Sequence[int] = (),
    *,
    rules: PriceList = PLAIN,
    gap_seconds: float | None = None,
) -> Bill:
    """One call and the extra calls it leads to.

    `prefix_tokens` of its `total_tokens` were sent by the call before, `gap_seconds` ago (None: not known). `recalled`:
    tokens of each part that holds something the step needs and the view does not show; each costs one more call at
    once, which reads the view from the cache and writes the part, capped at `RECALL_CAP_TOKENS`.
    """
    fetched = sum(min(tokens, RECALL_CAP_TOKENS) for tokens in recalled)
    if total_tokens < rules.minimum_tokens:
        everything = total_tokens * (1 + len(recalled)) + fetched
        return Bill(plain_tokens=everything, extra_calls=len(recalled))
    read = rules.cached(prefix_tokens, gap_seconds)
    again = rules.cached(total_tokens, 0.0)
    return Bill(
        read_tokens=read,
        written_tokens=total_tokens - read,
        recall_read_tokens=again * len(recalled),
        recall_written_tokens=(total_tokens - again) * len(recalled) + fetched,
        extra_calls=len(recalled),
    )


def full_bill(
    call_totals: Sequence[int], *, rules: PriceList = PLAIN, gaps_seconds: Sequence[float | None] = ()
) -> Bill:
    """The bill of sending everything: each call extends the one before. `gaps_seconds`: one a call, or none known."""
    bill, before = Bill(), 0
    for number, total in enumerate(call_totals):
        gap = gaps_seconds[number] if gaps_seconds else None
        bill += call_bill(before, total, rules=rules, gap_seconds=gap)
        before = total
    return bill
