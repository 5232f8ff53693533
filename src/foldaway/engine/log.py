"""The log of one branch: raw messages, the turns and items made of them, their anchors and links.

Grows by `append`; what stands is never changed. Turns whose calls still wait for results are provisional: they are
parsed again when more arrives and join index and graph once they are settled.
"""

from __future__ import annotations

import hashlib
import json
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from foldaway.compressors.attachment import described, is_plain, media_in
from foldaway.engine.itemise import Draft, action_text, itemise
from foldaway.engine.stubs import copied_ids
from foldaway.linking.anchors import AnchorKind, anchors
from foldaway.linking.episodes import Episodes
from foldaway.linking.graph import Graph, Link
from foldaway.linking.index import AnchorIndex
from foldaway.linking.kinds import Kinds, command_of, same_file
from foldaway.linking.phases import Phases
from foldaway.linking.reuse import link_answer, link_reuse
from foldaway.linking.subgoals import WORKING, Happening, State, SubGoals
from foldaway.linking.verify import Verification
from foldaway.model.items import Item, Kind
from foldaway.model.wire import Message, Part, PartType, Quirks, Repair, Turn, TurnKind
from foldaway.protocols import MessageCounter, Wire
from foldaway.scoring.obsolete import Obsolescence
from foldaway.scoring.value import Relation, Standing, Standings

ENVIRONMENT = "environment"
"""Origin of a user-role message that the environment wrote."""
OWN = "foldaway"
"""Origin of messages that Foldaway itself put in (recalls)."""
SAME_TOKENS = 60
"""Smaller results ("ok") say nothing by being the same."""

_MEDIA = (PartType.IMAGE, PartType.DOCUMENT)

AnchorFinder = Callable[[str], Mapping[str, AnchorKind]]


