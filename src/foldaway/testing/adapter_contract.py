"""What every adapter must keep, played with the framework's own fake model. Subclass it and say how to make an agent.

class TestMine(AdapterContract):
    def agent(self, brain, *, budget, store=None, earlier=None, **settings): ...
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from foldaway.errors import OverBudget
from foldaway.model.items import Level
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.stores.memory import MemoryStore
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import FACT, Agent, Brain, Request, Script, calling, look, looking
from foldaway.tokens import RequestCounter, get_counter
from foldaway.wire import problems

TASK = "Look the topics up and report."
BUDGET = 1500
STEPS = 14
LONG_STEPS = 300


class Boom(Exception):
    """What a model fails with."""


class AdapterContract:
    """Nothing to evict: nothing changes. Over budget: valid, inside, recallable, resumable; sessions do not mix."""

    format: ClassVar[str] = "openai_chat"
    """Of `Request.messages`."""
    model: ClassVar[str] = ""
    """As the session is told it, for the count of tokens."""
    modes: ClassVar[Sequence[str]] = ("sync", "async", "stream", "astream")
    over_budget: ClassVar[type[Exception]] = OverBudget
    """What the framework's users catch when nothing valid fits."""
    model_error: ClassVar[type[Exception]] = Boom
    """What they catch when the model fails."""
    recall_always_offered: ClassVar[bool] = False
    """The framework fixes an agent's tools once: the recall tool is offered before there is anything to recall."""
    recall_tool: ClassVar[str] = "recall"
    """Its name for the model; "" where it is asked for by directive alone."""
    long_steps: ClassVar[int] = LONG_STEPS

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> Agent:  # fmt: skip
        """An agent with the tool `look` and the prompt `SYSTEM` whose model is `brain`; without a budget the framework
        alone. `earlier`: takes over that agent's conversations, as the framework keeps them."""
        raise NotImplementedError

    # -- nothing to evict

    def test_with_nothing_to_evict_the_model_sees_exactly_what_it_would_have_seen(self) -> None:
        bare, managed = Brain(looking(4)), Brain(looking(4))
        alone = self.agent(bare, budget=None)
        with_it = self.agent(managed, budget=100_000)
        for task in (TASK, "And the next ones."):
            assert with_it.run(task) == alone.run(task)
        assert len(managed.seen) == len(bare.seen) == 10
        for one, other in zip(managed.seen, bare.seen, strict=True):
            assert one.raw == other.raw
            assert one.messages == other.messages
            extra = {self.recall_tool} if self.recall_always_offered else set()
            assert set(one.tools) - extra == set(other.tools)

    # -- over budget

    def test_over_budget_every_request_is_valid_and_inside_the_budget(self) -> None:
        brain = Brain(looking(STEPS))
        agent = self.agent(brain, budget=BUDGET)
        assert agent.run(TASK) == "All looked up."
        assert len(brain.seen) == STEPS + 1
        self.check(brain.seen)
        assert agent.session().count() > 3 * BUDGET // 2
        assert any("[foldaway" in request.text for request in brain.seen)
        # The user's own words are never folded.
        assert all(TASK in request.text for request in brain.seen)

    def test_between_commits_a_request_extends_the_one_before(self) -> None:
        brain = Brain(looking(STEPS))
        agent = self.agent(brain, budget=BUDGET)
        agent.run(TASK)
        commits = sum(entry["type"] == "commit" for entry in agent.session().ledger)
        breaks = sum(
            not _extends(self.plain(later), self.plain(earlier))
            for earlier, later in zip(brain.seen, brain.seen[1:], strict=False)
        )
        assert 0 < breaks <= commits

    @pytest.mark.slow
    def test_a_long_task_ends_with_a_fact_from_its_fifth_step(self) -> None:
        brain = Brain(_report_at_the_end(self.long_steps, self.recall_tool))
        agent = self.agent(brain, budget=2 * BUDGET)
        assert agent.run(TASK) == f"The code is {FACT}."
        self.check(brain.seen, 2 * BUDGET)
        assert agent.session().count() > 4 * BUDGET

    # -- recall and pins

    def test_the_model_gets_back_the_very_text_of_what_was_folded(self) -> None:
        asked: list[int] = []

        def script(n: int, request: Request) -> Reply:
            if n == STEPS:
                asked.append(_folded_item(agent.session(), "entry of topic-2\n"))
                return self.asking(n, f"#{asked[0]}")
            return looking(STEPS + 1)(n, request)

        brain = Brain(script)
        agent = self.agent(brain, budget=BUDGET)
        agent.run(TASK)
        before, after = brain.seen[STEPS], brain.seen[STEPS + 1]
        assert look("topic-2") not in before.text
        assert look("topic-2") in after.text
        assert not self.recall_tool or self.recall_tool in before.tools
        self.check(brain.seen)

    def test_a_recall_of_nothing_is_answered_in_words(self) -> None:
        if not self.recall_tool:
            pytest.skip("this adapter offers no recall tool")

        def script(n: int, request: Request) -> Reply:
            return self.asking(n, "#99999") if n == STEPS else looking(STEPS + 1)(n, request)

        brain = Brain(script)
        assert self.agent(brain, budget=BUDGET).run(TASK) == "All looked up."
        assert "99999" in json.dumps(brain.seen[STEPS + 1].messages[-1])

    def test_a_pin_holds(self) -> None:
        brain = Brain(looking(STEPS))
        agent = self.agent(brain, budget=BUDGET)
        agent.run(TASK)
        session = agent.session()
        session.pin(_folded_item(session, "entry of topic-2\n"))
        upto = len(brain.seen)
        agent.run("And the next ones.")
        assert all(look("topic-2") in request.text for request in brain.seen[upto:])
        assert look("topic-3") not in brain.seen[-1].text
        self.check(brain.seen)

    # -- conversations

    def test_a_session_resumes_from_its_store(self) -> None:
        store = MemoryStore()
        first = Brain(looking(STEPS))
        earlier = self.agent(first, budget=BUDGET, store=store)
        earlier.run(TASK)
        decided = _as_kept(earlier.session())
        assert decided
        second = Brain(looking(2, prefix="later"))
        agent = self.agent(second, budget=BUDGET, store=store, earlier=earlier)
        agent.run("And the next ones.")
        assert _as_kept(agent.session())[: len(decided)] == decided
        assert agent.session().branch == earlier.session().branch
        assert TASK in second.seen[0].text
        self.check(second.seen)

    def test_two_conversations_of_one_agent_do_not_mix(self) -> None:
        brain = Brain(looking(8))
        agent = self.agent(brain, budget=BUDGET)
        for turn in range(3):
            agent.run(f"ALPHA part {turn}", key="a")
            agent.run(f"BETA part {turn}", key="b")
        for request in brain.seen:
            assert ("ALPHA" in request.text) is not ("BETA" in request.text)
        assert "ALPHA" not in json.dumps(agent.session("b").messages)
        self.check(brain.seen)

    def test_two_agents_at_work_at_once_do_not_mix(self) -> None:
        brains = [Brain(looking(STEPS, prefix=name)) for name in ("left", "right")]
        agents = [self.agent(brain, budget=BUDGET) for brain in brains]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda agent: agent.run(TASK), agents))
        assert not any("right-" in request.text for request in brains[0].seen)
        assert not any("left-" in request.text for request in brains[1].seen)
        alone = Brain(looking(STEPS, prefix="left"))
        self.agent(alone, budget=BUDGET).run(TASK)
        assert [r.messages for r in alone.seen] == [r.messages for r in brains[0].seen]

    def test_every_way_to_run_an_agent_sends_the_same_requests(self) -> None:
        seen: dict[str, list[list[Message]]] = {}
        for mode in self.modes:
            brain = Brain(looking(STEPS))
            assert self.agent(brain, budget=BUDGET).run(TASK, mode=mode) == "All looked up."
            seen[mode] = [self.plain(request) for request in brain.seen]
        assert len(seen) == len(self.modes)
        for mode in self.modes[1:]:
            assert seen[mode] == seen[self.modes[0]]

    # -- errors

    def test_what_cannot_fit_is_said_before_anything_is_sent(self) -> None:
        for mode in self.modes:
            brain = Brain(looking(2))
            with pytest.raises(self.over_budget, match="tokens"):
                self.agent(brain, budget=20).run(TASK, mode=mode)
            assert brain.seen == []

    def test_a_failing_model_fails_as_without_foldaway_and_the_agent_can_go_on(self) -> None:
        def script(n: int, request: Request) -> Reply:
            if n == 3:
                raise Boom("the model is out")
            return looking(STEPS)(n, request)

        for mode in self.modes:
            brain = Brain(script)
            agent = self.agent(brain, budget=BUDGET)
            with pytest.raises(self.model_error, match="the model is out"):
                agent.run(TASK, mode=mode)
            assert agent.run("Try again.", key="other", mode=mode) == "All looked up."
            self.check(brain.seen)

    # -- for all of these

    def check(self, requests: Sequence[Request], budget: int = BUDGET) -> None:
        """Every request valid for the wire and within the budget."""
        counter = RequestCounter(get_counter(self.model, self.format), self.format)
        for request in requests:
            assert problems(self.format, request.messages) == []
            assert sum(counter.message(message) for message in request.messages) <= budget

    def plain(self, request: Request) -> list[Message]:
        """A request's messages, to be compared with another run's; override where the framework makes up ids."""
        return request.messages

    def asking(self, n: int, reference: str) -> Reply:
        """How the scripted model asks for what is folded."""
        if self.recall_tool:
            return calling(self.recall_tool, n, ids=reference)
        return Reply(text=f"[RETRIEVE: {reference}]", calls=calling("look", n, topic=f"beside-{n}").calls, id=str(n))


def _report_at_the_end(steps: int, tool: str) -> Script:
    """Looks topics up; then answers with the fact, asking for it by words where it is out of sight."""

    def script(n: int, request: Request) -> Reply:
        if n < steps:
            return looking(steps)(n, request)
        if FACT in request.text:
            return Reply(text=f"The code is {FACT}.", id=str(n))
        if n > steps + 2:
            return Reply(text="I cannot find the code.", id=str(n))
        words = "the code of berth 5"
        if tool:
            return calling(tool, n, ids=words)
        return Reply(text=f"[RETRIEVE: {words}]", calls=calling("look", n, topic=f"beside-{n}").calls, id=str(n))

    return script


def _folded_item(session: Session, text: str) -> int:
    """The item whose text holds this, which must be below raw."""
    log = session.engine.log
    [item] = [i.id for i in session.items() if text in log.text_of(i) and i.kind.value != "recalled"]
    assert session.level(item) < Level.RAW
    return item


def _as_kept(session: Session) -> list[str]:
    return [json.dumps(entry) for entry in session.ledger]


def _extends(later: Sequence[Message], earlier: Sequence[Message]) -> bool:
    return list(later[: len(earlier)]) == list(earlier)
