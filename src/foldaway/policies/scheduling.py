"""The strategy scheduler (S4.5): rules that map what a window holds to the chain of strategies that serves it.

A rule is data: conditions on figures of the perception (`engine.perception.METRICS`), each a range, and a chain. The
first whose conditions all hold decides; it says so, with the figures it went by, in the commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldaway.engine.perception import METRICS, Perception
from foldaway.errors import SettingsError
from foldaway.policies.strategies.chain import PHASES, Chain, chain_from


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When `when` holds, `chain` decides."""

    name: str
    when: Mapping[str, tuple[float, float]]
    """Figure -> range it must lie in, both ends included. Empty: always."""
    chain: Chain
    phases: frozenset[str] = frozenset()
    """Phases it is for; empty: any."""

    def holds(self, perception: Perception) -> bool:
        figures = perception.metrics
        if self.phases and perception.phase not in self.phases:
            return False
        return all(low <= figures[name] <= high for name, (low, high) in self.when.items())

    def why(self, perception: Perception) -> str:
        """`tool results dominate: results_share 0.81`"""
        figures = [f"{name} {perception.metrics[name]:g}" for name in self.when]
        figures += [f"phase {perception.phase}"] if self.phases else []
        return f"{self.name}: {', '.join(figures)}" if figures else self.name


DEFAULT_RULES: tuple[Mapping[str, Any], ...] = (
    {
        "name": "few giant results",
        "when": {"largest_share": [0.5, 1.0]},
        "chain": [
            "cleanup:0.06",
            "window:0.1",
            "importance:0.05",
            "summaries:0.06",
            "externalise:0.03",
            "extraction:0.7",
        ],
    },
    {
        "name": "long talk",
        "when": {"history_share": [0.5, 1.0]},
        "chain": ["window:0.2", "importance:0.05", "structuring:0.05", "externalise:0.04", "extraction:0.66"],
    },
    {
        "name": "late in the plan",
        "when": {"progress": [0.7, 1.0]},
        "chain": ["importance:0.12", "window:0.08", "externalise:0.04", "extraction:0.76"],
    },
    {
        "name": "tool results dominate",
        "when": {"results_share": [0.5, 1.0]},
        "chain": ["summaries:0.06", "window:0.08", "importance:0.12", "externalise:0.04", "extraction:0.7"],
    },
    {
        "name": "nothing stands out",
        "chain": ["window:0.1", "importance:0.12", "structuring:0.05", "externalise:0.03", "extraction:0.7"],
    },
)
"""The rules of the preset `ace`, as data."""


def choose(rules: Sequence[Rule], perception: Perception) -> Rule:
    """The first rule that holds; the last one where none does."""
    return next((rule for rule in rules if rule.holds(perception)), rules[-1])


def rules_from(data: object, where: str) -> tuple[Rule, ...]:
    """Rules from plain data. Raises SettingsError that says which rule is wrong and how."""
    if isinstance(data, str | Mapping) or not isinstance(data, Sequence) or not data:
        raise SettingsError(f"{where}: expected a list of rules, each with name, when and chain")
    return tuple(_rule(entry, f"{where}, rule {number}") for number, entry in enumerate(data, 1))


def _rule(entry: object, where: str) -> Rule:
    if isinstance(entry, Rule):
        return entry
    if not isinstance(entry, Mapping) or "chain" not in entry:
        raise SettingsError(f"{where}: expected an object with name, when and chain")
    unknown = sorted(map(str, set(entry) - {"name", "when", "chain", "phases"}))
    if unknown:
        raise SettingsError(f"{where}: unknown {', '.join(unknown)}; a rule has name, when, phases and chain")
    name = str(entry.get("name") or where)
    phases = entry.get("phases", ())
    if isinstance(phases, str) or not set(phases) <= PHASES:
        raise SettingsError(f"{where}: phases {phases!r}; expected a list out of {', '.join(sorted(PHASES))}")
    when = _conditions(entry.get("when", {}), where)
    return Rule(name=name, when=when, chain=chain_from(entry["chain"], where), phases=frozenset(phases))


def _conditions(data: object, where: str) -> dict[str, tuple[float, float]]:
    if not isinstance(data, Mapping):
        raise SettingsError(f"{where}: when {data!r}; expected an object of figure: [from, to]")
    found: dict[str, tuple[float, float]] = {}
    for name, bounds in data.items():
        if name not in METRICS:
            raise SettingsError(f"{where}: no figure {name!r}; there are {', '.join(METRICS)}")
        pair = tuple(bounds) if isinstance(bounds, Sequence) and not isinstance(bounds, str) else ()
        if len(pair) != 2 or not all(isinstance(b, int | float) for b in pair) or pair[0] > pair[1]:
            raise SettingsError(f"{where}: {name} {bounds!r}; expected [from, to]")
        found[name] = (float(pair[0]), float(pair[1]))
    return found
