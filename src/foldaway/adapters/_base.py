"""What all adapters share: a session for each conversation, one call to fold, one to answer the model's recalls.

An adapter is a codec between the framework's messages and a wire format, and the framework's hook around `fold`.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

from foldaway.adapters._desks import Desk, Desks
from foldaway.adapters._matching import Codec, Translated
from foldaway.adapters._prompts import as_known, as_now, surplus
from foldaway.engine.recall_tool import DESCRIPTION, SCHEMA
from foldaway.errors import FoldawayError, MissingExtra, OverBudget, RecallError, SettingsError
from foldaway.linking.declared import Declaration, declaration_of
from foldaway.model.view import View
from foldaway.model.wire import Message, Quirks
from foldaway.protocols import Store
from foldaway.session import Session
from foldaway.settings.parts import make_store

__all__ = [
    "RECALL",
    "RECALL_DESCRIPTION",
    "RECALL_SCHEMA",
    "Codec",
    "ContextWarning",
    "Folded",
    "Folding",
    "asked",
    "check_settings",
    "declaration",
    "missing",
]

M = TypeVar("M")
RECALL = "recall"
"""Name of the tool by which a model asks for what is folded."""
RECALL_DESCRIPTION = DESCRIPTION
RECALL_SCHEMA: dict[str, Any] = SCHEMA
"""Its arguments: `ids`, and optionally `find`."""
MOST_SESSIONS = 64
NEWEST = 8
"""Messages at the end among which the newest known one is looked for where a history is not what it was."""
CUT = (
    "older messages of this history are gone or changed while newer ones stayed: something else (a trim, a window, a "
    "summary) is at work on it before Foldaway, and what it takes out nobody can recall from here on; take one of the "
    "two out"
)
_SETTINGS = frozenset(inspect.signature(Session).parameters)
_FIGURES = re.compile(r"\d+")


class ContextWarning(UserWarning):
    """Something about the context that a person should look at, such as two managers at work on one history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded(Generic[M]):
    """What a model is to see at one call."""

    messages: list[M]
    """The framework's messages; the very objects that came wherever nothing of them changed."""
    changed: bool
    """False: `messages` are those that came, one by one."""
    recallable: bool = False
    """Whether anything is folded away, so that the recall tool is worth offering."""
    view: View | None = None
    """None: it could not be folded, the call goes out as it was (the reason was given as a `ContextWarning`)."""
    desk: Desk | None = None
    """Whose conversation it was: for `Folding.report`."""
    fresh: Sequence[M] = ()
    """Of the messages that came those at the end that the last call did not bring, or not like this."""


