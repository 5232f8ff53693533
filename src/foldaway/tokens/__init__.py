"""Token counts, offline: exact for OpenAI models, estimates with a stated margin for the others."""

from foldaway.tokens.calibration import Calibration, reported_tokens
from foldaway.tokens.counters import Estimate, Memo, OpenAi, PlainEstimate
from foldaway.tokens.families import get_counter
from foldaway.tokens.request import RequestCounter
from foldaway.tokens.windows import context_window

__all__ = [
    "Calibration",
    "Estimate",
    "Memo",
    "OpenAi",
    "PlainEstimate",
    "RequestCounter",
    "context_window",
    "get_counter",
    "reported_tokens",
]
