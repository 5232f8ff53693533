"""A real small model plans a window: `make test-models`. Whether its plans are good is its affair; they are legal or
refused, and the session goes on either way."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import foldaway
from foldaway import Session
from foldaway.asking import ChatClient, Retry
from foldaway.readers import read_sessions
from foldaway.steering import LinkWorker, PlanWorker

pytestmark = pytest.mark.slow
SESSIONS = Path(foldaway.__file__).parent / "data/sessions"
ANSWER_SECONDS = 600.0
CONTEXT_TOKENS = 16_384
VIEW_TOKENS = 2_000
"""Of the view from which on it is asked: more takes minutes on a busy machine."""
ACTION_TOKENS = 9_000
"""Of the session from which on an action is asked about; what it may rest on is a table of some thousand tokens."""
NAMES = (
    "tau2-gpt-4.1-retail.json.gz", "mini-swe-agent-django-11910.json.gz", "who-and-when-30.json.gz",
)  # fmt: skip


@pytest.fixture(scope="module")
def client() -> Iterator[ChatClient]:
    path = os.environ.get("FOLDAWAY_GGUF", "")
    if not path:
        pytest.skip("FOLDAWAY_GGUF names no model file")
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    llama = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = path, CONTEXT_TOKENS, 1
    params.warmup, params.verbosity = False, -1
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads, cpu.poll = 2, 0
    server = llama.Server(params)
    yield ChatClient(
        url=f"{server.listening_address}/v1", model=Path(path).stem, timeout_seconds=ANSWER_SECONDS,
        retry=Retry(attempts=1), fields={"seed": 1},
    )  # fmt: skip
    del server


def grown(name: str, tokens: int = VIEW_TOKENS) -> Session:
    """A bundled session, up to the call at which its view is large enough to be planned."""
    recorded = next(iter(read_sessions(SESSIONS / name)))
    made = Session(format=recorded.format, budget=20 * VIEW_TOKENS, policy="window", fixed_over_budget="send")
    origins = list(recorded.origins) or [""] * len(recorded.messages)
    for message, origin in zip(recorded.messages, origins, strict=True):
        if message.get("role") == "assistant" and made.engine.log.turns:
            made.view()
            if made.engine.tokens() > tokens and made.engine.log.step > 5:
                return made
        made.append([message], [origin] if origin else ())
    made.view()
    return made


def test_what_a_real_model_plans_is_legal_or_refused_and_changes_nothing_before_its_commit(client: ChatClient) -> None:
    taken, refused, failed = 0, Counter[str](), Counter[str]()
    for name in NAMES:
        with grown(name) as made, PlanWorker(client, most_answer_tokens=400, deadline_seconds=ANSWER_SECONDS) as worker:
            before = dict(made.engine.shown.levels)
            assert worker.submit(made)
            assert worker.wait(ANSWER_SECONDS + 60)
            verdict = worker.hand_in(made)
            assert made.engine.shown.levels == before
            failed.update(worker.counts)
            if verdict is not None:
                taken += verdict.accepted
                refused.update(refusal.code for refusal in verdict.refused)
            said = "none" if verdict is None else f"{verdict.accepted} {verdict.code} {len(verdict.refused)} refused"
            freed = (
                0
                if verdict is None or verdict.commit is None
                else (verdict.commit.tokens_before - verdict.commit.tokens_after)
            )
            sys.stdout.write(f"{name}: {said}, frees {freed}; {[f.why for f in worker.failures]}\n")
    sys.stdout.write(f"{taken} of {len(NAMES)} plans taken; refused {dict(refused)}; failures {dict(failed)}\n")
    assert taken + sum(failed.values()) >= len(NAMES)


def test_what_a_real_model_infers_is_links_or_a_failure_of_a_kind(client: ChatClient) -> None:
    made, counted, failed = 0, 0, Counter[str]()
    for name in NAMES:
        with grown(name, ACTION_TOKENS) as session, LinkWorker(client, most_answer_tokens=400) as worker:
            if not worker.submit(session):
                sys.stdout.write(f"{name}: nothing to ask about\n")
                continue
            assert worker.wait(ANSWER_SECONDS)
            taken = worker.hand_in(session)
            told = [e for e in session.ledger if e["type"] == "infer"]
            assert len(told) == len({(e["item"], e["needs"]) for e in told}) <= taken
            made, counted = made + taken, counted + worker.counted
            failed.update(worker.counts)
            for entry in told:
                source, target = (session.engine.log.items[entry[key]].title for key in ("item", "needs"))
                sys.stdout.write(f"{name}: {source} <- {target} {entry['weight']} {entry['why']}\n")
            sys.stdout.write(f"{name}: {taken} links; {[f.why for f in worker.failures]}\n")
    sys.stdout.write(f"{made} links, {counted} count; failures {dict(failed)}\n")
