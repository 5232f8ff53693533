"""Foldaway: structured eviction for the context windows of long-running LLM agents.

Everything an agent sees is kept word for word; before each model call Foldaway decides, item by item and by what
depends on what, how much the model gets to see. What is folded away leaves a readable stub and comes back byte for
byte.
"""

from foldaway.engine.recall import Recalled
from foldaway.engine.triggers import Triggers
from foldaway.errors import (
    FoldawayError,
    MissingExtra,
    OverBudget,
    ReadError,
    RecallError,
    SettingsError,
    StoreError,
    WireError,
)
from foldaway.model.items import Item, Kind, Level
from foldaway.model.plan import Action, Change, Commit, PlanEntry, Prices, ProposedPlan
from foldaway.model.view import Explanation, View
from foldaway.model.wire import Quirks
from foldaway.session import Session, fit
from foldaway.stores.memory import MemoryStore
from foldaway.stores.sqlite import SqliteStore
from foldaway.tools import delimiter_result, delimiter_tool, tool

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Change",
    "Commit",
    "Explanation",
    "FoldawayError",
    "Item",
    "Kind",
    "Level",
    "MemoryStore",
    "MissingExtra",
    "OverBudget",
    "PlanEntry",
    "Prices",
    "ProposedPlan",
    "Quirks",
    "ReadError",
    "RecallError",
    "Recalled",
    "Session",
    "SettingsError",
    "SqliteStore",
    "StoreError",
    "Triggers",
    "View",
    "WireError",
    "delimiter_result",
    "delimiter_tool",
    "fit",
    "tool",
]
