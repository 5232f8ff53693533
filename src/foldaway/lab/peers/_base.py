"""What all peers share: a session in the lab's clothes around a library that cuts a list of chat messages."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from foldaway.errors import MissingExtra
from foldaway.lab.peers._back import Writer, tool_in
from foldaway.lab.peers._chat import Chat, Reader
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message
from foldaway.tokens import RequestCounter, get_counter
from foldaway.wire import get_wire

MESSAGE_TOKENS = 4
"""Role marks around a message, as the chat templates of OpenAI's models have them."""


class Peer(Protocol):
    """One library with one of its settings. Made fresh for each replay."""

    def add(self, chats: Sequence[Chat]) -> None:
        """The next messages of the session, as the library's user would hand them in."""
        ...

    def cut(self) -> Sequence[Chat]:
        """What the library would send now."""
        ...

    @property
    def recallable(self) -> AbstractSet[int]:
        """Numbers of the messages that the last cut replaced by something a tool of the library leads back from."""
        ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Tools that the library adds to the request, in chat shape."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What a peer is made from."""

    room: int
    """Tokens for the messages: the budget less what stands beside them (system and tools, as the lab counts them).
    What a careful user hands to a library that counts messages alone."""
    count: Callable[[str], int]
    """Tokens of a text, counted as the lab counts; remembers. For libraries that take a counter."""
    model: str


PeerFactory = Callable[[Setting], Peer]


class Remembering:
    """Counts tokens of texts, each once. Its memory is as large as the session's texts."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._count(text)
        return known


def tokens_of(chat: Chat, count: Callable[[str], int]) -> int:
    """Tokens of a chat message: role marks, text, reasoning, names and arguments of calls."""
    calls = sum(count(call.name) + count(call.arguments) for call in chat.calls)
    return MESSAGE_TOKENS + count(chat.text) + (count(chat.reasoning) if chat.reasoning else 0) + calls


@dataclass(slots=True)
class Kept:
    """The chat messages handed in so far: what peers that have no other bookkeeping are built on."""

    chats: list[Chat] = field(default_factory=list)
    recallable: AbstractSet[int] = frozenset()
    tools: Sequence[Mapping[str, Any]] = ()

    def retext(self, number: int, text: str) -> Chat:
        """The message with another text; the very same when the text is its own."""
        chat = self.chats[number]
        return chat if chat.text == text else replace(chat, text=text)


@dataclass(frozen=True, slots=True)
class PeerView:
    """A peer's view, as the lab reads it. Peers do not say when they are over budget: `missing_tokens` is 0."""

    messages: Sequence[Message]
    system: Any
    tools: Sequence[Mapping[str, Any]] | None
    covered: AbstractSet[int]
    missing_tokens: int = 0
    commit: Any = None

    def covers(self, item: int) -> bool:
        return item in self.covered


class PeerSession:
    """A `ReplaySession` around a peer. Item ids are positions of recorded messages.

    What a recording has wrong (blank blocks, calls that were cut off) is mended in front of the peer, as the client
    that made it must have done: a view is invalid only by what the peer did.
    """

    def __init__(self, recorded: Recorded, budget: int, make: PeerFactory) -> None:
        self._recorded = recorded
        self._wire = get_wire(recorded.format)
        self._seen: list[Message] = []
        self._taken = 0
        self._sources: list[tuple[int, ...]] = []
        self._reader = Reader(recorded.format)
        self._writer = Writer(recorded.format, self._seen, self._reader)
        counter = RequestCounter(get_counter(recorded.model, recorded.format), recorded.format)
        beside = (counter.system(recorded.system) if recorded.system else 0) + counter.tools(recorded.tools)
        room = max(1, budget - beside)
        self._peer = make(Setting(room, Remembering(counter.counter.count), recorded.model))

    def append(self, messages: Sequence[Message], origins: Sequence[str] = ()) -> None:
        mended: list[Message] = []
        for turn in self._wire.parse(messages, origins=origins, start=self._taken).turns:
            mended.extend(turn.messages)
            one_each = len(turn.sources) == len(turn.messages)
            self._sources.extend((turn.sources[at],) if one_each else turn.sources for at in range(len(turn.messages)))
        self._taken += len(messages)
        self._seen.extend(mended)
        self._peer.add(self._reader.read(mended))

    def view(self) -> PeerView:
        chats = self._peer.cut()
        places = self._reader.places
        led_to = {at for number in self._peer.recallable for at in places[number].positions}
        covered = {position for at in led_to for position in self._sources[at]}
        return PeerView(self._writer.write(chats), self._recorded.system, self._tools(), covered)

    def items_of(self, position: int) -> Sequence[int]:
        return (position,)

    def _tools(self) -> Sequence[Mapping[str, Any]] | None:
        if not self._peer.tools:
            return self._recorded.tools
        return [*(self._recorded.tools or ()), *(tool_in(self._recorded.format, tool) for tool in self._peer.tools)]


def load(module: str, package: str) -> Any:
    """Import a module of a peer.

    Raises:
        MissingExtra: it is not there, or does not import.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"the peer library {package} cannot be imported ({error}); `make peers` makes .venv-peers, which has it"
        ) from error


Result = TypeVar("Result")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a library's coroutine, run to its end on a loop of its own."""
    return asyncio.run(work)
