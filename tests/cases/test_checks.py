"""The checks on hand-made views: each holds on a good one and fails on a bad one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from foldaway.testing import cases
from foldaway.testing.cases.checks import CHECKS, holds, validate
from foldaway.testing.cases.generators import CaseError
from foldaway.testing.cases.outcome import Fit, Labelled, Outcome, Run
from foldaway.testing.cases.system import Answer, Listed, Recalled, Sent

Message = dict[str, Any]

SYSTEM: Message = {"role": "system", "content": "Be brief."}
TASK: Message = {"role": "user", "content": "Find the depot.", "name": "desk"}
CALL: Message = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
}
RESULT: Message = {"role": "tool", "tool_call_id": "c1", "content": "row 1\nFATAL: no depot", "is_error": True}
DONE: Message = {"role": "assistant", "content": "Done."}
NEXT: Message = {"role": "user", "content": "And now?"}
HISTORY = [SYSTEM, TASK, CALL, RESULT, DONE, NEXT]


class Refused(Exception):
    pass


def fit(
    messages: list[Message],
    *,
    history: list[Message] | None = None,
    name: str = "one",
    tokens: int = 100,
    system: Any = None,
    tools: Any = None,
    came: Any = None,
    **more: Any,
) -> Outcome:
    came = came or {}
    history = HISTORY if history is None else history
    made = Fit(
        sent=Sent(messages=messages, system=system, tools=tools, tokens=tokens),
        history=tuple(history),
        fixed=tuple(m for m in history if m.get("role") in ("system", "developer")),
        system=came.get("system", system),
        tools=came.get("tools", tools),
        budget=came.get("budget", 1000),
        stand_ins=came.get("stand_ins", {}),
        handles=came.get("handles", {}),
    )
    return Outcome(name=name, kind="fit", fit=made, **more)


def run(*outcomes: Outcome, format: str = "openai_chat", **fields: Any) -> Run:
    labels = {"task": [Labelled(message=TASK, position=1)], "next": [Labelled(message=NEXT, position=5)]}
    labels["big"] = [Labelled(message=RESULT, position=3)]
    return Run(format=format, outcomes=list(outcomes), labels=labels, **fields)


def why(made: Run, check: str, **words: Any) -> str | None:
    return holds(made, {"check": check, **words})


def thinks(text: str, signature: str = "s") -> Message:
    return {"type": "thinking", "thinking": text, "signature": signature}


def assistant(*blocks: Message) -> Message:
    return {"role": "assistant", "content": list(blocks)}


MARK: Message = {"cache_control": {"type": "ephemeral"}}
STUB: Message = {
    "role": "user",
    "content": "[folded away; recall(12) brings it back] #12 read a.txt, 40 lines left out",
}
THOUGHT = [TASK, assistant(thinks("old"), {"type": "text", "text": "Hm."}), NEXT, assistant(thinks("new"))]
REASON: list[Message] = [
    {"type": "reasoning", "id": "r1", "summary": []},
    {"type": "function_call", "id": "f1", "call_id": "c", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "x"},
    {"type": "message", "role": "assistant", "id": "m1", "content": []},
]

BARE_LIST: Message = {**CALL, "tool_calls": [{"id": "c", "function": {"arguments": "[1]"}}]}
NAMELESS: Message = {"role": "user", "content": "Find the depot."}

GOOD_AND_BAD: list[tuple[str, dict[str, Any], Outcome, Outcome]] = [
    ("pairs_valid", {}, fit(HISTORY), fit([SYSTEM, RESULT])),
    ("results_once", {}, fit(HISTORY), fit([CALL, RESULT, RESULT])),
    ("parallel_group_whole", {"ids": ["c1"]}, fit(HISTORY), fit([CALL])),
    ("pair_text", {"id": "c1", "contains": "FATAL"}, fit(HISTORY), fit([CALL, {**RESULT, "content": "row 1"}])),
    ("block_kept", {"id": "c1", "fields": {"is_error": True}}, fit(HISTORY), fit([{**RESULT, "is_error": False}])),
    ("first_role", {"role": "user"}, fit(HISTORY), fit([SYSTEM, DONE, NEXT])),
    ("last_role", {"role": "user"}, fit(HISTORY), fit([TASK, DONE])),
    ("roles_alternate", {}, fit(HISTORY), fit([SYSTEM, TASK, NEXT])),
    ("has_user_message", {}, fit(HISTORY), fit([SYSTEM, DONE])),
    ("no_empty_content", {}, fit(HISTORY), fit([{"role": "user", "content": [{"type": "text", "text": " \n"}]}])),
    ("no_empty_content", {}, fit([CALL, {**RESULT, "content": ""}]), fit([{"role": "assistant", "content": []}])),
    ("system_identical", {}, fit(HISTORY), fit([{**SYSTEM, "content": "Be brief"}, *HISTORY[1:]])),
    ("system_identical", {}, fit(HISTORY), fit([TASK, SYSTEM, NEXT])),
    ("system_identical", {}, fit([], history=[], system="a"), fit([], history=[], system="a", came={"system": "b"})),
    ("tools_identical", {}, fit([], tools=[1, 2], came={"tools": [1]}), fit([], tools=[2], came={"tools": [1]})),
    ("message_kept", {"label": "task", "how": "identical"}, fit(HISTORY), fit([{**TASK, "name": "x"}])),
    ("message_kept", {"label": "task", "how": "text"}, fit([{**TASK, "content": "So: Find the depot."}]), fit([NEXT])),
    ("message_kept", {"label": "task", "how": "text"}, fit(HISTORY), fit([{**TASK, "role": "assistant"}])),
    ("order_kept", {"labels": ["task", "next"]}, fit(HISTORY), fit([NEXT, TASK])),
    ("text_present", {"text": "depot", "role": "user"}, fit(HISTORY), fit([CALL, RESULT])),
    ("text_present", {"text": "FATAL", "role": "tool"}, fit(HISTORY), fit([{"role": "user", "content": "FATAL"}])),
    ("text_absent", {"text": "secret"}, fit(HISTORY), fit([{"role": "user", "content": "a secret"}])),
    ("text_once", {"text": "And now?"}, fit(HISTORY), fit([NEXT, NEXT])),
    ("text_count_at_most", {"text": "now", "most": 1}, fit(HISTORY), fit([NEXT, NEXT])),
    ("call_input_equals", {"id": "c1", "value": {"a": 1}}, fit(HISTORY), fit([TASK])),
    ("args_json_valid", {"object": True}, fit(HISTORY), fit([BARE_LIST])),
    ("fields_kept", {"label": "task", "fields": ["name"]}, fit(HISTORY), fit([NAMELESS])),
    ("fields_kept", {"label": "task", "fields": ["refusal"]}, fit(HISTORY), fit([{**TASK, "refusal": None}])),
    ("thinking_unaltered", {"open_loop_kept": True}, fit(THOUGHT, history=THOUGHT), fit(THOUGHT[:3], history=THOUGHT)),
    ("thinking_unaltered", {}, fit(THOUGHT[2:], history=THOUGHT), fit([assistant(thinks("ne"))], history=THOUGHT)),
    ("reasoning_followed", {"both_ways": True}, fit(REASON, history=REASON), fit(REASON[1:], history=REASON)),
    ("reasoning_followed", {}, fit(REASON[:3], history=REASON), fit([REASON[0], REASON[3]], history=REASON)),
    ("cache_markers", {"max": 1, "keep": ["system"]}, fit([], system=[MARK]),
     fit([], system=[{}], came={"system": [MARK]})),
    ("cache_markers", {"max": 1}, fit([], system=[MARK]), fit([], system=[MARK], tools=[MARK])),
    ("unchanged", {}, fit(HISTORY), fit(HISTORY[1:])),
    ("fits_budget", {}, fit(HISTORY), fit(HISTORY, tokens=1001)),
    ("fits_budget", {"tokens": 200}, fit(HISTORY), fit([{"role": "user", "content": "x" * 1000}], history=[])),
    ("valid_utf8", {}, fit(HISTORY), fit([{"role": "user", "content": "\ud83d"}])),
    ("json_or_marked", {"id": "c1"}, fit([{**RESULT, "content": "[1, 380 more records left out"}]),
     fit([{**RESULT, "content": "[1, 2"}])),
    ("placeholders_ok", {}, fit([TASK, STUB], came={"stand_ins": {3: STUB["content"]}, "handles": {3: ("12",)}}),
     fit([TASK, {**STUB, "role": "assistant"}], came={"stand_ins": {3: STUB["content"]}})),
    ("placeholders_ok", {}, fit([TASK]),
     fit([TASK, {"role": "user", "content": "[12]"}], came={"stand_ins": {3: "[12]"}})),
    ("no_nested_placeholders", {}, fit([TASK, STUB], came={"stand_ins": {3: STUB["content"]}}),
     fit([TASK], came={"stand_ins": {3: STUB["content"], 4: f"[folded] {STUB['content']} [end]"}})),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words", "good", "bad"), GOOD_AND_BAD, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_check_on_a_view_tells_good_from_bad(name: str, words: dict[str, Any], good: Outcome, bad: Outcome) -> None:
    format = {"thinking_unaltered": "anthropic_messages", "reasoning_followed": "openai_responses"}.get(
        name, "openai_chat"
    )
    assert why(run(good, format=format), name, **words) is None
    assert why(run(bad, format=format), name, **words) is not None


def recall(text: str, **more: Any) -> Outcome:
    return Outcome(name="r", kind="recall", recalled=Recalled(text=text, **more))


def found(*texts: str, name: str = "s", at: str = "") -> Outcome:
    return Outcome(name=name, kind="search", listed=tuple(Listed(text=text, key=text, at=at) for text in texts))


def failed(error: Exception, *, own: bool = True, missing: bool = False, name: str = "s") -> Outcome:
    return Outcome(name=name, kind="recall", error=error, own_error=own, says_missing=missing)


def counted(tokens: int) -> Outcome:
    return Outcome(name="n", kind="count", count=tokens)


def answered(status: int, body: bytes = b"") -> Outcome:
    return Outcome(name="q", kind="request", answer=Answer(status=status, body=body))


ANSWERS: list[tuple[str, dict[str, Any], Outcome, Outcome]] = [
    ("recall_equals", {"of": "big"}, recall(RESULT["content"]), recall("row 1")),
    ("recall_equals", {"text": "b"}, recall("a\nb", parts=("a", "b")), recall("ab")),
    ("recall_contains", {"text": "b"}, recall("abc"), recall("abc", found=False)),
    ("recall_contains", {"text": "b"}, found("a", "b"), found("a")),
    ("recall_misses", {"text": "b"}, recall("ac"), found("a", "b")),
    ("first_hit_contains", {"text": "a"}, found("a", "b"), found("b", "a")),
    ("not_found", {}, recall("", found=False), recall("x")),
    ("not_found", {}, failed(Refused("no such id"), missing=True), failed(KeyError("x"), own=False)),
    ("entries", {"count": 2}, found("a", "b"), found("a")),
    ("count_between", {"min": 5, "max": 9}, counted(7), counted(4)),
    ("http_status", {"any_of": [400]}, answered(400), answered(500)),
    ("json_error_body", {}, answered(400, b'{"error": "x"}'), answered(400, b"<html>")),
    ("error", {"names": ["budget"]}, failed(Refused("the Budget is 5")), failed(Refused("no"))),
    ("error", {}, failed(Refused("no")), failed(ValueError("no"), own=False)),
    ("error_or_ok", {"names": ["window"], "at": "s"}, found("a"), failed(Refused("no"))),
    ("no_exception", {}, found("a"), failed(Refused("no"))),
    ("warned", {}, Outcome(name="o", kind="restart", warnings=("torn",), most_reports=1),
     Outcome(name="o", kind="restart", warnings=("torn", "torn"), most_reports=2)),
    ("warned_or_error", {}, Outcome(name="o", kind="fit", warnings=("small default",)), Outcome(name="o", kind="fit")),
    ("time_under", {"seconds": 2, "at": "o"}, Outcome(name="o", kind="fit", seconds=1.9),
     Outcome(name="o", kind="fit", seconds=2.1)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words", "good", "bad"), ANSWERS, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_check_on_a_step_tells_good_from_bad(name: str, words: dict[str, Any], good: Outcome, bad: Outcome) -> None:
    assert why(run(good), name, **words) is None
    assert why(run(bad), name, **words) is not None


def test_an_older_note_among_the_hits_must_be_marked_but_a_look_alike_need_not() -> None:
    told = [
        Listed(text="gate 4", key="north"),
        Listed(text="gate 9", key="north"),
        Listed(text="bonded: gate 4", key="b"),
    ]
    assert why(run(found("gate 9", "bonded: gate 4"), told=told), "marked_or_absent", text="gate 4") is None
    assert why(run(found("gate 9", "gate 4"), told=told), "marked_or_absent", text="gate 4") is not None
    marked = Outcome(name="s", kind="search", listed=(Listed(text="gate 4", replaced=True),))
    assert why(run(marked, told=told), "marked_or_absent", text="gate 4") is None


def test_two_listings_must_agree_in_texts_times_and_order() -> None:
    same = run(found("x", "y", name="a", at="T1"), found("x", "y", name="b", at="T1"))
    assert why(same, "same_listing", a="a", b="b") is None
    for other in (
        found("y", "x", name="b", at="T1"),
        found("x", "y", name="b", at="T2"),
        found("x", name="b", at="T1"),
    ):
        assert why(run(found("x", "y", name="a", at="T1"), other), "same_listing", a="a", b="b") is not None


def test_a_prefix_break_is_a_fit_that_does_not_extend_the_one_before() -> None:
    steps = [[SYSTEM, TASK], [SYSTEM, TASK, CALL], [SYSTEM, NEXT], [SYSTEM, NEXT]]
    made = run(*(fit(messages, name=f"t{number}") for number, messages in enumerate(steps)))
    assert why(made, "prefix_breaks_at_most", breaks=1, fits="t0..t3") is None
    assert why(made, "prefix_breaks_at_most", breaks=0, fits="t0..t3") is not None
    assert why(made, "same_bytes", a="t2", b="t3") is None
    assert why(made, "same_bytes", a="t1", b="t3") is not None
    assert why(made, "not_larger", a="t1", b="t0") is None
    assert why(made, "not_larger", a="t0", b="t1") is not None


def test_times_and_memory_are_compared_over_spans() -> None:
    fits = [Outcome(name=f"t{n}", kind="fit", since_fit_seconds=1 + n, memory_mb=10 * n) for n in range(4)]
    assert why(run(*fits), "time_ratio", of="t2..t3", to="t0..t1", most=3) is None
    assert why(run(*fits), "time_ratio", of="t2..t3", to="t0..t1", most=2) is not None
    assert why(run(*fits), "memory", growth_mb=31, between=["t0", "t3"]) is None
    assert why(run(*fits), "memory", growth_mb=30, between=["t0", "t3"]) is not None


def test_the_stand_in_of_a_message_must_be_the_same_at_each_fit() -> None:
    other = {**STUB, "content": STUB["content"].replace("40", "41")}
    before = fit([TASK, STUB], name="one", came={"stand_ins": {3: STUB["content"]}})
    same = fit([TASK, STUB], name="two", came={"stand_ins": {3: STUB["content"]}})
    changed = fit([TASK, other], name="two", came={"stand_ins": {3: other["content"]}})
    assert why(run(before, same), "placeholders_ok", at="two") is None
    assert why(run(before, changed), "placeholders_ok", at="two") is not None


def test_each_recall_gives_its_own_text_or_the_same_refusal_as_the_write() -> None:
    def kept(name: str, text: str) -> Outcome:
        return Outcome(name=f"r-{name}", kind="recall", recalled=Recalled(text=text), bound={"name": name})

    assert why(run(kept("a", "for a"), kept("..", "for ..")), "isolated", recalls="r-*", text="for {name}") is None
    assert why(run(kept("a", "for b")), "isolated", recalls="r-*", text="for {name}") is not None
    write = Outcome(name="w- ", kind="remember", error=Refused("session"), own_error=True, bound={"name": " "})
    read = Outcome(name="r- ", kind="recall", error=Refused("session"), own_error=True, bound={"name": " "})
    assert why(run(write, read), "isolated", recalls="r-*", text="for {name}") is None
    assert why(run(read), "isolated", recalls="r-*", text="for {name}") is not None


def test_calls_of_stubs_are_counted_and_sized() -> None:
    made = run(calls={"summariser": [10, 20]})
    assert why(made, "max_calls", what="summariser", most=2) is None
    assert why(made, "max_calls", what="summariser", most=1) is not None
    assert why(made, "each_call_fits", tokens=20) is None
    assert why(made, "each_call_fits", tokens=19) is not None


def test_changed_input_and_touched_files_are_reported() -> None:
    assert why(run(input_changes=["the messages"]), "input_untouched") is not None
    assert why(run(outside=["/elsewhere"]), "store_inside_root") is not None
    assert why(run(), "input_untouched") is why(run(), "store_inside_root") is None


@pytest.mark.parametrize("assertion", [
    {"check": "no_such_check"},
    {"check": "pairs_valid", "strictly": True},
    {"check": "first_role"},
    {"check": "pairs_valid", "level": "perhaps"},
])  # fmt: skip
def test_an_unknown_check_or_word_is_an_error(assertion: dict[str, Any]) -> None:
    with pytest.raises(CaseError):
        validate(assertion)


def test_a_check_without_anything_to_look_at_fails() -> None:
    assert why(run(fit(HISTORY)), "pairs_valid", at="two") is not None
    assert why(run(failed(Refused("no"))), "recall_contains", text="x") is not None


def test_a_name_that_ends_in_a_star_is_found_before_it_is_read_as_a_pattern() -> None:
    made = run(found("right", name="q-lift*"), found("wrong", name="q-lift-1"))
    assert why(made, "recall_misses", text="wrong", at="q-lift*") is None
    assert why(made, "recall_misses", text="wrong", at="q-*") is not None


def test_every_check_of_the_readme_is_there() -> None:
    readme = (Path(cases.__file__).parents[2] / "data" / "cases" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`.*?) \|", readme.split("## Checks")[1].split("## Sizes")[0], re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert names == set(CHECKS)
