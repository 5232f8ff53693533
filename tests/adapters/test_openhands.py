"""The OpenHands SDK's condenser protocol, played with events and messages of the SDK's own (Python 3.12 and above)."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foldaway.errors import OverBudget
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.stores.memory import MemoryStore
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import SYSTEM, Agent, Brain, look, looking

NEEDED = (3, 12)
if tuple(sys.version_info) < NEEDED:
    pytest.skip("the OpenHands SDK needs Python 3.12", allow_module_level=True)
pytest.importorskip("openhands.sdk", reason="the OpenHands SDK is not installed: pip install 'foldaway[openhands]'")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

from openhands.sdk.context.view import View
from openhands.sdk.event import Condensation, LLMConvertibleEvent
from openhands.sdk.event.condenser import CondensationRequest, CondensationSummaryEvent
from openhands.sdk.event.types import SourceType
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.llm.exceptions import LLMContextWindowExceedError

from foldaway.adapters._base import ContextWarning
from foldaway.adapters.openhands import FoldawayCondenser, OpenHandsEvents, Unit

CODEC = OpenHandsEvents()


class Said(LLMConvertibleEvent):  # type: ignore[misc, unused-ignore]
    """A message as an event: what the SDK's own events come down to."""

    source: SourceType = "agent"
    message: Message

    def to_llm_message(self) -> Message:
        return self.message.model_copy()


def said(role: str, text: str = "", **fields: Any) -> Said:
    return Said(message=Message(role=role, content=[TextContent(text=text)] if text else [], **fields))


class CondensingAgent:
    """The step of the SDK's agent around its condenser: view, condense, messages, model, events."""

    def __init__(self, brain: Brain, make: Any, events: dict[str, list[Any]]) -> None:
        self.brain, self._make, self.events = brain, make, events
        self.condensers: dict[str, FoldawayCondenser] = {}

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        events = self.events.setdefault(key, [said("system", SYSTEM)])
        events.append(said("user", task))
        if key not in self.condensers and self._make is not None:
            self.condensers[key] = self._make(key)
        while True:
            reply = self._ask(events, key)
            calls = [
                MessageToolCall(id=call.id, name=call.name, arguments=call.text, origin="completion")
                for call in reply.calls
            ]
            events.append(said("assistant", reply.text, tool_calls=calls or None))
            if not calls:
                return reply.text
            for call in calls:
                text = look(**json.loads(call.arguments))
                events.append(said("tool", text, tool_call_id=call.id, name=call.name))

    def session(self, key: str = "main") -> Session:
        return self.condensers[key].live()

    def _ask(self, events: list[Any], key: str) -> Reply:
        view = View.from_events(events)
        if self.condensers:
            view = self.condensers[key].condense(view)
        messages = LLMConvertibleEvent.events_to_messages(view.events)
        sent = [message.model_dump(mode="json") for message in messages]
        wire = [part for message in messages for part in CODEC.to_wire(Unit((Said(message=message),)))]
        return self.brain.answer(json.loads(json.dumps(wire)), ["look"], sent)


class TestOpenHands(AdapterContract):
    modes = ("sync",)
    over_budget: ClassVar[type[Exception]] = LLMContextWindowExceedError
    recall_tool: ClassVar[str] = ""

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> CondensingAgent:  # fmt: skip
        def make(key: str) -> FoldawayCondenser:
            made = FoldawayCondenser(budget=budget, session=key, settings=settings)
            # A condenser has fields that JSON can hold: a store's URL. Here it is the store itself.
            made.folding._store = store
            return made

        events = earlier.events if isinstance(earlier, CondensingAgent) else {}
        return CondensingAgent(brain, None if budget is None else make, dict(events))

    def test_an_overflow_is_also_our_own_error_with_its_figures(self) -> None:
        with pytest.raises(OverBudget) as caught:
            self.agent(Brain(looking(1)), budget=20).run(TASK)
        assert caught.value.missing_tokens > 0


class TestCondenser:
    def events(self, steps: int) -> list[Any]:
        agent = TestOpenHands().agent(Brain(looking(steps)), budget=None)
        agent.run(TASK)
        return agent.events["main"]

    def test_with_nothing_to_evict_the_very_view_comes_back(self) -> None:
        view = View(events=self.events(2))
        assert FoldawayCondenser(budget=100_000).condense(view) is view

    def test_a_refused_request_is_followed_by_smaller_ones_and_forgets_nothing(self) -> None:
        condenser, events = FoldawayCondenser(budget=5 * BUDGET, session="a"), self.events(STEPS)
        before = condenser.condense(View.from_events(events))
        events.append(CondensationRequest())
        condensation = condenser.condense(View.from_events(events))
        assert isinstance(condensation, Condensation)
        assert not condensation.forgotten_event_ids
        after = condenser.condense(View.from_events([*events, condensation]))
        assert condenser.live().last_view != []
        assert len(after.events) < len(before.events)

    def test_it_is_restored_by_its_fields(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/f.db"
        condenser, events = FoldawayCondenser(budget=BUDGET, store=url, session="a"), self.events(STEPS)
        view = condenser.condense(View(events=events))
        restored = FoldawayCondenser.model_validate(condenser.model_dump())
        again = restored.condense(View(events=events))
        assert [CODEC.to_wire(Unit((e,))) for e in again.events] == [CODEC.to_wire(Unit((e,))) for e in view.events]
        condenser.folding.close()
        restored.folding.close()

    def test_another_condensers_summary_is_told_of(self) -> None:
        summary = CondensationSummaryEvent(id=str(uuid.uuid4()), summary="so far", source="environment")
        with pytest.warns(ContextWarning, match="another condenser"):
            FoldawayCondenser(budget=BUDGET).condense(View(events=[summary, *self.events(1)]))

    def test_without_a_store_nothing_is_kept(self) -> None:
        condenser = FoldawayCondenser(budget=BUDGET)
        condenser.condense(View(events=self.events(STEPS)))
        assert condenser.live().folds
        assert MemoryStore().sessions("default") == []
