"""The OpenHands SDK's condenser protocol, played with events and messages of the SDK's own (Python 3.12 and above)."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foldaway import tool as declared_tool
from foldaway.errors import OverBudget, SettingsError
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.stores.memory import MemoryStore
from foldaway.testing.adapter_contract import BUDGET, STEPS, TASK, AdapterContract
from foldaway.testing.replies import Reply
from foldaway.testing.scripted_agent import SYSTEM, TOOL_DESCRIPTION, Agent, Brain, look, looking

NEEDED = (3, 12)
if tuple(sys.version_info) < NEEDED:
    pytest.skip("the OpenHands SDK needs Python 3.12: `make test-openhands PYTHON=python3.12`", allow_module_level=True)
pytest.importorskip("openhands.sdk", reason="the OpenHands SDK is not installed: `make openhands PYTHON=python3.12`")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # LiteLLM's own, at its first request.
    pytest.mark.filterwarnings("ignore:Items? .* using the `ReadOnly` qualifier"),
]

from openhands import sdk
from openhands.sdk import Action, Observation, ToolDefinition, register_tool
from openhands.sdk.context.view import View
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.event import Condensation, LLMConvertibleEvent, MessageEvent, ObservationEvent
from openhands.sdk.event.condenser import CondensationRequest, CondensationSummaryEvent
from openhands.sdk.event.types import SourceType
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.llm.exceptions import LLMContextWindowExceedError
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import ToolExecutor
from pydantic import PrivateAttr

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


class LookAction(Action):  # type: ignore[misc, unused-ignore]
    topic: str


class LookObservation(Observation):  # type: ignore[misc, unused-ignore]
    pass


class LookExecutor(ToolExecutor):  # type: ignore[misc, type-arg, unused-ignore]
    def __call__(self, action: LookAction, conversation: Any = None) -> LookObservation:
        made: LookObservation = LookObservation.from_text(look(action.topic))
        return made


class LookTool(ToolDefinition[LookAction, LookObservation]):  # type: ignore[misc, unused-ignore]
    name = "look"

    @classmethod
    def create(cls, conv_state: Any = None, **parameters: Any) -> list[LookTool]:
        kinds = {"action_type": LookAction, "observation_type": LookObservation}
        return [cls(description=TOOL_DESCRIPTION, executor=LookExecutor(), **kinds)]


register_tool("look", LookTool)


class ScriptedLLM(TestLLM):  # type: ignore[misc, unused-ignore]
    """The SDK's own test model, which says what a `Brain` says."""

    _brain: Any = PrivateAttr(default=None)

    def completion(self, messages: list[Message], tools: Any = None, **given: Any) -> Any:
        wire = [part for message in messages for part in CODEC.to_wire(Unit((Said(message=message),)))]
        raw = [message.model_dump(mode="json") for message in messages]
        reply = self._brain.answer(json.loads(json.dumps(wire)), [tool.name for tool in tools or ()], raw)
        self._scripted_responses.append(spoken(reply))
        return super().completion(messages, tools, **given)


def spoken(reply: Reply) -> Message:
    calls = [
        MessageToolCall(id=call.id, name=call.name, arguments=call.text, origin="completion") for call in reply.calls
    ]
    return Message(
        role="assistant", content=[TextContent(text=reply.text)] if reply.text else [], tool_calls=calls or None
    )


class Conversations:
    """Conversations of the SDK's, each with an agent and a condenser of its own."""

    def __init__(self, brain: Brain, make: Any, place: str | None, ids: dict[str, uuid.UUID]) -> None:
        self.brain, self.make, self.place, self.ids = brain, make, place, ids
        self.open: dict[str, Any] = {}

    def run(self, task: str, *, key: str = "main", mode: str = "sync") -> str:
        talk = self.open[key] = self.open.get(key) or self._opened(key)
        talk.send_message(task)
        if mode == "sync":
            talk.run()
        else:
            asyncio.run(talk.arun())
        said = [e for e in talk.state.events if isinstance(e, MessageEvent) and e.source == "agent"]
        return str(said[-1].llm_message.content[0].text)

    def session(self, key: str = "main") -> Session:
        session: Session = self.open[key].agent.condenser.live()
        return session

    def _opened(self, key: str) -> Any:
        llm = ScriptedLLM(model="test-model", usage_id="test")
        llm._brain = self.brain
        agent = sdk.Agent(
            llm=llm, tools=[sdk.Tool(name="look")], include_default_tools=[], system_prompt=SYSTEM,
            condenser=None if self.make is None else self.make(key),
        )  # fmt: skip
        return sdk.Conversation(
            agent=agent, workspace=tempfile.gettempdir(), persistence_dir=self.place, visualizer=None,
            conversation_id=self.ids.setdefault(key, uuid.uuid4()), stuck_detection=False,
            max_iteration_per_run=1_000,
        )  # fmt: skip


