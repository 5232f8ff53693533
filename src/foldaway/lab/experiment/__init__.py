"""Whole experiments: sessions x policies x budgets, resumable, over cores or a cluster, with curves and a report."""

from foldaway.lab.experiment.facts import Facts, facts_of
from foldaway.lab.experiment.keep import Row
from foldaway.lab.experiment.outcome import read_outcome, refresh, write_data, write_outcome, write_report
from foldaway.lab.experiment.plan import Settings
from foldaway.lab.experiment.running import Experiment
from foldaway.lab.experiment.sections import read_sections, write_section
from foldaway.lab.experiment.sources import Input, is_fitted_source

__all__ = [
    "Experiment",
    "Facts",
    "Input",
    "Row",
    "Settings",
    "facts_of",
    "is_fitted_source",
    "read_outcome",
    "read_sections",
    "refresh",
    "write_data",
    "write_outcome",
    "write_report",
    "write_section",
]
