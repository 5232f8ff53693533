"""What every page of a session rests on: the way in, the way out, the store, the settings that change on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Self

from foldaway.engine import links
from foldaway.engine.conditions import check_fixed, largest, reserve_used, shortened_words
from foldaway.engine.directives import directives
from foldaway.engine.engine import Engine
from foldaway.engine.log import AnchorFinder, Log
from foldaway.engine.looking import items_at
from foldaway.engine.planner import Planner, Policy
from foldaway.engine.recall import Recalled
from foldaway.engine.recall_tool import recall_tool
from foldaway.engine.stubs import RecallBy, Stubs
from foldaway.engine.triggers import Triggers
from foldaway.engine.window import Note
from foldaway.errors import MovedOn, OverBudget, RecallError, SettingsError, StoreError
from foldaway.keeping import Kept, Record
from foldaway.keeping.recollecting import Recollection
from foldaway.linking.anchors import anchors
from foldaway.linking.declared import Declaration, Declared
from foldaway.linking.graph import INFERRED_FROM, Graph, Link, Provenance
from foldaway.linking.kinds import Kinds
from foldaway.model.items import Item, Kind, Level
from foldaway.model.jsonlike import clean, copy, copy_messages, dumps, unmarked
from foldaway.model.plan import Budget, Commit, Prices
from foldaway.model.prices import PriceList, price_list
from foldaway.model.view import View
from foldaway.model.wire import Message, PartType, Quirks, TurnKind
from foldaway.protocols import MessageCounter, Recollector, SessionKey, Store
from foldaway.settings.parts import make_policy
from foldaway.settings.presets import preset
from foldaway.stores.encryption import Keys
from foldaway.stores.redaction import readable, redact
from foldaway.tokens import Calibration, RequestCounter, context_window, get_counter
from foldaway.wire import get_wire

DEFAULT_WINDOW = 8_000
"""Assumed, with a warning, when nobody says what the model takes."""
MOST_RETRIES = 64
"""How often an append is tried again when other processes write to the same session."""

FACTOR_PLACES = 3
"""Of the correction by reported usage: what is finer is noise, and each change is a line in the ledger."""
RECALL_CHARS = 24_000
"""A recall brings at most this many characters into a view at once; the rest by range of lines."""


class Core:
    """Messages in, views out, kept in a store. `Session` adds recalls, control and questions."""

    def __init__(
        self,
        *,
        format: str = "openai_chat",
        budget: int | None = None,
        window: int | None = None,
        max_output_tokens: int | None = None,
        model: str = "",
        policy: str | Policy = "auto",
        policy_parameters: Mapping[str, Any] | None = None,
        low_share: float | None = None,
        high_share: float | None = None,
        reserve_share: float | None = None,
        system: Any = None,
        tools: Sequence[Any] | None = None,
        store: str | Store | None = None,
        user: str = "default",
        name: str = "default",
        branch: int | None = None,
        quirks: Quirks | None = None,
        redact: bool | str | Keys = False,
        clock: Callable[[], datetime] | None = None,
        recall: str = "directive",
        prices: str | Prices | PriceList | None = None,
        triggers: Triggers | None = None,
        strict: bool = False,
        fixed_over_budget: str = "error",
        kinds: Mapping[str, Any] | None = None,
        counter: MessageCounter | None = None,
        find_anchors: AnchorFinder = anchors,
        infer_from: float = INFERRED_FROM,
        retriever: Recollector | None = None,
        knowledge: Recollector | None = None,
        time_limit_seconds: float | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        chosen = preset(policy)
        self._low = chosen.low_share if low_share is None else low_share
        self._high = max(self._low, chosen.high_share) if high_share is None else high_share
        if not 0.0 <= self._low <= self._high <= 1.0:
            raise SettingsError(f"low_share {self._low} and high_share {self._high}: expected 0 <= low <= high <= 1")
        self._reserve = chosen.reserve_share if reserve_share is None else reserve_share
        if not 0.0 <= self._reserve <= 0.5:
            raise SettingsError(f"reserve_share {self._reserve}: expected 0 to 0.5 of the budget")
        for what, value in (("budget", budget), ("window", window), ("max_output_tokens", max_output_tokens)):
            _check_tokens(what, value)
        if time_limit_seconds is not None and not time_limit_seconds > 0:
            raise SettingsError(f"time_limit_seconds {time_limit_seconds!r}: expected seconds above 0, or None")
        if fixed_over_budget not in ("error", "send"):
            raise SettingsError(f"fixed_over_budget {fixed_over_budget!r}: expected error or send")
        try:
            self._stubs = Stubs(RecallBy(recall))
        except ValueError:
            raise SettingsError(f"recall {recall!r}: expected directive, tool or none") from None
        self.format = format
        self.warnings: list[str] = []
        self.lends = False
        """Views share their messages with each other and with the session, and nobody may change them: for callers
        that only send them, in a time that does not grow with the view."""
        self._lent: dict[int, tuple[Message, Message]] = {}
        self._fixed_known: tuple[int, int] | None = None
        self._wire = get_wire(format)
        self._model, self._max_output = model, max_output_tokens
        self._system, self._tools = copy(system), copy(list(tools)) if tools is not None else None
        self._quirks = quirks or Quirks()
        self._counter = counter or RequestCounter(get_counter(model, format), format)
        self._own_counter = counter is not None
        self._policy_name, self._policy = make_policy(policy, **{**chosen.parameters, **(policy_parameters or {})})
        self._prices, self._strict, self._fixed_over = price_list(prices), strict, fixed_over_budget
        self._triggers = chosen.triggers if triggers is None else triggers
        self._kinds, self._find_anchors = Kinds(kinds), find_anchors
        if not 0.0 <= infer_from <= 1.0:
            raise SettingsError(f"infer_from {infer_from!r}: expected a confidence from 0 to 1")
        self._infer_from = infer_from
        self._limit, self._timer = time_limit_seconds, timer
        self._redact = bool(redact)
        self._calibration = Calibration()
        self._own_tokens = 0
        self._budget: int | None = budget
        self._window = window
        self._declared = Declared()
        key = SessionKey(user=user, name=name)
        # No method of ours: a session that is let go of is gone at once.
        warn = partial(_add_once, self.warnings)
        self._kept = Kept(store, key, redact=redact, clock=clock, branch=branch, warn=warn)
        self._recollection = Recollection(retriever, knowledge, warn=warn)
        self._engine = self._new_engine()
        self._client: list[Message] = []
        self._synced: tuple[list[Message], int] = self._client, 0
        """The history as the last `sync` left it: it is another list, or longer, where something else happened."""
        self._last_view: list[Message] = []
        self._viewed_at = 0
        self._shift: tuple[int, int] | None = None
        self._assumed = ""
        self._closed = False
        self._load()

    def append(
        self, messages: Sequence[Message], origins: Sequence[str] = (), *, needs: Sequence[int] = (),
        at: int | None = None,
    ) -> None:  # fmt: skip
        """New messages join the session. O(size of what is new).

        `origins` marks messages of role user that the environment wrote ("environment"), for agents without a tool
        protocol. `needs`: ids of items that these messages depend on (declared links; strong ones into open work
        protect). Raises WireError when a message is not of this session's format. `at`: how many messages there must
        be in front; MovedOn, and nothing taken in, when another process went on meanwhile. Without it what others
        wrote comes first.
        """
        fresh = copy_messages(messages)
        if not fresh:
            return
        if origins and len(origins) != len(fresh):
            raise SettingsError(f"{len(origins)} origins for {len(fresh)} messages; expected one for each")
        if self._closed:
            raise StoreError(f"session {self._kept.key.name!r} is closed; open it again to go on")
        for target in needs:
            self._known(target)
        if at is not None and at != len(self._client):
            raise MovedOn(f"session {self._kept.key.name!r} has {len(self._client)} messages; expected {at}")
        self._take_in([Record(m, o) for m, o in zip(fresh, origins or [""] * len(fresh), strict=True)])
        for _ in range(MOST_RETRIES):
            if self._kept.write():
                break
            if at is not None:
                self._kept.drop_pending()
                self._reload()
                raise MovedOn(f"another process went on with session {self._kept.key.name!r}")
            # Another process was first: what it wrote comes before ours.
            if self._kept.write_behind():
                self._rebuild(self._kept.records(), self._kept.decisions())
                break
            self._reload()
        else:
            # Refused as a whole: a caller that tries again must not find half of it here.
            self._kept.drop_pending()
            self._reload()
            raise StoreError(
                f"other processes keep writing to session {self._kept.key.name!r}: these messages are not stored"
            )
        for position in range(len(self._client) - len(fresh), len(self._client)) if needs else ():
            for item in items_at(self._engine, self._log_position(position)):
                self.link(item, needs)
        self._link_declared()

    def sync(self, messages: Sequence[Message], origins: Sequence[str] = (), *, unchanged: int = 0) -> int:
        """Take over the whole history as the client has it now; returns how many messages were new.

        What is known is recognised by content at the cost of a comparison; a history that a client built on our own
        view is recognised too. An edited or shortened history starts a branch: nothing of the old one is lost.

        `unchanged`: so many messages in front are those of the last `sync`, all of them, as the caller knows. They are
        not compared again, so that the call costs what is new, unless something else happened to the session since.
        """
        messages = list(messages)
        for _ in range(MOST_RETRIES):
            known = self._arrive(messages, unchanged)
            fresh = messages[known:]
            try:
                self.append(fresh, origins[known:] if origins else (), at=len(self._client))
            except MovedOn:
                continue
            self._synced = self._client, len(self._client)
            return len(fresh)
        raise StoreError(f"other processes keep writing to session {self._kept.key.name!r}: nothing new is stored")

    def _arrive(self, messages: list[Message], unchanged: int) -> int:
        """Go to where this history agrees with ours, on a branch if need be; how many of its messages are known."""
        client, upto = self._synced
        if client is self._client and unchanged == upto == len(client) <= len(messages):
            return unchanged
        known = self._agreement(self._client, messages)
        if known < len(self._client):
            known = self._adopted(messages) or known
        if known < len(self._client) and self._reload_if_behind():
            known = self._agreement(self._client, messages)
        if known < len(self._client):
            self._branch(known)
        return known

    def view(self, *, idle_seconds: float | None = None, cache_cold: bool = False) -> View:
        """What to send for the next model call: valid for the wire and inside the budget, or it says so.

        A session reads no clock: say `idle_seconds` since the last call, or `cache_cold`, and a commit that waited for
        the provider's prompt cache to be gone anyway is made now.

        Raises OverBudget when what may not be evicted does not fit: system prompt and tools over the budget, or the
        pinned minimum over the model's window. Between commits each view extends the one before byte for byte.
        """
        self._start_timer()
        self._follow_others()
        self._serve_directives()
        self._recollect()
        budget = self._resolve_budget()
        check_fixed(self._engine, *self._fixed_parts(), budget, may_send=self._fixed_over == "send")
        cold = cache_cold or (idle_seconds is not None and self._prices.cold_after(idle_seconds))
        messages, tokens, commit = self._engine.view(cold=cold)
        messages = self._sendable(messages)
        self._own_tokens = tokens
        view = self._as_view(messages, tokens, budget, commit)
        self._save()
        self._last_view, self._viewed_at = messages, len(self._client)
        return view

    def count(self) -> int:
        """Tokens of the whole history as it came, with system prompt and tools."""
        return self._fixed() + sum(self._engine.log.turn_tokens)

    def compact(self) -> Commit | None:
        """Commit now, budget or not; None when nothing may go."""
        self._start_timer()
        self._resolve_budget()
        if self._engine.log.open:
            return None
        _, _, commit = self._engine.view(force="call")
        self._save()
        return commit

    def _start_timer(self) -> None:
        """From now on the engine knows how much of the time limit is spent; without one, that nothing is."""
        limit, timer = self._limit, self._timer
        if limit is not None:
            start = timer()
            self._engine.spent = lambda: (timer() - start) / limit

    def link(self, item: int, needs: Sequence[int], *, weight: float = 1.0, why: str = "declared") -> None:
        """Declare that an item depends on earlier ones (`needs=`): strong links into open work protect.

        Raises RecallError for unknown items, ValueError for a weight outside 0 to 1 or an item that is not earlier.
        """
        source = self._known(item).id
        targets = [self._known(target).id for target in needs]
        if not 0.0 <= weight <= 1.0:  # not a number is neither
            raise ValueError(f"a weight of {weight}: expected 0 to 1")
        for target in targets:
            if wrong := links.objection(self._engine.log, source, target, 1.0):
                raise ValueError(wrong)
        for target in targets:
            self._engine.log.link(
                Link(source=item, target=target, weight=weight, provenance=Provenance.DECLARED, why=why)
            )
        self._engine._record({"type": "needs", "item": item, "needs": list(needs), "weight": weight, "why": why})
        self._save()

    def set_budget(
        self, *, budget: int | None = None, window: int | None = None, model: str | None = None,
        max_output_tokens: int | None = None,
    ) -> None:  # fmt: skip
        """From now on. A smaller budget takes effect at the next view."""
        for what, value in (("budget", budget), ("window", window), ("max_output_tokens", max_output_tokens)):
            _check_tokens(what, value)
        if window is not None:
            self._window = window
            if budget is None:
                self._budget = None
        if budget is not None:
            self._budget = budget
        if max_output_tokens is not None:
            self._max_output = max_output_tokens
        if model is not None and model != self._model:
            self._model = model
            if not self._own_counter:
                self._recount()

    def _recount(self) -> None:
        """Count everything anew for another model; what was decided stays."""
        self._counter = RequestCounter(get_counter(self._model, self.format), self.format)
        self._fixed_known = None
        saved = self._engine.unsaved
        self._rebuild(self._kept.records(), list(self._engine.entries))
        self._engine.unsaved = saved

    def set_prompt(self, *, system: Any = None, tools: Sequence[Any] | None = None) -> None:
        """The system prompt and tools of the coming calls, for clients that send them anew with each."""
        told = None if tools is None else list(tools)
        if (system, told) == (self._system, self._tools):
            return
        self._system, self._tools, self._fixed_known = copy(system), copy(told), None
        self._engine.fixed_tokens = self._fixed()

    def report_usage(self, usage: Mapping[str, Any] | None) -> None:
        """What the provider reported for the last view, in its own fields: corrects the count from now on."""
        own = self._own_tokens or self._fixed() + sum(self._engine.log.turn_tokens)
        if not self._calibration.report(usage, own):
            return
        factor = max(1.0, round(self._calibration.factor, FACTOR_PLACES))
        if factor != self._engine.factor:
            self._engine.factor = factor
            self._engine._record({"type": "usage", "factor": factor})
            self._save()

    def close(self) -> None:
        """Everything is already saved; this only lets go of the store. Nothing can be appended afterwards.

        A long-term memory that learns (`LongTermMemory(learns=True)` as `retriever=`) does so now.
        """
        if not self._closed:
            self._closed = True
            self._recollection.ended(self)
        self._kept.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _new_engine(self) -> Engine:
        log = Log(
            wire=self._wire, counter=self._counter, kinds=self._kinds, quirks=self._quirks,
            find_anchors=self._find_anchors, graph=Graph(self._infer_from),
        )  # fmt: skip
        planner = Planner(
            log=log, stubs=self._stubs, policy=self._policy, policy_name=self._policy_name, prices=self._prices,
            strict=self._strict,
        )  # fmt: skip
        budget = Budget(tokens=self._budget or DEFAULT_WINDOW, low_share=self._low, high_share=self._high)
        return Engine(
            log=log, planner=planner, stubs=self._stubs, budget=budget, fixed_tokens=self._fixed(),
            factor=max(1.0, round(self._calibration.factor, FACTOR_PLACES)), reserve_share=self._reserve,
            triggers=self._triggers,
        )  # fmt: skip

    def _fixed(self) -> int:
        return sum(self._fixed_parts())

    def _fixed_parts(self) -> tuple[int, int]:
        """Tokens of the system prompt and of the tools."""
        if self._fixed_known is None:
            self._fixed_known = self._counter.system(self._system), self._counter.tools(self._view_tools())
        return self._fixed_known

    def _sendable(self, messages: Sequence[Message]) -> list[Message]:
        """The messages of a view as they go out: copies, unless the session lends them."""
        if not self.lends:
            return [clean(m) for m in messages]
        # By identity, kept beside the original so that it stays that one's.
        before = self._lent
        self._lent = {id(m): before.get(id(m)) or (m, clean(m)) for m in messages}
        return [self._lent[id(m)][1] for m in messages]

    def _view_tools(self) -> list[Any] | None:
        if self._stubs.recall is not RecallBy.TOOL:
            return self._tools
        return [*(self._tools or []), recall_tool(self.format)]

    def _resolve_budget(self) -> int:
        """The budget in force, worked out and handed to the engine."""
        window = self._window or context_window(self._model) if self._model else self._window
        room = None if window is None else window - (self._max_output or 0)
        budget = self._budget
        if budget is None and room is not None:
            budget = room
        if budget is None:
            budget = DEFAULT_WINDOW
            self._assumed = (
                f"neither budget nor window of the model{f' {self._model!r}' if self._model else ''} is known: "
                f"assuming a window of {DEFAULT_WINDOW} tokens; pass budget= or window="
            )
            self._warn(self._assumed)
        else:
            self._assumed = ""
        if room is not None and room <= 0:
            raise SettingsError(f"window {window} leaves no room for input beside max_output_tokens {self._max_output}")
        # The margin of an estimate guards the window, where a request too long is refused; a budget is a choice.
        safe = None if room is None else int(room / (1.0 + self._counter.counter.margin))
        if safe is not None:
            budget = min(budget, safe)
        self._engine.budget = Budget(tokens=budget, window_tokens=safe, low_share=self._low, high_share=self._high)
        return budget

    def _as_view(self, messages: list[Message], tokens: int, budget: int, commit: Commit | None) -> View:
        limits = self._engine.effective_budget()
        missing = max(0, tokens - limits.tokens - limits.reserve_tokens)
        named = largest(self._engine, *self._fixed_parts()) if missing else ()
        warnings = [self._assumed] if self._assumed else []
        if missing:
            parts = ", ".join(f"{what} ({n} tokens)" for what, n in named)
            text = f"over the budget of {budget} tokens by {missing}: what may not be evicted is too large: {parts}"
            if limits.window_tokens is not None and tokens > limits.window_tokens:
                raise OverBudget(text, missing_tokens=missing, largest=named)
            warnings.append(text)
            self._warn(text)
        elif used := reserve_used(tokens, limits, self._reserve):
            warnings.append(used)
            self._warn(used.partition(":")[0])
        shortened = shortened_words(self._engine.log.items, commit)
        if shortened:
            warnings.append(shortened)
            self._warn(shortened)
        for repair in self._engine.log.repairs:
            self._warn(f"message {repair.position}: {repair.what}")
        shown, items = self._engine.shown, self._engine.log.items
        return View(
            messages=messages, system=self._system if self.lends else copy(self._system),
            tools=self._view_tools() if self.lends else copy(self._view_tools()), tokens=tokens,
            budget=budget, missing_tokens=missing, largest=named, warnings=tuple(warnings), commit=commit,
            step=self._engine.log.step, _covers=lambda i: _covered(i, shown.note, shown.level(i), items),
        )  # fmt: skip

    def _known(self, item: int) -> Item:
        known = self._engine.log.item_at(item)
        if known is None:
            raise RecallError(f"no item #{str(item).lstrip('#')} in session {self._kept.key.name!r}")
        return known

    def _recall_chars(self) -> int:
        """A recall must leave the view room: at most a third of the budget."""
        return min(RECALL_CHARS, max(1_000, self._engine.budget.tokens))

    def _serve_directives(self) -> None:
        """A `[RETRIEVE: id]` in the newest assistant text is answered at the tail, once, as data."""
        log = self._engine.log
        if self._stubs.recall is RecallBy.NONE:
            return
        speaking = (TurnKind.ASSISTANT, TurnKind.EXCHANGE)
        if log.open or not log.turns or log.turns[-1].kind not in speaking or log.own(len(log.turns) - 1):
            return
        said = (p.text for p in log.turns[-1].parts if p.role == "assistant" and p.type is PartType.TEXT)
        wanted = [reference for text in said for reference in directives(text)]
        if not wanted:
            return
        found = self._engine.inject(wanted)
        self._engine.fault(found.items)
        self._show_attachments(found)

    def _recollect(self) -> None:
        """Ask memory and knowledge outside the session, if something happened that makes it worth asking."""
        try:
            arrived, entries = self._recollection.look(self._engine.log)
        except Exception as error:  # no question is worth a call that does not go out
            self._warn(f"memory was not asked ({type(error).__name__}: {error})")
            return
        for entry in entries:
            self._engine._record(entry)
        self._engine.arrived.extend(arrived)

    def _show_attachments(self, found: Recalled) -> None:
        """A picture cannot come back as text: it is shown again in its place."""
        items = self._engine.log.items
        pictures = [i for i in found.items if items[i].kind is Kind.ATTACHMENT or self._engine.log.media(items[i])]
        folded = [i for i in pictures if self._engine.shown.level(i) < Level.RAW]
        if folded:
            self._engine.raise_to_raw(folded, "recalled attachment")

    def _link_declared(self) -> None:
        log = self._engine.log
        for turn in range(self._declared.upto, log.settled):
            items = log.items_of_turn(turn)
            self._declared.observe(log.graph, log.turns[turn], items)
            log.standings.changed(k.target for item in items for k in log.graph.needs(item.id))

    def _warn(self, text: str) -> None:
        _add_once(self.warnings, text)

    def _take_in(self, fresh: Sequence[Record]) -> None:
        messages, origins = [r.message for r in fresh], [r.origin for r in fresh]
        self._engine.append(messages, origins)
        self._client.extend(messages)
        self._kept.take(messages, origins)

    def _save(self) -> None:
        engine = self._engine
        for failures in (engine.failures, engine.log.failures):
            for failure in failures:
                self._warn(failure)
            failures.clear()
        if self._kept.save(engine.entries[engine.unsaved :]):
            engine.unsaved = len(engine.entries)

    def _load(self) -> None:
        """What the store has of this session: log first, then the decisions."""
        if self._kept.store is not None:
            self._rebuild(*self._kept.load())

    def _reload(self) -> None:
        """Take over what the store has; what we could not store yet comes behind it."""
        pending = self._kept.pending()
        self._kept.to_head()
        self._load()
        if pending:
            self._take_in(pending)

    def _follow_others(self) -> None:
        """Take over what other processes decided about this session meanwhile, say a pin by its MCP server."""
        fresh = self._kept.decided_elsewhere()
        engine = self._engine
        if not fresh or self._kept.pending() or any(entry["raws"] > len(engine.log.raws) for entry in fresh):
            return  # what is about messages we do not have yet comes with them
        # Where both wrote at once our own are among them.
        if not any(entry in engine.entries for entry in fresh) and engine.take_over(fresh):
            return
        client = self._client, self._shift, self._last_view, self._viewed_at
        known = len(engine.log.raws)
        self._load()
        if len(self._engine.log.raws) == known:
            self._client, self._shift, self._last_view, self._viewed_at = client

    def _reload_if_behind(self) -> bool:
        """Whether another process went on with this session; then we are where it is."""
        if not self._kept.behind():
            return False
        self._reload()
        return True

    def _adopted(self, messages: Sequence[Message]) -> int:
        """How many messages are known when the client took our last view as its history; 0 when it did not."""
        view, since = self._last_view, self._client[self._viewed_at :]
        if not view or self._agreement(view, messages) < len(view):
            return 0
        if self._agreement(since, messages[len(view) :]) < len(since):
            return 0
        known = len(view) + len(since)
        self._shift = (len(view), self._viewed_at if self._shift is None else self._log_position(self._viewed_at))
        self._client = copy_messages(messages[:known])
        self._viewed_at = len(view)
        return known

    def _log_position(self, position: int) -> int:
        """Position of a client's message among the messages of the log (recalls put in by us not counted)."""
        if self._shift is None or position < self._shift[0]:
            return position
        return position - self._shift[0] + self._shift[1]

    def _rebuild(self, records: Sequence[Record], entries: list[dict[str, Any]]) -> None:
        messages, origins = [r.message for r in records], [r.origin for r in records]
        engine = self._engine = self._new_engine()
        engine.restoring = True
        self._resolve_budget()
        done = added = 0
        for entry in entries:
            if entry["type"] == "inject":
                upto = entry["raws"] - added
                engine.append(messages[done:upto], origins[done:upto])
                engine.replay_injection(entry)
                done, added = upto, len(engine.log.raws) - upto
        if done < len(messages):
            engine.append(messages[done:], origins[done:])
        links.restore(engine.log, entries)
        self._declared = Declared()
        for entry in entries:
            if entry["type"] == "declare":
                self._declared.declare(
                    Declaration(tool=entry["tool"], reads=tuple(entry["reads"]), produces=tuple(entry["produces"]))
                )
        self._link_declared()
        engine.restore(entries)
        self._recollection.restore(entries)
        engine.restoring = False
        self._client, self._shift = messages, None
        engine._refresh()
        self._last_view = [copy(m) for m in engine.log.wire.finish(engine.view_cache.messages, engine.log.quirks)]
        self._viewed_at = len(self._client)

    def _branch(self, at: int) -> None:
        """The client's history parts from ours after `at` messages: go on from there on a new branch."""
        if self._shift is not None and at < self._shift[0]:
            at = 0  # an edit inside a view that the client adopted: its own history starts anew
        at = self._log_position(at)
        raws = at + sum(n for start, n in self._engine.injections if start < at)
        entries = [e for e in self._engine.entries if e["raws"] <= raws]
        self._rebuild(self._kept.fork(at), entries)
        self._engine.unsaved = len(entries)
        self._engine._record({"type": "branch", "upto": raws})

    def _agreement(self, known: Sequence[Message], messages: Sequence[Message]) -> int:
        """How many messages at the front are the same."""
        # All of them, as a rule: told at the speed of C.
        if len(known) <= len(messages) and list(messages[: len(known)]) == known:
            return len(known)
        for index, (a, b) in enumerate(zip(known, messages, strict=False)):
            if a is not b and a != b and not self._same(a, b):
                return index
        return min(len(known), len(messages))

    def _same(self, known: Message, given: Message) -> bool:
        """The same message but for cache marks (clients move them) or for what was redacted at rest."""
        if unmarked(known) == unmarked(given):
            return True
        return self._redact and dumps(known) == readable(redact(dumps(given)))


def _add_once(texts: list[str], text: str) -> None:
    if text not in texts:
        texts.append(text)


def _check_tokens(what: str, value: Any) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value <= 0):
        raise SettingsError(f"{what} {value!r}: expected a number of tokens above 0, or None")


def _covered(item: int, note: Note | None, level: Level, items: Mapping[int, Item]) -> bool:
    return item in items and (level > Level.STUB or (note is not None and note.holds(item)) or level is Level.STUB)
