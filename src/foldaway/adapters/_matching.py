"""From a view back to the framework's messages: what is unchanged is the object that came, the rest is made anew."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from foldaway.adapters._untouched import Untouched
from foldaway.model.jsonlike import unmarked
from foldaway.model.wire import Message

M = TypeVar("M")


class Codec(Protocol[M]):
    """A framework's messages as messages of a wire format, and back."""

    @property
    def format(self) -> str:
        """The wire format: "openai_chat", "anthropic_messages" or "openai_responses"."""
        ...

    def to_wire(self, message: M) -> list[Message]:
        """One message as one or several of the wire; [] for what is no message to a model (it is always kept)."""
        ...

    def from_wire(self, messages: Sequence[Message], like: M | None) -> list[M]:
        """Wire messages that a view changed, as the framework's.

        `like`: the message that they came from, for its ids, names and metadata; never changed itself. None: they are
        new (a fold note of its own, a recall with call and result).
        """
        ...


@dataclass(slots=True)
class Index:
    """Where messages stand in a history: those of calls and results by their ids, others by what they begin with."""

    upto: int = 0
    named: dict[tuple[str, Any], list[int]] = field(default_factory=dict)
    others: dict[Any, list[int]] = field(default_factory=dict)

    def extend(self, wire: Sequence[Message]) -> None:
        """Take in what is new. Linear in that."""
        for at in range(self.upto, len(wire)):
            names = call_names(wire[at])
            for name in names:
                self.named.setdefault(name, []).append(at)
            if not names:
                self.others.setdefault(_beginning(wire[at]), []).append(at)
        self.upto = len(wire)


@dataclass(slots=True)
class Translated(Generic[M]):
    """A history on both sides, and which message became which."""

    codec: Codec[M]
    untouched: Untouched
    wire: list[Message]
    sources: list[int]
    """For each wire message the position of its original."""
    sizes: list[int]
    """For each original how many wire messages it became."""
    known: int = 0
    """Wire messages in front that are those of the history before, all of them."""
    kept: int = 0
    """Originals in front that were not translated anew."""
    visible: list[int] | None = None
    """Originals that the newest view holds something of; None: all."""
    silent: list[int] = field(default_factory=list)
    """Originals that no wire message stands for."""
    index: Index = field(default_factory=Index)

    @classmethod
    def of(
        cls, codec: Codec[M], messages: Sequence[M], before: Translated[M] | None = None,
        translated: Sequence[list[Message]] = (),
    ) -> Translated[M]:  # fmt: skip
        """Translates what is new since `before`, an earlier state of the same history; all of it without one.

        `translated`: every message in the wire's terms, where that was done already.
        """
        kept = 0 if before is None else before.untouched.unchanged(messages, before.visible)
        whole = before is not None and kept == len(before.sizes)
        if before is None:
            made = cls(codec, Untouched().grown(messages, 0), [], [], [])
        else:
            upto = len(before.wire) if whole else sum(before.sizes[:kept])
            made = cls(
                codec, before.untouched.grown(messages, kept), before.wire[:upto], before.sources[:upto],
                before.sizes[:kept], known=upto if whole else 0, kept=kept,
                silent=before.silent[: bisect_left(before.silent, kept)], index=before.index if whole else Index(),
            )  # fmt: skip
        for at in range(kept, len(made.originals)):
            parts = translated[at] if translated else codec.to_wire(made.originals[at])
            made.wire += parts
            made.sources += [at] * len(parts)
            made.sizes.append(len(parts))
            if not parts:
                made.silent.append(at)
        if before is not None and not whole and made.wire[: len(before.wire)] == before.wire:
            # Made anew, but it says the same.
            made.index = before.index
        return made

    @property
    def originals(self) -> list[M]:
        return self.untouched.originals

    @property
    def fresh(self) -> list[M]:
        """Originals that were translated now: new ones, and those made anew or changed."""
        return self.originals[self.kept :]

    def back(self, view: Sequence[Message]) -> list[M]:
        """The view in the framework's messages; the originals themselves wherever nothing of them changed.

        Cache marks do not count, as they move: originals have theirs as they are now, what is made anew has none, so
        there are never more of them than came.
        """
        out: list[M] = []
        done = -1
        runs = list(self._runs(view))
        self.visible = sorted({source for source, _, _ in runs if source is not None})
        for source, run, whole in runs:
            if source is None:
                out += self.codec.from_wire(unmarked(run), None)
                continue
            out += self._silent(done, source)
            done = max(done, source)
            original = self.originals[source]
            out += [original] if whole else self.codec.from_wire(unmarked(run), original)
        return out + self._silent(done, len(self.originals))

    def _silent(self, after: int, before: int) -> list[M]:
        """Originals between two positions that no wire message stands for."""
        first = bisect_right(self.silent, after)
        return [self.originals[at] for at in self.silent[first : bisect_left(self.silent, before, first)]]

    def _runs(self, view: Sequence[Message]) -> Iterator[tuple[int | None, list[Message], bool]]:
        """(source, messages, all of it unchanged) for messages of one source in a row."""
        run: list[Message] = []
        unchanged, current = 0, None
        for message, (source, same) in zip(view, self._origins(view), strict=True):
            if run and source != current:
                yield current, run, self._whole(current, run, unchanged)
                run, unchanged = [], 0
            run, current, unchanged = [*run, message], source, unchanged + same
        if run:
            yield current, run, self._whole(current, run, unchanged)

    def _whole(self, source: int | None, run: list[Message], unchanged: int) -> bool:
        return source is not None and unchanged == len(run) == self.sizes[source]

    def _origins(self, view: Sequence[Message]) -> list[tuple[int | None, bool]]:
        """For each message of the view: where it came from, and whether it is as it came. Order is kept."""
        found: list[tuple[int | None, bool]] = []
        last = -1
        for message in view:
            after = last + 1
            # Most of a view is a stretch of the history.
            if after < len(self.wire) and _same(self.wire[after], message):
                last = after
                found.append((self.sources[last], True))
                continue
            self.index.extend(self.wire)
            names = call_names(message)
            near = sorted({at for name in names for at in _behind(self.index.named.get(name, ()), last)})
            places = near if names else _behind(self.index.others.get(_beginning(message), ()), last)
            same = next((at for at in places if _same(self.wire[at], message)), None)
            at = same if same is not None else next(iter(near), None)
            if at is None and isinstance(message.get("content"), list):
                at = self._sharing(message, after)
            last = last if at is None else at
            found.append((None if at is None else self.sources[at], same is not None))
        return found

    def _sharing(self, message: Message, after: int) -> int | None:
        """Of which message some part was folded: a text pasted beside a picture, say. It shares the other blocks."""
        for at in range(after, len(self.wire)):
            content = self.wire[at].get("content")
            if self.wire[at].get("role") != message.get("role") or not isinstance(content, list):
                continue
            if any(block in content for block in message["content"]):
                return at
        return None


