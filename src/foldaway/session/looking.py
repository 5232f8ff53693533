"""What one may ask a session: its items and levels, its ledger, its state, what its window holds."""

from __future__ import annotations

from typing import Any

from foldaway.engine.engine import Engine
from foldaway.engine.looking import items_at, stand_in
from foldaway.engine.perception import Perception, perceive
from foldaway.linking.state import State
from foldaway.model.items import Item, Level
from foldaway.model.jsonlike import copy
from foldaway.model.wire import Message
from foldaway.session.core import Core


class Looking(Core):
    """The part of a session that answers questions and changes nothing."""

    @property
    def teaching(self) -> str:
        """Two sentences that a system prompt may hold so that the model knows the notes and how to ask for more."""
        return self._stubs.teaching()

    @property
    def messages(self) -> list[Message]:
        """The client's history as it is known, oldest first. Its own objects: for reading only."""
        return list(self._client)

    @property
    def branch(self) -> int:
        """The line of the log this session is on: an edited history goes on on a new one."""
        return self._kept.branch

    @property
    def folds(self) -> bool:
        """Whether the last view holds a fold note or a stand-in: only then is there anything to recall."""
        return bool(self._engine.shown.levels)

    @property
    def recall_offered(self) -> str:
        """How the model may ask for what is folded: "directive", "tool" or "none"."""
        return self._stubs.recall.value

    @property
    def name(self) -> str:
        return self._kept.key.name

    @property
    def user(self) -> str:
        """Whose session it is."""
        return self._kept.key.user

    @property
    def last_view(self) -> list[Message]:
        """The messages of the newest view; empty before the first one."""
        return list(self._last_view)

    @property
    def system(self) -> Any:
        """The system prompt that stands beside the messages."""
        return copy(self._system)

    @property
    def tools(self) -> list[Any] | None:
        """The tool definitions that a view hands back, the recall tool among them where it is offered."""
        tools = self._view_tools()
        return None if tools is None else [copy(tool) for tool in tools]

    @property
    def engine(self) -> Engine:
        """For tools that show the inside (replay, show, dashboard); read only."""
        return self._engine

    @property
    def state(self) -> State:
        """What the session has established: goal, constraints, confirmed facts, each with its source. Read only."""
        return self._engine.planner.past.state()

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """All decisions of this branch, oldest first."""
        return list(self._engine.entries)

    def perceive(self) -> Perception:
        """What the window holds now: tokens by part and level, what items are worth, what came twice, how old it is.

        O(visible items); changes nothing.
        """
        self._resolve_budget()
        system, tools = self._fixed_parts()
        return perceive(self._engine.snapshot(), system_tokens=system, tools_tokens=tools)

    def items(self) -> list[Item]:
        return list(self._engine.log.items.values())

    def level(self, item: int) -> Level:
        return self._engine.shown.level(item)

    def items_of(self, position: int) -> tuple[int, ...]:
        """Ids of the items made from the client's message at this position (0 is the first)."""
        return items_at(self._engine, self._log_position(position))

    def stand_in(self, position: int) -> str | None:
        """What the last view shows instead of the client's message at this position; None where it is shown whole."""
        for number in self.items_of(position):
            text = stand_in(self._engine, self._engine.log.items[number])
            if text is not None:
                return text
        return None
