"""From a request to its session, open and up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foldaway.errors import FoldawayError, MovedOn
from foldaway.model.wire import Message
from foldaway.protocols import Store
from foldaway.proxy.chains import Chain, Chains, Place
from foldaway.proxy.dialects import Asked
from foldaway.proxy.heads import Heads
from foldaway.proxy.learned import Learned
from foldaway.proxy.settings import ProxySettings
from foldaway.proxy.shelf import Desk, Key, Shelf
from foldaway.session import Session
from foldaway.tokens import context_window

BOUNDLESS = 1 << 40
"""Budget where nobody knows the window: nothing folds until a provider says what it takes."""
RECALL_TOOL = "recall"
RESPONSE = "response "
"""In front of a response's id, where it is the key of a mark."""


class Unknown(FoldawayError):
    """The request continues something that this proxy has never seen: it goes through unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request with what its headers say."""

    asked: Asked
    tenant: str
    name: str = ""
    """The session, where the client names it."""
    budget: int | None = None
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A session ready for this request. Its lock is not held."""

    key: Key
    desk: Desk
    links: Chain
    fresh: int
    """Messages that were new."""


class Places:
    """Finds, opens and forks sessions. Synchronous: called from worker threads."""

    def __init__(self, settings: ProxySettings, store: Store, learned: Learned) -> None:
        self.settings, self.store = settings, store
        self.chains = Chains(store)
        self.heads = Heads(settings.most_sessions)
        self.shelf = Shelf(settings.most_sessions, settings.most_kept_bytes, self.heads.forget)
        self._learned = learned

    def seat(self, incoming: Incoming, size: int = 0) -> Seat:
        """The session of this request, with its new messages taken in. `size`: bytes of the request.

        Raises Unknown for a response id that was never seen here, WireError for messages that cannot be read,
        StoreError when the store is down.
        """
        asked = incoming.asked
        self._learned.look(incoming.tenant, asked.model)
        messages = self._whole(incoming) if asked.previous else asked.messages
        seed = f"{asked.format}\0{asked.group}\0{incoming.name}"
        links = self.heads.chain(incoming.tenant, seed, messages)
        place = self.chains.find(incoming.tenant, links)
        if place is None or place.length < _opening(messages):
            name = incoming.name or f"auto-{links.links[-1]}"
            place = Place(name, 0, 0)
        key = (incoming.tenant, place.session, place.branch)
        desk = self.shelf.get(key, lambda: self._open(incoming, place.session, place.branch))
        if desk.session.recall_offered == "tool" and RECALL_TOOL in asked.tool_names:
            # A tool of that name came to the client on the way: opened again, the session asks for directives.
            self.shelf.drop(key)
            desk = self.shelf.get(key, lambda: self._open(incoming, place.session, place.branch))
        with desk.held(self.settings.time_limit_seconds):
            try:
                if desk.length == place.length:
                    desk = self._on(incoming, place, desk, messages)
                else:
                    desk = self._elsewhere(incoming, place, desk, messages)
                key = (incoming.tenant, place.session, desk.session.branch)
            except Exception:
                # It may hold half of them: the next request opens it again from the store.
                self.shelf.drop(key)
                raise
        self.shelf.put(key, desk, desk.size + size if asked.previous else size)
        # Where a session or a branch begins, every process must know it before the answer is out. Further on one that
        # finds an older mark gets to the same place, and the request need not wait for the store.
        begins = place.length == 0 or desk.session.branch != place.branch
        self.chains.note(
            incoming.tenant, links, place.session, desk.session.branch, place.length, at_once=begins
        )  # fmt: skip
        self.heads.keep(key, seed, messages, links)
        return Seat(key=key, desk=desk, links=links, fresh=len(messages) - place.length)

    def _on(self, incoming: Incoming, place: Place, desk: Desk, messages: list[Message]) -> Desk:
        """The plain case: the request goes on where its session stands."""
        try:
            desk.session.append(messages[place.length :], at=place.length)
        except MovedOn:
            # Another process served another request of this session: the two part here.
            desk.length = len(desk.session.messages)
            return self._elsewhere(incoming, place, desk, messages)
        desk.length = len(messages)
        return desk

    def _elsewhere(self, incoming: Incoming, place: Place, desk: Desk, messages: list[Message]) -> Desk:
        """The desk at hand is not where the request goes on: another process was there, or the history parts here."""
        if desk.length < place.length:
            desk.session.sync(messages)
            desk.length = len(messages)
            return desk
        fork = self._open(incoming, place.session, place.branch)
        fork.session.sync(messages)
        fork.length = len(messages)
        return fork

    def _open(self, incoming: Incoming, name: str, branch: int) -> Desk:
        asked = incoming.asked
        self._learned.look(incoming.tenant, asked.model, again=True)
        session = Session(
            format=asked.format, budget=self.budget(incoming), window=self.window(incoming), model=asked.model,
            policy=incoming.policy or self.settings.policy, store=self.store, user=incoming.tenant, name=name,
            branch=branch, quirks=asked.quirks, recall=self._recall(asked), fixed_over_budget="send",
            redact=self.settings.redact,
        )  # fmt: skip
        session.lends = True
        return Desk(session=session, length=len(session.messages))

    def budget(self, incoming: Incoming) -> int:
        """The ceiling for this request: what was chosen, and never more than the model takes beside its answer."""
        window = self.window(incoming)
        room = BOUNDLESS if window is None else max(1, window - (incoming.asked.max_output_tokens or 0))
        return min(incoming.budget or self.settings.budget or BOUNDLESS, room)

    def window(self, incoming: Incoming) -> int | None:
        """What the model takes, its answer included: as a refusal taught, else as its maker says; None: not known."""
        told = self._learned.of(incoming.tenant, incoming.asked.model).window
        return told or context_window(incoming.asked.model)

    def most_bytes(self, incoming: Incoming) -> int:
        """How large the body may be that goes to the provider."""
        told = self._learned.of(incoming.tenant, incoming.asked.model).body_bytes
        return min(told or self.settings.most_upstream_bytes, self.settings.most_upstream_bytes)

    def _recall(self, asked: Asked) -> str:
        chosen = self.settings.recall
        if chosen in ("auto", "tool") and RECALL_TOOL in asked.tool_names:
            # A name of the client's own is not ours to take.
            return "directive"
        if chosen != "auto":
            return chosen
        return "tool" if asked.tools else "directive"

    # -- responses that the provider remembers

    def remember(self, seat: Seat, response: str, output: Sequence[Message]) -> None:
        """Keep what a response gave, for requests that continue it by its id."""
        place = Place(seat.key[1], seat.key[2], len(seat.links.links))
        self.chains.keep(seat.key[0], RESPONSE + response, place, output)

    def _whole(self, incoming: Incoming) -> list[Message]:
        """The history that a response's id stands for, and the new items behind it."""
        found = self.chains.kept(incoming.tenant, RESPONSE + incoming.asked.previous)
        if found is None:
            raise Unknown(f"response {incoming.asked.previous!r} was not made through this proxy")
        place, output = found
        key = (incoming.tenant, place.session, place.branch)
        desk = self.shelf.get(key, lambda: self._open(incoming, place.session, place.branch))
        with desk.held(self.settings.time_limit_seconds):
            known = desk.session.messages[: place.length]
        return [*known, *output, *incoming.asked.messages]


def _opening(messages: Sequence[Message]) -> int:
    """Messages up to the first one that is not an instruction: all agents of one program have those in common."""
    for number, message in enumerate(messages):
        if message.get("role") not in ("system", "developer"):
            return number + 1
    return len(messages)
