"""What recall, search and listing give, and what the store holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldaway.testing.cases.checks._base import Look, check, named_by
from foldaway.testing.cases.files import found_in_store, store_size
from foldaway.testing.cases.generators import substitute
from foldaway.testing.cases.outcome import Outcome
from foldaway.testing.cases.walk import text_of

Args = Mapping[str, Any]


def _texts(outcome: Outcome) -> list[str]:
    if outcome.recalled is not None:
        return [outcome.recalled.text, *outcome.recalled.parts] if outcome.recalled.found else []
    return [hit.text for hit in outcome.listed]


@check("recall_equals", on="answer", takes="of text nth")
def recall_equals(look: Look, args: Args) -> str | None:
    if "of" in args:
        wanted = text_of(look.labelled(args["of"], args.get("nth")).message)
    elif "text" in args:
        wanted = args["text"]
    else:
        return "recall_equals needs `of` or `text`"
    given = _texts(look.step)
    if wanted in given:
        return None
    got = given[0] if given else ""
    at = next((i for i, (a, b) in enumerate(zip(got, wanted, strict=False)) if a != b), min(len(got), len(wanted)))
    return (
        f"recalled {len(got)} characters, wanted {len(wanted)}, they differ at {at}: "
        f"{got[max(0, at - 10) : at + 40]!r} for {wanted[max(0, at - 10) : at + 40]!r}"
    )


@check("recall_contains", on="answer", needs="text")
def recall_contains(look: Look, args: Args) -> str | None:
    given = _texts(look.step)
    if any(args["text"] in text for text in given):
        return None
    return f"{args['text']!r} is not in what came back: {(given[0] if given else '')[:160]!r}"


@check("recall_misses", on="answer", needs="text")
def recall_misses(look: Look, args: Args) -> str | None:
    return f"{args['text']!r} came back" if any(args["text"] in text for text in _texts(look.step)) else None


@check("first_hit_contains", on="answer", needs="text")
def first_hit_contains(look: Look, args: Args) -> str | None:
    if not look.step.listed:
        return "no hit"
    first = look.step.listed[0].text
    return None if args["text"] in first else f"the first hit is {first[:160]!r}"


@check("marked_or_absent", on="answer", needs="text")
def marked_or_absent(look: Look, args: Args) -> str | None:
    newest = {note.key: note.text for note in look.run.told}
    current = set(newest.values())
    for hit in look.step.listed:
        # A note that nothing replaced may hold the same words and is no fault.
        if args["text"] in hit.text and hit.text not in current and not hit.replaced:
            return f"an older note is among the hits and not marked as replaced: {hit.text[:160]!r}"
    return None


@check("not_found", on="step")
def not_found(look: Look, args: Args) -> str | None:
    step = look.step
    if step.error is not None:
        return None if step.says_missing else f"{type(step.error).__name__}: {step.error}"
    if step.recalled is not None and step.recalled.found:
        return f"something was found: {step.recalled.text[:160]!r}"
    return f"something was found: {step.listed[0].text[:160]!r}" if step.listed else None


@check("entries", on="answer", needs="count")
def entries(look: Look, args: Args) -> str | None:
    count = len(look.step.listed)
    return None if count == args["count"] else f"{count} entries, wanted {args['count']}"


@check("same_listing", on="run", needs="a b")
def same_listing(look: Look, args: Args) -> str | None:
    lists = []
    for name in (args["a"], args["b"]):
        found = [outcome for outcome in look.run.outcomes if outcome.name == name]
        if not found or found[-1].error is not None:
            return f"there is no listing {name!r}"
        lists.append([(note.key, note.text, note.at) for note in found[-1].listed])
    if lists[0] == lists[1]:
        return None
    return f"the listings differ: {lists[0]} and {lists[1]}"


@check("isolated", on="run", needs="recalls text")
def isolated(look: Look, args: Args) -> str | None:
    chosen = [o for o in look.run.outcomes if o.kind == "recall" and named_by(args["recalls"], o.name)]
    if not chosen:
        return f"no recall is named {args['recalls']!r}"
    for outcome in chosen:
        text = args["text"]
        for name, value in outcome.bound.items():
            text = substitute(text, name, value)
        if outcome.error is not None:
            if not outcome.own_error or not _refused_before(look, outcome):
                return f"{outcome.name}: {type(outcome.error).__name__}: {outcome.error}"
        elif text not in _texts(outcome):
            return f"{outcome.name}: gave {_texts(outcome)[:1]}, not {text!r}"
    return None


def _refused_before(look: Look, outcome: Outcome) -> bool:
    """Whether the store refused to write under the same variables, with the same kind of error."""
    return any(
        other.kind == "remember" and other.bound == outcome.bound and type(other.error) is type(outcome.error)
        for other in look.run.outcomes
    )


@check("store_absent", on="run", needs="text")
def store_absent(look: Look, args: Args) -> str | None:
    if any(args["text"] in line for line in look.run.log_lines):
        return "it is in a log line"
    root = look.run.store_root
    return found_in_store(root, args["text"]) if root is not None else "there is no store"


@check("store_inside_root", on="run")
def store_inside_root(look: Look, args: Args) -> str | None:
    outside = look.run.outside
    return f"outside the store's folder: {', '.join(map(repr, outside[:5]))}" if outside else None


@check("store_growth", on="run", needs="most_times_input")
def store_growth(look: Look, args: Args) -> str | None:
    root = look.run.store_root
    if root is None or not look.run.input_bytes:
        return "nothing was stored"
    times = store_size(root) / look.run.input_bytes
    return None if times <= args["most_times_input"] else f"the store is {times:.1f} times as large as what was put in"