class Folding(Generic[M]):
    """The sessions behind one adapter. Safe from several threads; also an async face, by threads.

    Takes the settings of `Session`. A conversation with a key is the session of that name, kept in `store` if there is
    one; a conversation without a key is told by its history and kept in memory alone.
    """

    def __init__(
        self,
        codec: Codec[M],
        *,
        budget: int | None = None,
        store: str | Store | None = None,
        recall: str = "tool",
        declared: Sequence[Callable[..., Any]] = (),
        most_sessions: int = MOST_SESSIONS,
        **settings: Any,
    ) -> None:
        """`declared`: functions under `@foldaway.tool`. `most_sessions`: kept at hand, those used last.

        Raises SettingsError at once for what no session would take, TypeError for what is no setting.
        """
        for fixed in ("format", "name", "system", "tools"):
            if fixed in settings:
                raise SettingsError(f"{fixed}= is the adapter's to say; leave it out")
        check_settings(settings, ("declared",))
        self.codec = codec
        self.recall_by = recall
        self._settings = {**settings, "budget": budget, "recall": recall, "format": codec.format}
        self._declared = {made.tool: made for made in (declaration_of(f) for f in declared)}
        self._quirks = settings.get("quirks") is not None
        Session(**self._settings).close()
        self._own_store = isinstance(store, str)
        self._store = make_store(store)
        self._warned: set[str] = set()
        self._desks = Desks(self._open, most_sessions)

    # -- around a model call

    def fold(
        self, messages: Sequence[M], *, key: str | None = None, system: Any = None,
        tools: Sequence[Mapping[str, Any]] | None = None, model: str = "", window: int | None = None,
        max_output_tokens: int | None = None,
    ) -> Folded[M]:  # fmt: skip
        """What the model is to see of this history. `system` and `tools` count, in the codec's format.

        Our own recall tool among `tools` is counted anyway. `model` (for its tokens and window), `window` and
        `max_output_tokens` (taken off the window) serve where no budget was given; a `model=` of the settings goes
        first. Raises OverBudget where nothing valid fits, and SettingsError; whatever else fails, the history goes out
        as it came, with a warning.
        """
        messages = list(messages)
        # What the user said of the model stands above what a framework calls it.
        model = "" if self._settings.get("model") else model
        try:
            desk, translated = self._desk(key, messages)
        except (OverBudget, SettingsError):
            raise
        except Exception as error:
            return self._as_it_came(messages, error)
        with desk.lock:
            try:
                if model or window or max_output_tokens:
                    desk.session.set_budget(model=model or None, window=window, max_output_tokens=max_output_tokens)
                folded = self._folded(desk, messages, translated, system, tools)
            except (OverBudget, SettingsError):
                raise
            except Exception as error:
                # It may be half changed.
                self._desks.drop(desk)
                return self._as_it_came(messages, error)
        # Outside: where warnings are errors, one must not look like a failure to fold.
        told = () if folded.view is None else folded.view.warnings
        for text in (*told, CUT) if desk.cut else told:
            self.warn(text)
        return folded

    async def afold(self, messages: Sequence[M], **call: Any) -> Folded[M]:
        """`fold` in a thread: a first look at a long history takes a while."""
        return await asyncio.to_thread(self.fold, messages, **call)

    def report(self, folded: Folded[Any], usage: Mapping[str, Any] | None) -> None:
        """What the provider counted for this call, in its own fields: corrects the count from now on."""
        if folded.desk is not None and usage:
            with folded.desk.lock:
                folded.desk.session.report_usage(usage)

    # -- recall

    def bring(self, folded: Folded[Any], ids: str, find: str | None = None) -> None:
        """Bring things back at the end of the next view: for adapters that answer a recall without the framework."""
        if folded.desk is not None:
            with folded.desk.lock:
                folded.desk.session.recall_into_view(ids, find=find)

    def recall(
        self, arguments: Mapping[str, Any], *, key: str | None = None, messages: Sequence[M] | None = None
    ) -> str:
        """The answer to a model's recall call, framed as data. Never raises: a model reads what went wrong.

        A conversation without a key is found by its `messages`; without these it must be the only one.
        """
        try:
            desk, _ = self._desk(key, messages)
            with desk.lock:
                return desk.session.recall_result(asked(arguments))
        except FoldawayError as error:
            return f"Nothing was brought back: {error}"

    async def arecall(self, arguments: Mapping[str, Any], **where: Any) -> str:
        return await asyncio.to_thread(self.recall, arguments, **where)

    # -- control

    def session(self, key: str | None = None) -> Session:
        """The session of a conversation: to pin, to explain, to look at the ledger. None: the only one there is.

        Use it between model calls. Raises RecallError for None where there are several, or none.
        """
        return self._desks.get(key).session

    def sessions(self, key: str | None = None) -> list[Session]:
        """The sessions at hand: of one key, or all."""
        return [desk.session for desk in self._desks.all(key)]

    def declare(self, made: Declaration) -> None:
        """Take over what a tool declares of itself, for all conversations; known ones cost nothing."""
        if self._declared.get(made.tool) != made:
            self._declared[made.tool] = made

    def keep_thinking(self, *given: Any) -> None:
        """Where one of these is Anthropic's `thinking` parameter and on, an open tool loop keeps its thinking whole.

        Holds for sessions opened from now on: the provider refuses a call whose thinking is gone.
        """
        if not any(isinstance(one, Mapping) and one.get("type") not in (None, "disabled") for one in given):
            return
        quirks = self._settings.get("quirks") or Quirks()
        if not quirks.thinking:
            self._settings["quirks"] = replace(quirks, thinking=True)

    def warn(self, text: str) -> None:
        """Say something once, as a `ContextWarning`; the same with other figures is the same."""
        told = _FIGURES.sub("", text)
        if told not in self._warned:
            self._warned.add(told)
            warnings.warn(text, ContextWarning, stacklevel=3)

    def close(self) -> None:
        """Let go of the sessions, and of the store where the adapter opened it. Everything is saved already."""
        self._desks.close()
        if self._own_store and self._store is not None:
            close = getattr(self._store, "close", None)
            if close is not None:
                close()

    # -- inside

    def _open(self, key: str | None) -> Session:
        if key is None:
            return Session(**self._settings)
        return Session(**self._settings, store=self._store, name=key)

    def _desk(self, key: str | None, messages: Sequence[M] | None) -> tuple[Desk, list[list[Message]]]:
        """Whose conversation it is; and the messages in the wire's terms, where it took these to tell."""
        translated: list[list[Message]] = []

        def wire() -> list[Message]:
            translated.extend(self.codec.to_wire(message) for message in messages or ())
            return [part for parts in translated for part in parts]

        return self._desks.get(key, messages, wire), translated

    def _folded(
        self, desk: Desk, messages: Sequence[M], translated: Sequence[list[Message]], system: Any,
        tools: Sequence[Mapping[str, Any]] | None,
    ) -> Folded[M]:  # fmt: skip
        session = desk.session
        history = Translated.of(self.codec, messages, desk.history, translated)
        wire = as_known(session.messages, history.wire)
        if wire is not history.wire:
            system = surplus(system, wire, history.wire)
        # The session counts its own recall tool in.
        others = None if tools is None else [tool for tool in tools if tool_name(tool) != RECALL]
        session.set_prompt(system=system, tools=others)
        for made in self._declared.values():
            session.declare(made.tool, reads=made.reads, produces=made.produces)
        self._synced(desk, history, wire)
        view = self._view(session)
        if wire is not history.wire:
            view = as_now(view, history.wire)
        recallable = session.folds and self.recall_by == "tool"
        # A repair alone is none of ours: the framework's own checks are to see what it made.
        untouched = not session.folds and not session.engine.injections and not self._quirks
        shown = list(messages) if untouched or view.messages == history.wire else history.back(view.messages)
        return Folded(
            messages=shown, changed=not _same_objects(shown, messages), recallable=recallable, view=view, desk=desk,
            fresh=history.fresh,
        )  # fmt: skip

    def _synced(self, desk: Desk, history: Translated[M], wire: list[Message]) -> None:
        """The session knows this history, as `wire`; and whether something else is at work on it."""
        session = desk.session
        branch, engine, newest = session.branch, session.engine, session.messages[-1:]
        session.sync(wire, unchanged=history.known)
        # With a store a log is made anew to take over what another process wrote, too; without one it has no branches.
        stored = self._store is not None and not desk.keyless
        parted = session.branch != branch if stored else session.engine is not engine
        if parted and newest and newest[0] in wire[-NEWEST:]:
            # Not gone back to an earlier point: what is gone or changed stands before what is still there.
            desk.cut = True
        desk.history = history

    def _view(self, session: Session) -> View:
        # Nothing here changes what a view holds, so it need not be copied for each call; for others it is.
        session.lends = True
        try:
            return session.view()
        finally:
            session.lends = False

    def _as_it_came(self, messages: Sequence[M], error: Exception) -> Folded[M]:
        self.warn(f"the context was not managed at this call ({type(error).__name__}: {error}); it went out as it was")
        return Folded(messages=list(messages), changed=False)


