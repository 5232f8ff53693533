"""The offline optimum under the same rules: what no policy can beat, and a policy that shows how near one can come.

* `problem`: an eviction problem as a value; `extract`: the problem in a recorded session.
* `bound`: what no policy can beat, on sessions of any length.
* `exact`: the optimum itself, on small problems.
* `policy`: a policy that knows the future and goes through the ordinary replay; a witness that the bounds are near.
* `regret`: how far from the bounds a policy stayed.
"""

from foldaway.lab.oracle.bound import Bounds, VisibleBound, bill_bound, bounds_of, visible_bound
from foldaway.lab.oracle.exact import Optimum, cheapest, most_visible
from foldaway.lab.oracle.extract import problem_of
from foldaway.lab.oracle.model import Outcome, Shown, evaluate
from foldaway.lab.oracle.policy import Oracle, oracle_session
from foldaway.lab.oracle.problem import Call, Literal, Need, Problem, ProblemItem
from foldaway.lab.oracle.regret import Regret, pool_regrets, regret_of, regret_table

__all__ = [
    "Bounds",
    "Call",
    "Literal",
    "Need",
    "Optimum",
    "Oracle",
    "Outcome",
    "Problem",
    "ProblemItem",
    "Regret",
    "Shown",
    "VisibleBound",
    "bill_bound",
    "bounds_of",
    "cheapest",
    "evaluate",
    "most_visible",
    "oracle_session",
    "pool_regrets",
    "problem_of",
    "regret_of",
    "regret_table",
    "visible_bound",
]