class TestOpenHands(AdapterContract):
    modes = ("sync", "async")
    # What ends a run is wrapped by the SDK, with its text and as its cause.
    over_budget: ClassVar[type[Exception]] = ConversationRunError
    model_error: ClassVar[type[Exception]] = ConversationRunError
    recall_tool: ClassVar[str] = ""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.place = str(tmp_path)

    def agent(
        self, brain: Brain, *, budget: int | None, store: Store | None = None, earlier: Agent | None = None,
        **settings: Any,
    ) -> Conversations:  # fmt: skip
        def make(key: str) -> FoldawayCondenser:
            made = FoldawayCondenser(budget=budget, session=key, settings=settings)
            # A condenser has fields that JSON can hold: a store's URL. Here it is the store itself.
            made.folding._store = store
            return made

        ids = earlier.ids if isinstance(earlier, Conversations) else {}
        place = None if store is None else self.place
        return Conversations(brain, None if budget is None else make, place, dict(ids))

    def test_an_overflow_has_the_sdks_and_our_own_error_as_its_cause(self) -> None:
        with pytest.raises(ConversationRunError) as caught:
            self.agent(Brain(looking(1)), budget=20).run(TASK)
        assert isinstance(caught.value.__cause__, LLMContextWindowExceedError)
        assert isinstance(caught.value.__cause__, OverBudget)
        assert caught.value.__cause__.missing_tokens > 0

    def test_the_conversation_keeps_all_its_events(self) -> None:
        agent = self.agent(Brain(looking(STEPS)), budget=BUDGET)
        agent.run(TASK)
        kept = [e for e in agent.open["main"].state.events if isinstance(e, ObservationEvent)]
        assert [e.observation.text for e in kept] == [look(f"topic-{n}") for n in range(STEPS)]

    def test_declared_tools_are_linked(self) -> None:
        @declared_tool(reads=["topic"], produces=["result"])
        def look(topic: str) -> str:
            return topic

        def make(key: str) -> FoldawayCondenser:
            made = FoldawayCondenser(budget=BUDGET, session=key, declared=[look])
            # As a conversation restores it.
            restored: FoldawayCondenser = FoldawayCondenser.model_validate(made.model_dump())
            return restored

        agent = Conversations(Brain(looking(2)), make, None, {})
        agent.run(TASK)
        assert [e["tool"] for e in agent.session().ledger if e["type"] == "declare"] == ["look"]


class TestCondenser:
    def events(self, steps: int) -> list[Any]:
        made = [said("system", SYSTEM), said("user", TASK)]
        for n in range(steps):
            call = MessageToolCall(id=f"c{n}", name="look", arguments=f'{{"topic": "topic-{n}"}}', origin="completion")
            made.append(said("assistant", tool_calls=[call]))
            made.append(said("tool", look(f"topic-{n}"), tool_call_id=f"c{n}", name="look"))
        return [*made, said("assistant", "All looked up.")]

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

    def test_settings_are_taken_by_name_and_refused_at_once(self) -> None:
        condenser = FoldawayCondenser(budget=BUDGET, policy="lru", settings={"strict": True})
        assert condenser.settings == {"strict": True, "policy": "lru"}
        assert FoldawayCondenser.model_validate(condenser.model_dump()).settings == condenser.settings
        with pytest.raises(TypeError, match=r"no setting buget=; did you mean budget=\?"):
            FoldawayCondenser(buget=BUDGET)
        with pytest.raises(SettingsError, match="no policy 'nope'"):
            FoldawayCondenser(budget=BUDGET, policy="nope")
        with pytest.raises(SettingsError, match="budget 0"):
            FoldawayCondenser(budget=0)

    def test_another_condensers_summary_is_told_of(self) -> None:
        summary = CondensationSummaryEvent(id=str(uuid.uuid4()), summary="so far", source="environment")
        with pytest.warns(ContextWarning, match="another condenser"):
            FoldawayCondenser(budget=BUDGET).condense(View(events=[summary, *self.events(1)]))

    def test_without_a_store_nothing_is_kept(self) -> None:
        condenser = FoldawayCondenser(budget=BUDGET)
        condenser.condense(View(events=self.events(STEPS)))
        assert condenser.live().folds
        assert MemoryStore().sessions("default") == []
