"""Planning the window beside the loop (S2.3): a model, or a rule, proposes; the session vets, waits and commits.

A `PlanWorker` has a background thread in which a model reads the last view and proposes a plan in a fixed schema. The
session's own thread hands it in. Whatever goes wrong, the policy decides as it would have without. A `LinkWorker`
asks a model in the same way what the agent's actions rest on (S1.2).
"""

from __future__ import annotations

from foldaway.steering.inferring import LinkWorker, question_of_links, read_links
from foldaway.steering.orchestrator import Orchestrator
from foldaway.steering.prompt import Question, question_of
from foldaway.steering.reading import read_answer
from foldaway.steering.rules import plan_by_rules
from foldaway.steering.worker import Failure, PlanWorker

__all__ = [
    "Failure", "LinkWorker", "Orchestrator", "PlanWorker", "Question", "plan_by_rules", "question_of",
    "question_of_links", "read_answer", "read_links",
]  # fmt: skip