def check_settings(given: Iterable[str], others: Iterable[str] = ()) -> None:
    """Raises TypeError for a name that is no setting of `Session`; `others`: what else the caller takes."""
    for name in given:
        if name not in _SETTINGS:
            near = get_close_matches(name, [*_SETTINGS, *others], 1)
            raise TypeError(f"no setting {name}=" + (f"; did you mean {near[0]}=?" if near else ""))


def _same_objects(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def tool_name(tool: Mapping[str, Any]) -> Any:
    """The name in a tool's definition, in any of the formats."""
    function = tool.get("function")
    return function.get("name") if isinstance(function, Mapping) else tool.get("name")


def declaration(*candidates: Any) -> Declaration | None:
    """What `@foldaway.tool` said of the first of these functions that has it; None for undeclared ones."""
    for function in candidates:
        try:
            return declaration_of(function)
        except TypeError:
            continue
    return None


def missing(extra: str, error: ImportError) -> MissingExtra:
    """To raise where a framework is not installed."""
    return MissingExtra(f"this adapter needs the extra {extra} ({error}): pip install 'foldaway[{extra}]'")


def asked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A model's arguments in the shape the tool defines; lists of ids, and words in the wrong place, are taken too.

    Raises RecallError where nothing is asked for.
    """
    ids, find = arguments.get("ids"), arguments.get("find")
    if isinstance(ids, list | tuple):
        ids = ", ".join(str(i) for i in ids)
    wanted, words = str("" if ids is None else ids).strip(), find.strip() if isinstance(find, str) else ""
    if not (wanted or words):
        raise RecallError("say what to bring back: ids such as #12, or words to look for")
    return {"ids": wanted or words, "find": words if wanted and words else None}
