"""The degradation ladder (S4.8): when a policy fails, or time runs short, something simpler decides; the call goes out.

Full policy, the same policy without digests, the plain recent window, and at last the planner's own oldest-first
ladder, which reads no clock and asks nobody. A fall is told in the commit it leads to, so that the view stays a pure
function of log and ledger: opened again, the session does not care how long anything took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from foldaway.engine.digests import Digests
from foldaway.engine.planner import NoPolicy, Planned, Planner, Policy
from foldaway.engine.snapshot import Snapshot
from foldaway.engine.watch import Watch, untimed
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Change

FULL, BARE, WINDOW, LAST = "full policy", "policy without digests", "plain recent window", "oldest first"
UNTIL = {FULL: 0.6, BARE: 0.8, WINDOW: 0.95}
"""Share of the time limit at which a rung stops, counted from the start of the call: those below need some, too."""
IN_PLACE = frozenset({Kind.PASTE, Kind.ATTACHMENT})


@dataclass(frozen=True, slots=True)
class RecentWindow:
    """Folds the oldest turns whole until the low watermark is reached."""

    def propose(self, snapshot: Snapshot) -> Iterator[Change]:
        for item in snapshot.foldable:
            level = Level.STUB if item.kind in IN_PLACE else Level.HIDDEN
            yield Change(item=item.id, level=level, reason="plain recent window: oldest first")


@dataclass(slots=True)
class NoDigests(Digests):
    """Digests that are never worth making: what would be shown by one is named in place instead."""

    def worthwhile(self, item: Item) -> bool:
        return False

    def within(self, item: Item, room_chars: int) -> str:
        return self.stubs.mask(item, self.log.result_text(item), room_chars)

    def stage(self, items: Sequence[int], chars: int = 0) -> str:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """What one of the rungs came to."""

    planned: Planned | None
    """None: nothing changes."""
    rung: str
    falls: tuple[str, ...] = ()
    """Why each rung above did not hold, from the top."""


def descend(
    planner: Planner, plan: Callable[[Planner, str], Planned | None], spent: Callable[[], float] = untimed,
    *, needed: bool,
) -> Descent:  # fmt: skip
    """Ask rung after rung for a plan until one holds.

    `plan(planner, remark)` makes it. Where it is not `needed` (the view fits as it is), a policy that falls has its
    commit put off to a later call instead of a worse one made. Never raises but for defects of the last rung.
    """
    falls: list[str] = []
    for rung in (FULL, BARE, WINDOW) if needed else (FULL,):
        remark = "; ".join(falls)
        try:
            watch = Watch(spent, UNTIL[rung])
            watch.check()
            planned = plan(_standing_at(rung, planner, watch), remark)
        except Exception as error:  # policies are other people's code
            told = str(error) if type(error).__module__.startswith("foldaway.engine.watch") else _told(error)
            falls.append(f"{rung} ({planner.policy_name}) fell: {told}" if rung != WINDOW else f"{rung} fell: {told}")
        else:
            return Descent(planned=planned, rung=rung, falls=tuple(falls))
    if not needed:
        return Descent(planned=None, rung="put off", falls=tuple(falls))
    last = _standing_at(LAST, planner, Watch())
    return Descent(planned=plan(last, "; ".join(falls)), rung=LAST, falls=tuple(falls))


def _standing_at(rung: str, planner: Planner, watch: Watch) -> Planner:
    if rung == FULL:
        return planner.standing_in(planner.policy, planner.policy_name, watch)
    if rung == BARE:
        bare = NoDigests(planner.log, planner.stubs)
        return planner.standing_in(planner.policy, f"{planner.policy_name} without digests", watch, bare)
    simple: Policy = RecentWindow() if rung == WINDOW else NoPolicy()
    name = "plain-window" if rung == WINDOW else "last-resort"
    return planner.standing_in(simple, name, watch, NoDigests(planner.log, planner.stubs))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
