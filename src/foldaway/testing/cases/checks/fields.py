"""What providers want back as it came: fields of their own, thinking, reasoning items, cache marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldaway.testing.cases.checks._base import Look, check
from foldaway.testing.cases.checks.messages import find_message
from foldaway.testing.cases.reading import Message, blocks, canonical, role_of, spoken

Args = Mapping[str, Any]
_ABSENT = object()
_THINKING = ("thinking", "redacted_thinking")


@check("fields_kept", on="fit", needs="label fields", takes="nth")
def fields_kept(look: Look, args: Args) -> str | None:
    wanted = look.labelled(args["label"], args.get("nth")).message
    sent = find_message(look.fit, wanted)
    if sent is None:
        return f"{args['label']} is not kept"
    for path in args["fields"]:
        came, goes = _at(wanted, path), _at(sent, path)
        if (came is _ABSENT) != (goes is _ABSENT):
            return f"{args['label']}: {path} {'was not there' if came is _ABSENT else 'is gone'}"
        if came is not _ABSENT and canonical(came) != canonical(goes):
            return f"{args['label']}: {path} was {came!r} and is {goes!r}"
    return None


def _at(node: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(node, list) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        elif isinstance(node, dict) and step in node:
            node = node[step]
        else:
            return _ABSENT
    return node


@check("thinking_unaltered", on="fit", takes="open_loop_kept")
def thinking_unaltered(look: Look, args: Args) -> str | None:
    came = [canonical(block) for block in _thinking(look.fit.history)]
    at = 0
    for block in _thinking(look.fit.sent.messages):
        key = canonical(block)
        if key not in came:
            return f"a thinking block did not come in like this: {key[:120]}"
        if key not in came[at:]:
            return "thinking blocks are not in the order in which they came"
        at = came.index(key, at) + 1
    return _open_loop(look) if args.get("open_loop_kept") else None


def _thinking(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        yield from (block for block in blocks(message) if block.get("type") in _THINKING)


def _open_loop(look: Look) -> str | None:
    history = look.fit.history
    questions = [at for at, message in enumerate(history) if role_of(message) == "user" and spoken(message).strip()]
    start = questions[-1] if questions else 0
    sent = {canonical(_unmarked(message)) for message in look.fit.sent.messages}
    for message in history[start:]:
        if role_of(message) == "assistant" and canonical(_unmarked(message)) not in sent:
            return "an assistant message of the open loop is not whole"
    return None


def _unmarked(node: Any) -> Any:
    """Without cache marks, which a system may set or move."""
    if isinstance(node, dict):
        return {key: _unmarked(value) for key, value in node.items() if key != "cache_control"}
    return [_unmarked(each) for each in node] if isinstance(node, list) else node


def _item_key(item: Message) -> str:
    kind = item.get("type", "message")
    for name in ("id", "call_id"):
        if isinstance(value := item.get(name), str):
            return f"{kind} {name} {value}"
    return canonical(item)


@check("reasoning_followed", on="fit", takes="both_ways")
def reasoning_followed(look: Look, args: Args) -> str | None:
    came, sent = list(look.fit.history), look.fit.sent.messages
    follower = {
        _item_key(item): _item_key(came[at + 1]) if at + 1 < len(came) else ""
        for at, item in enumerate(came)
        if item.get("type") == "reasoning"
    }
    leader = {behind: item for item, behind in follower.items() if behind}
    whole = {canonical(item) for item in came if item.get("type") == "reasoning"}
    for at, item in enumerate(sent):
        key = _item_key(item)
        if item.get("type") == "reasoning":
            if canonical(item) not in whole:
                return f"{key} is not as it came"
            behind = _item_key(sent[at + 1]) if at + 1 < len(sent) else "nothing"
            if behind != follower.get(key):
                return f"{key} stands in front of {behind}, not of {follower.get(key)}"
        if args.get("both_ways") and key in leader and (at == 0 or _item_key(sent[at - 1]) != leader[key]):
            return f"{key} is sent without {leader[key]} in front"
    return None


@check("cache_markers", on="fit", needs="max", takes="keep")
def cache_markers(look: Look, args: Args) -> str | None:
    sent, fit = look.fit.sent, look.fit
    marks = [*_marks(sent.system), *_marks(sent.tools), *_marks(sent.messages)]
    if len(marks) > args["max"]:
        return f"{len(marks)} cache marks, {args['max']} are allowed"
    for part, came, goes in (("system", fit.system, sent.system), ("tools", fit.tools, sent.tools)):
        if part in args.get("keep", ()) and (lost := _lost(list(_marks(came)), list(_marks(goes)))):
            return f"a cache mark on {part} is gone: {lost[:120]}"
    for block in marks:
        blank = block.get("type") == "text" and not str(block.get("text") or "").strip()
        if block.get("type") in _THINKING or blank:
            return f"a cache mark sits on a {'blank' if blank else 'thinking'} block"
    return None


def _lost(came: Sequence[Message], goes: Sequence[Message]) -> str | None:
    there = {canonical(block) for block in goes}
    return next((key for block in came if (key := canonical(block)) not in there), None)


def _marks(node: Any) -> Iterator[Message]:
    if isinstance(node, dict):
        if node.get("cache_control") is not None:
            yield node
        for value in node.values():
            yield from _marks(value)
    elif isinstance(node, list):
        for each in node:
            yield from _marks(each)
