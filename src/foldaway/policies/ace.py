"""Elastic context: every step raw, as its digest or hidden, decided anew at each commit, up as well as down.

The original of a step and its digest are each kept once and never overwritten, so a decision only chooses between them,
and any later one may choose otherwise. What is chosen follows from what the window holds: a rule picks the chain of
strategies that shares out the room (`policies.scheduling`, `policies.strategies`). The newest step is always raw.
Source: "ACE: Adaptive Context Elasticizer", arXiv 2606.31564, in a deterministic reading: its elasticizer is a model
that reads all digests before each step; here rules decide, at commits only, so that the prompt cache is not lost at
every call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldaway.engine.perception import Perception, perceive
from foldaway.engine.planner import Proposal
from foldaway.engine.snapshot import Snapshot
from foldaway.model.plan import Remark
from foldaway.policies._working_set import Wanted
from foldaway.policies.scheduling import DEFAULT_RULES, Rule, choose, rules_from
from foldaway.policies.strategies.chain import Chain, PerPhase, agents_from, chain_from, phases_from
from foldaway.policies.strategies.externalise import Externalise


@dataclass(frozen=True, slots=True)
class Ace:
    """What is set more narrowly comes first: the agent's own phase, the phase, the one chain, the rules."""

    phases: Mapping[str, Any] | None = None
    """Chains by phase, as data: `{"explore": ["summaries:0.4", "window:0.6"], "*": [...]}`."""
    agents: Mapping[str, Any] | None = None
    """Chains by agent and phase, as data: `{"coder": {"act": [...]}}`."""
    agent: str = ""
    """Which of `agents` this session's agent is, by name or role."""
    chain: Sequence[Any] | None = None
    """One chain for everything, as data."""
    rules: Sequence[Any] = DEFAULT_RULES
    """What decides where nothing above does; see `policies.scheduling`."""
    back_share: float = 0.2
    """Share of the room above the floor that one recall at the tail may take."""
    plans_whole = True
    raises = True
    """Levels may go up again at a commit."""
    _plans: tuple[tuple[str, PerPhase], ...] = field(init=False, repr=False)
    _rules: tuple[Rule, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        plans: list[tuple[str, PerPhase]] = []
        if self.agents is not None:
            own = agents_from(self.agents, "ace agents").of(self.agent)
            plans += [(f"agent {self.agent or '*'}", own)] if own is not None else []
        if self.phases is not None:
            plans.append(("set", phases_from(self.phases, "ace phases")))
        if self.chain is not None:
            plans.append(("set", PerPhase({"*": chain_from(self.chain, "ace chain")})))
        object.__setattr__(self, "_plans", tuple(plans))
        object.__setattr__(self, "_rules", rules_from(self.rules, "ace rules"))

    def propose(self, snapshot: Snapshot) -> Iterator[Proposal]:
        chain, why = self.chosen(perceive(snapshot))
        yield Remark(text=f"{why} -> {chain.text}")
        yield from chain.propose(snapshot)

    def bring_back(self, snapshot: Snapshot) -> list[Wanted]:
        """What the next step is about to repeat word for word and is out of sight."""
        return Externalise(self.back_share).bring_back(snapshot)

    def chosen(self, perception: Perception) -> tuple[Chain, str]:
        """The chain for a window, and why that one."""
        for whose, plan in self._plans:
            chain = plan.chain(perception.phase)
            if chain is not None:
                return chain, f"{whose} for phase {perception.phase or 'unknown'}"
        rule = choose(self._rules, perception)
        return rule.chain, f"rule {rule.why(perception)}"
