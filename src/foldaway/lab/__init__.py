"""The measuring side: replay recorded sessions, label what each step needed, price the prompts, time the calls."""

from foldaway.lab.bench import bench, bench_table, synthetic
from foldaway.lab.bill import Bill
from foldaway.lab.needs import LabelCache, Labels, Need, label
from foldaway.lab.replay import FULL, ReplaySession, ReplayView, SessionMaker, make_ruler, replay
from foldaway.lab.results import ReplayResult, Tally, pool, wilson
from foldaway.lab.runner import Run, progress_on_stderr, replay_all
from foldaway.lab.table import needs_table, replay_table, row

__all__ = [
    "FULL",
    "Bill",
    "LabelCache",
    "Labels",
    "Need",
    "ReplayResult",
    "ReplaySession",
    "ReplayView",
    "Run",
    "SessionMaker",
    "Tally",
    "bench",
    "bench_table",
    "label",
    "make_ruler",
    "needs_table",
    "pool",
    "progress_on_stderr",
    "replay",
    "replay_all",
    "replay_table",
    "row",
    "synthetic",
    "wilson",
]
