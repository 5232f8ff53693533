"""Which messages and texts are in what is sent, and in which shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from foldaway.testing.cases.checks._base import Look, check
from foldaway.testing.cases.outcome import Fit
from foldaway.testing.cases.reading import (
    Message,
    blocks,
    calls_of,
    canonical,
    leaves,
    results_of,
    role_of,
    spoken,
    texts_by_role,
)

Args = Mapping[str, Any]
_INSTRUCTIONS = ("system", "developer")


def _talk(fit: Fit) -> list[Message]:
    return [message for message in fit.sent.messages if role_of(message) not in _INSTRUCTIONS]


@check("first_role", on="fit", needs="role")
def first_role(look: Look, args: Args) -> str | None:
    talk = _talk(look.fit)
    role = role_of(talk[0]) if talk else "nobody"
    return None if role == args["role"] else f"the first message is from {role}"


@check("last_role", on="fit", needs="role")
def last_role(look: Look, args: Args) -> str | None:
    talk = _talk(look.fit)
    role = role_of(talk[-1]) if talk else "nobody"
    return None if role == args["role"] else f"the last message is from {role}"


@check("roles_alternate", on="fit")
def roles_alternate(look: Look, args: Args) -> str | None:
    wanted = "user"
    for index, message in enumerate(_talk(look.fit)):
        role = role_of(message)
        if role not in ("user", "assistant") or calls_of(message):
            continue
        if role != wanted:
            return f"message {index} (system aside) is from {role}, {wanted} is due"
        wanted = "assistant" if role == "user" else "user"
    return None


@check("has_user_message", on="fit")
def has_user_message(look: Look, args: Args) -> str | None:
    found = any(role_of(message) == "user" and spoken(message).strip() for message in look.fit.sent.messages)
    return None if found else "no user message with text"


@check("no_empty_content", on="fit")
def no_empty_content(look: Look, args: Args) -> str | None:
    for index, message in enumerate(look.fit.sent.messages):
        for block in blocks(message):
            if block.get("type") in ("text", "input_text", "output_text") and not str(block.get("text") or "").strip():
                return f"message {index} has a blank text block"
        if "role" not in message or role_of(message) == "tool" or calls_of(message):
            continue
        content = message.get("content")
        empty = not content or (isinstance(content, str) and not content.strip())
        if empty and not message.get("refusal") and not message.get("audio"):
            return f"message {index} ({role_of(message)}) has no content"
    return None


@check("system_identical", on="fit")
def system_identical(look: Look, args: Args) -> str | None:
    fit = look.fit
    if canonical(fit.sent.system) != canonical(fit.system):
        return "the system text differs"
    given = [canonical(message) for message in fit.fixed]
    sent = [canonical(m) for m in fit.sent.messages if role_of(m) in _INSTRUCTIONS]
    if given != sent:
        return f"{len(given)} system and developer messages were given, {len(sent)} are sent, and they differ"
    front = [canonical(m) for m in fit.sent.messages[: _leading(fit.history)]]
    return None if front == given[: len(front)] else "the system messages are not in front"


def _leading(messages: tuple[Message, ...]) -> int:
    return next((at for at, m in enumerate(messages) if role_of(m) not in _INSTRUCTIONS), len(messages))


@check("tools_identical", on="fit")
def tools_identical(look: Look, args: Args) -> str | None:
    given, sent = look.fit.tools or [], look.fit.sent.tools or []
    same = canonical(given) == canonical(sent[: len(given)])
    return None if same else "the caller's tools are not the first ones, as they came"


def find_message(fit: Fit, message: Message) -> Message | None:
    """The sent message that is this one: the same JSON, the same calls or results, or the same role with its text."""
    key, sent = canonical(message), fit.sent.messages
    if (same := next((m for m in sent if canonical(m) == key), None)) is not None:
        return same
    if ids := [call.id for call in calls_of(message)]:
        return next((m for m in sent if [call.id for call in calls_of(m)] == ids), None)
    if ids := [result.id for result in results_of(message)]:
        return next((m for m in sent if [result.id for result in results_of(m)] == ids), None)
    return next((m for m in sent if _holds_text(m, message)), None)


def _holds_text(message: Message, wanted: Message) -> bool:
    role = role_of(wanted)
    pieces = [text for text_role, text in texts_by_role(wanted) if text_role == role] or [spoken(wanted)]
    if role_of(message) != role or not any(piece.strip() for piece in pieces):
        return False
    held = [text for text_role, text in texts_by_role(message) if text_role == role]
    return all(any(piece in text for text in held) for piece in pieces)


@check("message_kept", on="fit", needs="label how", takes="nth")
def message_kept(look: Look, args: Args) -> str | None:
    wanted = look.labelled(args["label"], args.get("nth")).message
    if args["how"] == "identical":
        key = canonical(wanted)
        kept = any(canonical(message) == key for message in look.fit.sent.messages)
    elif args["how"] == "text":
        kept = any(_holds_words(message, wanted) for message in look.fit.sent.messages)
    else:
        return f"unknown value of how: {args['how']!r}"
    return None if kept else f"{args['label']} is not kept ({args['how']})"


def _holds_words(message: Message, wanted: Message) -> bool:
    """Whether a message of the same role holds all the text that the wanted one says."""
    words = wanted_words(wanted)
    if role_of(message) != role_of(wanted):
        return False
    held = [text for _, text in texts_by_role(message)]
    return all(any(word in text for text in held) for word in words)


def wanted_words(message: Message) -> list[str]:
    found = [text for text in (spoken(message), *(result.text for result in results_of(message))) if text]
    if blocks(message) and not results_of(message):
        found = [str(b["text"]) for b in blocks(message) if isinstance(b.get("text"), str) and b["text"]]
    return found


@check("order_kept", on="fit", needs="labels")
def order_kept(look: Look, args: Args) -> str | None:
    last = (-1, -1)
    for label in args["labels"]:
        wanted = look.labelled(label).message
        word = next(iter(wanted_words(wanted)), "")
        places = [
            (index, text.find(word))
            for index, message in enumerate(look.fit.sent.messages)
            if role_of(message) == role_of(wanted)
            for _, text in texts_by_role(message)
            if word in text
        ]
        here = next((place for place in places if place > last), None)
        if here is None:
            return f"{label} is not there" if not places else f"{label} stands too early"
        last = here
    return None


def _texts(fit: Fit, role: str | None) -> Iterator[str]:
    if role is None:
        yield from leaves([fit.sent.system, fit.sent.tools, fit.sent.messages])
        return
    if role == "system":
        yield from leaves(fit.sent.system)
    for message in fit.sent.messages:
        yield from (text for text_role, text in texts_by_role(message) if text_role == role)


def _count(look: Look, args: Args) -> int:
    return sum(text.count(args["text"]) for text in _texts(look.fit, args.get("role")))


def _where(args: Args) -> str:
    return f" in role {args['role']}" if "role" in args else ""


@check("text_present", on="fit", needs="text", takes="role")
def text_present(look: Look, args: Args) -> str | None:
    return None if _count(look, args) else f"{args['text']!r} is not there{_where(args)}"


@check("text_absent", on="fit", needs="text", takes="role")
def text_absent(look: Look, args: Args) -> str | None:
    return f"{args['text']!r} is there{_where(args)}" if _count(look, args) else None


@check("text_once", on="fit", needs="text", takes="role")
def text_once(look: Look, args: Args) -> str | None:
    times = _count(look, args)
    return None if times == 1 else f"{args['text']!r} is there {times} times{_where(args)}"


@check("text_count_at_most", on="fit", needs="text most", takes="role")
def text_count_at_most(look: Look, args: Args) -> str | None:
    times = _count(look, args)
    return None if times <= args["most"] else f"{args['text']!r} is there {times} times{_where(args)}"


@check("unchanged", on="fit")
def unchanged(look: Look, args: Args) -> str | None:
    fit = look.fit
    if canonical(list(fit.history)) != canonical(fit.sent.messages):
        at = next(
            (
                i
                for i, (a, b) in enumerate(zip(fit.history, fit.sent.messages, strict=False))
                if canonical(a) != canonical(b)
            ),
            min(len(fit.history), len(fit.sent.messages)),
        )
        return f"message {at} is not what came in ({len(fit.history)} came in, {len(fit.sent.messages)} go out)"
    return system_identical(look, args) or tools_identical(look, args)


@check("valid_utf8", on="fit")
def valid_utf8(look: Look, args: Args) -> str | None:
    bad = next((text for text in leaves(look.fit.request()) if re.search("[\ud800-\udfff]", text)), None)
    return None if bad is None else f"half a surrogate pair is sent: {bad[:80]!r}"
