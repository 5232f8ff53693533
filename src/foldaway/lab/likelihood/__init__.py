"""A second witness: how likely a small model finds the recorded next action, given what each policy left in view.

The lab's labels are lexical. Here something reads: the log-likelihood of the action under a local model, given a
policy's view, is set against that given the full history. A step that the labels call impaired should become less
likely; a step that they call whole should not.
"""

from foldaway.lab.likelihood.run import Report, StepScore, likelihood_run
from foldaway.lab.likelihood.sample import Sample
from foldaway.lab.likelihood.scorer import CachedScorer, Likelihood, Scorer
from foldaway.lab.likelihood.table import likelihood_json, likelihood_table

__all__ = [
    "CachedScorer",
    "Likelihood",
    "Report",
    "Sample",
    "Scorer",
    "StepScore",
    "likelihood_json",
    "likelihood_run",
    "likelihood_table",
]