def _behind(places: Sequence[int], last: int) -> Sequence[int]:
    return places[bisect_right(places, last) :]


def _beginning(message: Message) -> Any:
    """The same for messages that are the same but for cache marks; cheap to compare."""
    content = message.get("content")
    if isinstance(content, list):
        first = content[0] if content else None
        text = first.get("text") if isinstance(first, dict) else None
        content = (len(content), text if isinstance(text, str) else None)
    told = (message.get("type"), message.get("id"), message.get("role"))
    return *(one if isinstance(one, str) else None for one in told), content if _plain(content) else None


def _plain(content: Any) -> bool:
    return isinstance(content, str | tuple)


def call_names(message: Message) -> list[tuple[str, Any]]:
    """The calls that a message makes or answers, as ("call" or "result", id), in any of the formats."""
    kind = message.get("type")
    if kind is not None and message.get("call_id"):
        return [("result" if str(kind).endswith("_output") else "call", message["call_id"])]
    if message.get("role") == "tool":
        return [("result", message.get("tool_call_id"))]
    calls = message.get("tool_calls")
    names = [("call", call.get("id")) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use":
            names.append(("call", block.get("id")))
        elif isinstance(block, dict) and block.get("type") == "tool_result":
            names.append(("result", block.get("tool_use_id")))
    return names


def _same(came: Message, shown: Message) -> bool:
    """The same message but for cache marks."""
    if came == shown:
        return True
    if came.get("role") != shown.get("role"):
        return False
    one, other = came.get("content"), shown.get("content")
    if isinstance(one, list) and isinstance(other, list):
        # Cheap before thorough: most messages that differ do so in length or in the text they begin with.
        if len(one) != len(other) or (one and other and _head(one[0]) != _head(other[0])):
            return False
    elif one != other:
        return False
    return bool(unmarked(came) == unmarked(shown))


def _head(block: Any) -> tuple[Any, ...]:
    return (
        tuple(block.get(key) for key in ("type", "text", "id", "tool_use_id")) if isinstance(block, dict) else (block,)
    )
