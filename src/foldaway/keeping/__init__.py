"""What a store has of one session: records, branches, decisions, notes."""

from foldaway.keeping.kept import Kept, Record

__all__ = ["Kept", "Record"]
