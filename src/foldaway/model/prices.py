"""What providers charge for prompts: cache prices with lifetime, smallest cached prompt and block size.

Prices are shares of a model's base input price, so lists of one provider's models that differ only in that are one
list here. Providers change them; each list says what it is taken from and can be made anew with other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foldaway.errors import SettingsError
from foldaway.model.plan import Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """The prompt prices of one provider and cache setting."""

    name: str
    prices: Prices
    minimum_tokens: int = 0
    """Prompts below are not cached: all of it is charged at the base price."""
    block_tokens: int = 1
    """Cached prefixes count in whole blocks."""
    lifetime_seconds: float | None = None
    """A cache unused for longer is gone; None: kept for as long as any recording lasts."""
    source: str = ""

    def cached(self, prefix_tokens: int, gap_seconds: float | None) -> int:
        """Of a prefix that the call before had sent, the tokens read from the cache. An unknown gap counts as short."""
        if prefix_tokens < self.minimum_tokens or self._gone(gap_seconds):
            return 0
        return prefix_tokens - prefix_tokens % self.block_tokens

    def cost(self, prefix_tokens: int, total_tokens: int, gap_seconds: float | None = None) -> float:
        """One prompt in tokens at base price, of which the call before had sent this prefix, so long ago."""
        if total_tokens < self.minimum_tokens:
            return float(total_tokens)
        read = self.cached(min(prefix_tokens, total_tokens), gap_seconds)
        return read * self.prices.read + (total_tokens - read) * self.prices.write

    def cold_after(self, idle_seconds: float) -> bool:
        """Whether nothing is left of the cache when it was not used for so long."""
        return self._gone(idle_seconds)

    def _gone(self, gap_seconds: float | None) -> bool:
        return gap_seconds is not None and self.lifetime_seconds is not None and gap_seconds > self.lifetime_seconds


PLAIN = PriceList(name="plain", prices=Prices(), source="read 0.1, write 1.25, every prefix cached for ever")
"""What the headline bill uses: no minimum, no lifetime, so it depends on nothing that recordings leave out."""
ANTHROPIC = PriceList(
    name="anthropic-5m",
    prices=Prices(read=0.1, write=1.25, name="anthropic-5m"),
    minimum_tokens=1_024,
    lifetime_seconds=300,
    source="Anthropic prompt caching, 5-minute cache: write 1.25, read 0.1, refreshed by use; from 1,024 tokens",
)
ANTHROPIC_HOUR = PriceList(
    name="anthropic-1h",
    prices=Prices(read=0.1, write=2.0, name="anthropic-1h"),
    minimum_tokens=1_024,
    lifetime_seconds=3_600,
    source="Anthropic prompt caching, 1-hour cache: write 2.0, read 0.1",
)
OPENAI = PriceList(
    name="openai",
    prices=Prices(read=0.1, write=1.0, name="openai"),
    minimum_tokens=1_024,
    block_tokens=128,
    lifetime_seconds=600,
    source="OpenAI automatic caching, GPT-5 family: read 0.1, no write premium; from 1,024 tokens, steps of 128, "
    "5-10 minutes unused",
)
OPENAI_HALF = PriceList(
    name="openai-half",
    prices=Prices(read=0.5, write=1.0, name="openai-half"),
    minimum_tokens=1_024,
    block_tokens=128,
    lifetime_seconds=600,
    source="the same, GPT-4o family: read 0.5",
)
GEMINI = PriceList(
    name="gemini",
    prices=Prices(read=0.25, write=1.0, name="gemini"),
    minimum_tokens=4_096,
    lifetime_seconds=3_600,
    source="Gemini implicit caching: read 0.25 of the base price on hits, from 4,096 tokens (Pro); lifetime not "
    "published, an hour assumed",
)
DEEPSEEK = PriceList(
    name="deepseek",
    prices=Prices(read=0.1, write=1.0, name="deepseek"),
    block_tokens=64,
    lifetime_seconds=7_200,
    source="DeepSeek context caching on disk: hits at 0.1, blocks of 64 tokens, hours",
)
NO_CACHE = PriceList(
    name="no-cache",
    prices=Prices(read=1.0, write=1.0, name="no-cache"),
    source="no prompt cache: every token at the base price",
)
PRICE_LISTS = (PLAIN, ANTHROPIC, ANTHROPIC_HOUR, OPENAI, OPENAI_HALF, GEMINI, DEEPSEEK, NO_CACHE)
PRICE_LISTS_BY_NAME: Mapping[str, PriceList] = MappingProxyType(
    {**{made.name: made for made in PRICE_LISTS}, "anthropic": ANTHROPIC}
)
"""What `Session(prices=NAME)` may name."""


def price_list(prices: str | Prices | PriceList | None) -> PriceList:
    """A list by its name, or the given prices as a list without minimum, blocks and lifetime; None: `PLAIN`.

    Raises:
        SettingsError: no list of this name, with those there are.
    """
    if isinstance(prices, PriceList):
        return prices
    if isinstance(prices, Prices):
        return PriceList(name=prices.name, prices=prices, source="as given")
    known = PRICE_LISTS_BY_NAME.get(prices or PLAIN.name)
    if known is None:
        raise SettingsError(f"no price list {prices!r}; known: {', '.join(sorted(PRICE_LISTS_BY_NAME))}")
    return known
