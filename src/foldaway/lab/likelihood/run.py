"""Ask the model: how likely is each sampled action, given each policy's view, the full history, and next to nothing?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from foldaway.errors import SettingsError
from foldaway.lab.likelihood.sample import Candidate, Sample, Seen, Views, candidates, draw, prologue_text
from foldaway.lab.likelihood.scorer import Likelihood, Scorer
from foldaway.lab.needs import LabelCache
from foldaway.lab.replay import FULL, SessionMaker, foldaway_session
from foldaway.model.recorded import Recorded

AGAIN = "full again"
"""The full history measured a second time: what differs is noise."""
PROLOGUE = "prologue"
"""The floor: nothing of the history but its beginning."""

DEFAULT = Sample()

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedScore:
    """One needed literal in a scored action."""

    literal: str
    kind: str
    age: int
    """Steps since an observation held it last."""
    visible: bool
    logprob: float
    """Over the tokens of its first occurrence, in nats."""
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScore:
    """One action given one context."""

    session: str
    source: str
    step: int
    group: str
    """old: the reference policy's view lacks a need; recent: it has them all."""
    context: str
    """A policy, or `full`, `full again`, `prologue`."""
    context_tokens: int
    """Of the scorer's model."""
    logprob: float
    """Of the scored text, in nats."""
    tokens: int
    needs: tuple[NeedScore, ...]

    @property
    def missing(self) -> int:
        """Needs that the context does not show."""
        return sum(not need.visible for need in self.needs)

    @property
    def per_token(self) -> float:
        return self.logprob / self.tokens if self.tokens else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that was measured, in the order of recordings, contexts and steps."""

    scorer: str
    budget_tokens: int
    """Of the recorded models' tokens, as in every replay."""
    sample: Sample
    contexts: tuple[str, ...]
    scores: tuple[StepScore, ...]
    sessions: int
    """Recordings looked at."""
    candidates: int
    """Steps that would have qualified."""
    refused: int
    """Sampled steps that a policy could not send; they are not in its row."""


def likelihood_run(
    recordings: Iterable[Recorded],
    policies: Sequence[str],
    budget: int,
    scorer: Scorer,
    *,
    sample: Sample = DEFAULT,
    labels: LabelCache | None = None,
    make: SessionMaker = foldaway_session,
    progress: Progress | None = None,
) -> Report:
    """Score a sample of recorded actions under each policy's view at one budget (tokens of the recorded model).

    Added to the policies are the full history, measured twice, and the prologue. A recording is asked about context
    by context with its steps in order, so that a scorer that keeps its state reads a shared front once. Deterministic
    but for the scorer. Slow: nearly all of the time is the scorer's.

    Raises:
        SettingsError: no step qualifies.
    """
    cache = labels or LabelCache()
    all_views = [Views(recorded, cache.get(recorded), budget, make) for recorded in recordings]
    found = [candidates(views, scorer, sample) for views in all_views]
    drawn = draw(found, sample)
    if not drawn:
        raise SettingsError(
            f"no step to score: none has its full history within {sample.full_tokens} tokens of {scorer.name}, a view "
            f"at {budget} tokens well under that, and a need in its action; give a smaller budget or other recordings"
        )
    others = (*(p for p in dict.fromkeys(policies) if p != FULL), PROLOGUE)
    asked = _Asked(scorer, (FULL, *others), len(drawn) * (len(others) + 2), progress)
    scores: list[StepScore] = []
    for views in all_views:
        of_one = [c for c in drawn if c.recorded is views.recorded]
        scores.extend(asked.recording(views, of_one))
    return Report(
        scorer=scorer.name,
        budget_tokens=budget,
        sample=sample,
        contexts=(FULL, AGAIN, *others),
        scores=tuple(scores),
        sessions=len(all_views),
        candidates=sum(map(len, found)),
        refused=asked.refused,
    )


class _Asked:
    """Asks the scorer, counting."""

    def __init__(self, scorer: Scorer, contexts: Sequence[str], total: int, progress: Progress | None) -> None:
        self._scorer = scorer
        self._contexts = contexts
        self._total = total
        self._progress = progress
        self._done = 0
        self.refused = 0

    def recording(self, views: Views, drawn: Sequence[Candidate]) -> Iterator[StepScore]:
        for context in self._contexts if drawn else ():
            shown = _shown(context, views, drawn)
            for candidate in drawn:
                seen = shown.get(candidate.step.number)
                if seen is None:
                    self.refused += 1
                    continue
                yield self._score(views, candidate, context, seen)
                if context == FULL:
                    # Now, while the scorer still holds this history.
                    yield self._score(views, candidate, AGAIN, seen)

    def _score(self, views: Views, candidate: Candidate, context: str, seen: Seen) -> StepScore:
        answer = self._scorer.loglik(seen.text, candidate.action, take=int(context == AGAIN))
        tokens = self._scorer.count(seen.text)
        self._done += 1
        if self._progress:
            what = f"{context} {candidate.recorded.name} step {candidate.step.number}"
            self._progress(self._done, self._total, what)
        return _step_score(views, candidate, context, answer, tokens, seen)


def _shown(context: str, views: Views, drawn: Sequence[Candidate]) -> dict[int, Seen]:
    if context == PROLOGUE:
        text = prologue_text(views.recorded)
        seen = Seen(text, views.find(text))
        return {c.step.number: seen for c in drawn}
    if context == FULL:
        return {c.step.number: Seen(c.full, frozenset(w.need.literal for w in c.wanted)) for c in drawn}
    return views.walk(context, (c.step.number for c in drawn))


def _step_score(
    views: Views, candidate: Candidate, context: str, answer: Likelihood, context_tokens: int, seen: Seen
) -> StepScore:
    return StepScore(
        session=candidate.recorded.name,
        source=candidate.recorded.source_format,
        step=candidate.step.number,
        group=candidate.group,
        context=context,
        context_tokens=context_tokens,
        logprob=answer.total,
        tokens=answer.tokens,
        needs=tuple(_needs(views, candidate, seen, answer)),
    )


def _needs(views: Views, candidate: Candidate, seen: Seen, answer: Likelihood) -> Iterator[NeedScore]:
    for wanted in candidate.wanted:
        logprob, tokens = answer.over(wanted.start, wanted.end)
        yield NeedScore(
            literal=views.labels.literals[wanted.need.literal],
            kind=wanted.need.kind.value,
            age=wanted.need.age,
            visible=wanted.need.literal in seen.visible,
            logprob=logprob,
            tokens=tokens,
        )