@dataclass(slots=True, weakref_slot=True)
class Log:
    """Everything seen on one branch of a session, oldest first."""

    wire: Wire
    counter: MessageCounter
    kinds: Kinds
    quirks: Quirks = field(default_factory=Quirks)
    paste_tokens: int = 1200
    """A user text longer than this is a paste: an item that can fold behind its head and tail."""
    find_anchors: AnchorFinder = anchors

    raws: list[Message] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    turn_tokens: list[int] = field(default_factory=list)
    turn_items: list[tuple[int, ...]] = field(default_factory=list)
    turn_step: list[int] = field(default_factory=list)
    items: dict[int, Item] = field(default_factory=dict)
    anchors: AnchorIndex = field(default_factory=AnchorIndex)
    graph: Graph = field(default_factory=Graph)
    episodes: Episodes = field(default_factory=Episodes)
    subgoals: SubGoals = field(default_factory=SubGoals)
    phases: Phases = field(default_factory=Phases)
    verification: Verification = field(default_factory=Verification)
    failures: list[str] = field(default_factory=list)
    """What went wrong in exchangeable parts and was worked around."""
    repairs: list[Repair] = field(default_factory=list)
    calls: dict[tuple[str, str], int] = field(default_factory=dict)
    """(tool, arguments) -> the newest item that made this very call."""
    repeats: dict[int, int] = field(default_factory=dict)
    """Item -> the earlier item whose call it made again."""
    newer: dict[int, int] = field(default_factory=dict)
    """Item -> the item that made the very call again, or brought the very result again: it supersedes the first."""
    merged: dict[int, int] = field(default_factory=dict)
    """Item -> a newer one that says the same or nearly, as a look through the archive found (`engine.reflecting`)."""
    results: dict[str, int] = field(default_factory=dict)
    """Fingerprint of a result -> the newest item that brought it."""
    copies: dict[int, list[int]] = field(default_factory=dict)
    """Item -> recalled items that hold a copy of it or of a part."""
    reads: dict[str, list[int]] = field(default_factory=dict)
    """File name -> items that read a file of that name, oldest first."""
    step: int = 0
    """Model calls so far: assistant turns seen."""
    next_id: int = 1
    next_own: int = -1
    """Recalls that Foldaway puts in count downwards from -1, so that they shift no other item's id."""
    edits: dict[str, list[int]] = field(default_factory=dict)
    """File name -> items that edited a file of that name, oldest first."""
    settled: int = 0
    """Turns before this index will not be parsed again."""
    obsolete: Obsolescence = field(init=False)
    standings: Standings = field(init=False)
    _goal: int | None = None

    def __post_init__(self) -> None:
        # They must not hold on to what holds them: a session that is let go of is to be freed at once, whole.
        me = weakref.proxy(self)
        self.obsolete = Obsolescence(lambda item: str(me.result_text(me.items[item])))
        self.standings = Standings(partial(Log._standing, me))

    def append(self, messages: Sequence[Message], origins: Sequence[str] = ()) -> None:
        """Take in new messages (already this log's own copies). O(size of what is new and of open turns)."""
        start = self._settled_sources
        given = list(origins or [""] * len(messages))
        # Parsed before anything changes: a message that cannot be read leaves the log as it was.
        parsed = self.wire.parse(
            [*self.raws[start:], *messages],
            origins=[ENVIRONMENT if o else "" for o in (*self.origins[start:], *given)],
            quirks=self.quirks,
            start=start,
        )
        self.raws.extend(messages)
        self.origins.extend(given)
        self._drop_provisional()
        self.repairs = [r for r in self.repairs if r.position < start] + list(parsed.repairs)
        for turn in parsed.turns:
            self._add(turn)
        waiting = [min(t.sources) for t in parsed.turns if t.open and t.sources]
        # A turn that a late result overtook is parsed again together with the open one.
        first = min(waiting, default=len(self.raws))
        fresh = next((n for n, t in enumerate(parsed.turns) if max(t.sources, default=0) >= first), len(parsed.turns))
        self._settle(len(self.turns) - len(parsed.turns) + fresh)
        self._settled_sources = first

    _settled_sources: int = 0

    @property
    def open(self) -> bool:
        """The last turns wait for results of calls."""
        return self.settled < len(self.turns)

    def item_at(self, item: int) -> Item | None:
        return self.items.get(item)

    def text_of(self, item: Item) -> str:
        """All the model could read of an item, its parts in order."""
        turn = self.turns[item.turn]
        return "\n".join(turn.parts[p].text for p in item.parts if turn.parts[p].text)

    def result_text(self, item: Item) -> str:
        """What came back: the result's text of a span, the block of an attachment as JSON, else the whole text."""
        if item.kind is Kind.ATTACHMENT:
            return json.dumps(self.block(item), ensure_ascii=False)
        parts = [self.turns[item.turn].parts[p] for p in item.parts]
        results = [p.text for p in parts if p.type is PartType.RESULT]
        return "\n".join(results) if results else self.text_of(item)

    def block(self, item: Item) -> Any:
        """The content block that an attachment is made of."""
        turn = self.turns[item.turn]
        return _block(turn, turn.parts[item.parts[0]])

    def media(self, item: Item) -> list[Mapping[str, Any]]:
        """Blocks of pictures, documents and sound that an item holds, inside its results too, in order."""
        turn = self.turns[item.turn]
        return [block for number in item.parts for block in _media(turn, turn.parts[number])]

    def action_text(self, item: Item) -> str:
        """What the agent wrote: the call's arguments of a span, "" for items that are no action."""
        turn = self.turns[item.turn]
        return "\n".join(turn.parts[p].text for p in item.parts if turn.parts[p].type is PartType.CALL)

    def edits_of(self, target: str) -> list[int]:
        """Items that edited this file, oldest first."""
        ids = self.edits.get(target.rsplit("/", 1)[-1], ())
        return [i for i in ids if any(same_file(t, target) for t in self.items[i].targets)]

    def items_of_turn(self, turn: int) -> tuple[Item, ...]:
        return tuple(self.items[i] for i in self.turn_items[turn])

    def turns_from_source(self, position: int) -> list[int]:
        """Turns made from the client's message at this position, newest search first. O(distance from the end)."""
        found = []
        for index in range(len(self.turns) - 1, -1, -1):
            sources = self.turns[index].sources
            if position in sources:
                found.append(index)
            elif sources and max(sources) < position and found:
                break
        return found[::-1]

    # -- inside

    def _drop_provisional(self) -> None:
        for turn in range(len(self.turns) - 1, self.settled - 1, -1):
            for item in self.turn_items[turn]:
                del self.items[item]
                if item < 0:
                    self.next_own = max(self.next_own, item)
                else:
                    self.next_id = min(self.next_id, item)
            if self._steps(self.turns[turn]):
                self.step -= 1
            del self.turns[turn], self.turn_tokens[turn], self.turn_items[turn], self.turn_step[turn]

    def _add(self, turn: Turn) -> None:
        index = len(self.turns)
        drafts = itemise(turn, previous=self.turns[-1] if self.turns else None, kinds=self.kinds)
        ids = []
        self.turns.append(turn)
        self.turn_tokens.append(sum(self.counter.message(m) for m in turn.messages))
        self.turn_step.append(self.step)
        for draft in drafts:
            item = self._item(index, turn, draft)
            self.items[item.id] = item
            ids.append(item.id)
            if item.id < 0:
                self.next_own -= 1
            else:
                self.next_id += 1
        self.turn_items.append(tuple(ids))
        if self._steps(turn):
            self.step += 1

    def newest_turn(self) -> int:
        """The newest turn of the agent's own; 0 before it made any. O(turns since)."""
        own = (t for t in range(len(self.turns) - 1, -1, -1) if self._steps(self.turns[t]))
        return next(own, 0)

    def own(self, turn: int) -> bool:
        """Whether Foldaway put this turn in itself."""
        return self._own(self.turns[turn])

    def _own(self, turn: Turn) -> bool:
        return bool(turn.sources) and self.origins[turn.sources[0]] == OWN

    def _steps(self, turn: Turn) -> bool:
        """Whether a turn is a step of the agent: an assistant message that is not a recall put in by us."""
        return turn.kind in (TurnKind.ASSISTANT, TurnKind.EXCHANGE) and not self._own(turn)

    def _item(self, index: int, turn: Turn, draft: Draft) -> Item:
        tokens = sum(self._cost(turn, turn.parts[p]) for p in draft.parts)
        kind, pinned = draft.kind, draft.pinned
        if self._own(turn):
            kind, pinned = Kind.RECALLED, False
        if kind is Kind.USER and (self._goal is None or self._goal >= self.next_id):
            # The task itself, however long: the prologue is never evicted.
            kind, self._goal = Kind.GOAL, self.next_id
        elif kind is Kind.USER and tokens > self.paste_tokens:
            kind, pinned = Kind.PASTE, False
        return Item(
            id=self.next_own if self._own(turn) else self.next_id, turn=index, parts=draft.parts, kind=kind,
            tokens=tokens, created_step=self.step,
            title=draft.title, name=draft.name, pinned=pinned, persisted=draft.persisted, targets=draft.targets,
        )  # fmt: skip

    def _cost(self, turn: Turn, part: Part) -> int:
        """What a part's text costs, and what it holds besides at the provider's price."""
        media = _media(turn, part)
        held = sum(self.media_tokens(block) for block in media)
        # The price of a text document is that of its text.
        return held if part.type in _MEDIA and media else held + self.counter.counter.count(part.text)

    def media_tokens(self, block: Mapping[str, Any]) -> int:
        """What one block of a picture, a document or sound costs."""
        alone = {"role": "user", "content": [block]}
        return max(1, self.counter.message(alone) - self.counter.message({"role": "user", "content": []}))

    def _settle(self, upto: int) -> None:
        for index in range(self.settled, upto):
            for item in self.items_of_turn(index):
                self._index(item)
                self._weigh(item)
            self._follow_work(index)
        self.settled = upto

    def _attached_before(self, turn: int) -> list[int]:
        """Pictures, documents and sound of the user's message that a turn answers."""
        if not turn or self.turns[turn - 1].kind is not TurnKind.USER:
            return []
        return [i for i in self.turn_items[turn - 1] if self.items[i].kind is Kind.ATTACHMENT]

    def _follow_work(self, index: int) -> None:
        """What the agent is after: the turn's episode, then the sub-goals it works on, then the phase."""
        turn, items, step = self.turns[index], self.items_of_turn(index), self.turn_step[index]
        working = self.episodes.current()
        self.episodes.observe(index, turn, items, step)
        if self._own(turn):
            return
        episode = self.episodes.episode_of(index)
        self.subgoals.observe(index, turn, items, step, episode, self.anchors)
        ended = any(event.happening is Happening.FINISHED for event in self.subgoals.since(index))
        if ended or (working is not None and not working.open):
            self.standings.changed(self.verification.close(index, self.graph, self.anchors, self._newer))
        self.phases.observe(index, turn, items, step, self.kinds, episode, self.subgoals.since(index))
        self.standings.changed(i for t in self.subgoals.changed_turns for i in self.turn_items[t])
        self.standings.changed(self.subgoals.changed_items)

    def _newer(self, item: int) -> int:
        """The next newer item that holds all of this one; 0 when none does."""
        proof = self.obsolete.of.get(item)
        return 0 if proof is None else proof.by

    def link(self, link: Link) -> None:
        """Take in what somebody says about a dependency; never changes what was seen."""
        self.graph.add(link)
        self.standings.changed((link.target,))

    def _weigh(self, item: Item) -> None:
        """What a settled item changes about the worth of older ones, and of itself."""
        self.standings.changed(link.target for link in self.graph.needs(item.id))
        if item.kind is not Kind.RECALLED:
            done = self.obsolete.observe(item, self._action_of(item), self.result_text(item))
            self.standings.changed((item.id, *done))

    def _action_of(self, item: Item) -> str:
        """What the agent did, as it may do it again: the command of a shell, else all it wrote."""
        turn = self.turns[item.turn]
        if turn.kind is TurnKind.OBSERVATION:
            said = self.turns[item.turn - 1] if item.turn else None
            return action_text("\n".join(p.text for p in said.parts if p.role == "assistant")) if said else ""
        call = next((turn.parts[p] for p in item.parts if turn.parts[p].type is PartType.CALL), None)
        if call is None:
            return ""
        shell = self.kinds.of_call(call.name, {}, "") is Kind.COMMAND
        return command_of(call.arguments, call.text) if shell else call.text

    def _standing(self, item: Item) -> Standing:
        states = {goal.state for goal in self.subgoals.of_item(item)}
        relation = Relation.NONE if not states else Relation.FINISHED
        if states & WORKING:
            relation = Relation.ACTIVE
        elif State.OPEN in states:
            relation = Relation.OPEN
        user = self.items.get(self.graph.last_user(item.id))
        return Standing(
            kind=item.kind, made_step=item.created_step, relation=relation, uses=self.graph.degree(item.id),
            used_step=-1 if user is None else user.created_step,
            unresolved=item.id in self.obsolete.unresolved, obsolete=item.id in self.obsolete.of,
        )  # fmt: skip

    def _note_result(self, item: Item) -> None:
        if item.tokens < SAME_TOKENS or item.pinned:
            return
        # Not the text itself: the log holds that once already.
        same = hashlib.blake2b(self.result_text(item).encode("utf-8", "surrogatepass"), digest_size=16)
        for block in self.media(item):
            same.update(json.dumps(block, sort_keys=True).encode("ascii"))
        mark = same.hexdigest()
        if mark in self.results:
            self.newer[self.results[mark]] = item.id
        self.results[mark] = item.id

    def superseded_by(self, item: int) -> int:
        """The newest item that says what this one says; 0 when this is the newest."""
        passed: list[int] = []
        while item in self.newer:
            passed.append(item)
            item = self.newer[item]
        # A call made a thousand times shall not be walked a thousand times.
        self.newer.update(dict.fromkeys(passed, item))
        if item in self.merged:
            return self.superseded_by(self.merged[item]) or self.merged[item]
        return item if passed else 0

    def merge(self, older: int, newer: int) -> None:
        """From now on the newer item says the same as the older one; nothing else changes."""
        self.merged[older] = max(newer, self.merged.get(older, 0))
        self.standings.changed((older,))

    def _anchors_in(self, text: str) -> Mapping[str, AnchorKind]:
        try:
            return self.find_anchors(text)
        except Exception as error:  # finders are other people's code
            self.failures.append(f"anchor finder failed ({type(error).__name__}: {error})")
            return {}

    def _index(self, item: Item) -> None:
        turn = self.turns[item.turn]
        if item.kind is Kind.RECALLED:
            for copied in copied_ids(self.text_of(item)):
                self.copies.setdefault(copied, []).append(item.id)
            return
        if item.name:
            signature = item.name, self.action_text(item)
            if signature in self.calls:
                self.repeats[item.id] = self.calls[signature]
                self.newer[self.calls[signature]] = item.id
            self.calls[signature] = item.id
        self._note_result(item)
        if item.kind is Kind.EDIT:
            for target in item.targets:
                self.edits.setdefault(target.rsplit("/", 1)[-1], []).append(item.id)
        if item.kind is Kind.READ:
            for target in item.targets:
                self.reads.setdefault(target.rsplit("/", 1)[-1], []).append(item.id)
        for block in self.media(item):
            # Who names the file of a picture, or what its caption says, depends on the picture.
            if found := self._anchors_in(described(block).words()):
                self.anchors.observe(item.id, item.created_step, found)
        if any(turn.parts[p].role == "assistant" for p in item.parts):
            link_answer(self.graph, item.id, self._attached_before(item.turn))
        for number in item.parts:
            part = turn.parts[number]
            if not part.text or part.type is PartType.REASONING or part.stand_in:
                continue
            found = self._anchors_in(_readable(part))
            if not found:
                continue
            if part.role == "assistant":
                link_reuse(self.graph, self.anchors, item.id, found)
                self.anchors.use(item.id, item.created_step, found)
                self.verification.use(item.id, found)
            elif part.type is PartType.RESULT or turn.kind is TurnKind.OBSERVATION:
                self.anchors.observe(item.id, item.created_step, found)
            else:
                self.anchors.say(item.id, item.created_step, found)


def _block(turn: Turn, part: Part) -> Any:
    content = turn.messages[part.message].get("content")
    return content[part.block] if isinstance(content, list) and 0 <= part.block < len(content) else content


def _media(turn: Turn, part: Part) -> list[Mapping[str, Any]]:
    if part.type in _MEDIA:
        return media_in(_block(turn, part))
    if part.type is not PartType.RESULT:
        return []
    held = _block(turn, part) if part.block >= 0 else turn.messages[part.message]
    # A result without a block of its own is the message: a tool's, or an item of the Responses format.
    found = media_in(held.get("content") or held.get("output")) if isinstance(held, Mapping) else []
    # The text of a document that came as text is part of the result's own.
    return [block for block in found if not is_plain(block)]


def _readable(part: Part) -> str:
    """A part as the agent meant it: arguments as their values, not as escaped JSON."""
    if part.type is not PartType.CALL or not isinstance(part.arguments, dict):
        return part.text
    return "\n".join(v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in part.arguments.values())
