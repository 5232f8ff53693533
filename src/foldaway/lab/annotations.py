"""Annotations derived from a recording, and the same ones made wrong at a stated rate.

The perfect annotator says, once a step is over, which earlier messages supplied what its action used (the labels'
needs of that step; the future is not asked) and what kind each call was (the engine's own classification). The
careless one leaves links out, adds links to observations that supplied nothing to the step, and names another kind.

What goes wrong is drawn by hashing the seed with what is drawn for, so it is the same on every machine, does not
depend on order, and grows with the rate: what is wrong at 10 % is wrong at 20 % too. A false link is drawn for each
true one, so at a rate of 50 % one link in three is false. The same call is misread alike whenever it is made.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foldaway.lab.needs import Labels
from foldaway.lab.timeline import Voice, steps_of, timeline
from foldaway.linking.kinds import Kinds
from foldaway.model.items import Kind
from foldaway.model.recorded import Recorded

SEED = 20_261_130
CALL_KINDS = (Kind.READ, Kind.LISTING, Kind.SEARCH, Kind.COMMAND, Kind.EDIT, Kind.RESULT, Kind.PLAN)
"""What a call can be taken for. Errors are told by their result, not annotated; they stay what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How often each annotation is wrong; rates are shares (0..1)."""

    kinds: float = 0.0
    missing: float = 0.0
    false: float = 0.0
    seed: int = SEED

    def __post_init__(self) -> None:
        for name in ("kinds", "missing", "false"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} {getattr(self, name)}: expected a share from 0 to 1")


def drawn(seed: int, *what: object) -> float:
    """A number in [0, 1) that depends on the arguments alone."""
    return _hashed(seed, *what) / 2**64


def _hashed(seed: int, *what: object) -> int:
    data = "\x1f".join(map(str, (seed, *what))).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Links:
    """Position of an assistant message -> positions of the messages it is said to depend on, ascending."""

    needs: Mapping[int, tuple[int, ...]]
    true: int
    """How many of them are true."""
    false: int


def declared_links(recorded: Recorded, labels: Labels, noise: Noise | None = None) -> Links:
    """What an annotator says of a session. O(needs)."""
    noise = noise or Noise()
    observed = sorted({said.position for said in timeline(recorded) if said.voice is Voice.OBSERVED})
    needs: dict[int, tuple[int, ...]] = {}
    true = false = 0
    for step, wanted in zip(steps_of(recorded), labels.needs, strict=True):
        suppliers = sorted({need.newest for need in wanted})
        kept = {at for at in suppliers if drawn(noise.seed, "missing", step.start, at) >= noise.missing}
        before = [at for at in observed[: bisect_left(observed, step.start)] if at not in suppliers]
        wrong = {
            before[_hashed(noise.seed, "which", step.start, at) % len(before)]
            for at in suppliers
            if before and drawn(noise.seed, "false", step.start, at) < noise.false
        }
        true, false = true + len(kept), false + len(wrong)
        if kept or wrong:
            needs[step.start] = tuple(sorted(kept | wrong))
    return Links(needs, true, false)


class NoisyKinds(Kinds):
    """The engine's classification with some calls taken for something else."""

    def __init__(self, noise: Noise) -> None:
        super().__init__()
        self._noise = noise

    def of_call(self, name: str, arguments: Any, text: str) -> Kind:
        # The engine's own rule asks `of_command` for shells: to draw once, that answer must be the undisturbed one.
        kind = Kinds().of_call(name, arguments, text)
        return self._said(kind, name, text)

    def of_command(self, command: str) -> Kind:
        return self._said(super().of_command(command), "", command)

    def _said(self, kind: Kind, name: str, text: str) -> Kind:
        if drawn(self._noise.seed, "kind", name, text) >= self._noise.kinds:
            return kind
        others = [other for other in CALL_KINDS if other is not kind]
        return others[_hashed(self._noise.seed, "as", name, text) % len(others)]
