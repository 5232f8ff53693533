"""Where a pool's memories stand in the store, and who reads what there."""

from __future__ import annotations

from dataclasses import dataclass

from foldaway.errors import SettingsError

HELD = "held"
"""Kind of the receipts that say what a reader holds."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Places:
    """The scopes of one pool, as one reader uses them.

    `NAME` is what is shared, `NAME@WHO` the inbox of one agent, `NAME@` what each reader holds. A pool's name has no
    "@", so none is another's. Access decides in each of them; a scope only keeps subjects apart: the same handed to two
    agents is two copies for two readers, neither of which supersedes the other.
    """

    shared: str
    owner: str

    @property
    def mine(self) -> str:
        """The group that this reader alone is in."""
        return f"@{self.owner}"

    @property
    def private(self) -> str:
        return f"{self.shared}@"

    @property
    def readable(self) -> tuple[str, ...]:
        return self.shared, self.inbox(self.owner)

    def inbox(self, who: str) -> str:
        return f"{self.shared}@{check_name('agent', who)}"

    def only(self, who: str) -> str:
        """The access that lets one agent read."""
        return f"group:@{check_name('agent', who)}"

    def holds(self, pool: str) -> bool:
        """Whether a memory of this place is one of the pool's (receipts aside)."""
        return pool == self.shared or (pool.startswith(self.private) and pool != self.private)


def check_name(what: str, name: str, *, no_at: bool = False) -> str:
    """The name. Raises SettingsError where it cannot be one; it is never used as a path."""
    if not name.strip() or len(name) > _LONGEST or not name.isprintable() or (no_at and "@" in name):
        at = ', without "@"' if no_at else ""
        raise SettingsError(f"{what} name {name[:40]!r}: expected 1 to {_LONGEST} printable characters{at}")
    return name
