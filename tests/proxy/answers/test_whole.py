"""Answers in one piece: what they ask for, and several rounds joined to one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foldaway.proxy.answers import BY_FORMAT, Listening
from foldaway.testing.replies import Call, Reply, reply_body

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses")
TOOL = Listening(tool="recall")
DIRECTIVES = Listening(directives=True)
RECALL = Call(name="recall", arguments={"ids": ["#4", "#5"], "find": "port"})
READ = Call(name="read", arguments={"path": "a.py"})
WRITTEN = {
    "openai_chat": "completion_tokens", "anthropic_messages": "output_tokens", "openai_responses": "output_tokens",
}  # fmt: skip
pytestmark = pytest.mark.parametrize("format", FORMATS)


def text_of(format: str, answer: dict[str, Any]) -> str:
    if format == "openai_chat":
        return answer["choices"][0]["message"]["content"] or ""
    if format == "anthropic_messages":
        return "".join(b.get("text", "") for b in answer["content"])
    return "".join(p["text"] for item in answer["output"] for p in item.get("content", ()))


def test_an_answer_that_asks_for_nothing_stays_as_it_is(format: str) -> None:
    for reply in (Reply(text="Done [1]."), Reply(text="x", thinking="hm", calls=(READ, READ))):
        for listening in (TOOL, DIRECTIVES):
            body = reply_body(format, reply)
            answers = BY_FORMAT[format]
            assert not answers.read(body, listening).recalls
            assert answers.joined([], body, listening) == body


def test_a_recall_alone_asks_for_a_round(format: str) -> None:
    found = BY_FORMAT[format].read(reply_body(format, Reply(text="Hm.", calls=(RECALL,))), TOOL)
    assert [(r.ids, r.find) for r in found.recalls] == [("#4, #5", "port")]
    assert not found.others
    assert found.usage is not None
    assert found.id.endswith("1")


def test_own_calls_beside_a_recall_go_on_alone(format: str) -> None:
    body = reply_body(format, Reply(text="Hm.", calls=(READ, RECALL, READ)))
    found = BY_FORMAT[format].read(body, TOOL)
    assert found.others
    joined = json.dumps(BY_FORMAT[format].joined([], body, TOOL))
    assert "recall" not in joined
    assert joined.count('"read"') == 2
    assert ('"tool_calls"' in joined) or ('"tool_use"' in joined) or ('"function_call"' in joined)


def test_rounds_become_one_answer_with_the_tokens_written_in_all(format: str) -> None:
    first = reply_body(format, Reply(text="Let me see. ", calls=(RECALL,), written_tokens=7, read_tokens=50))
    last = reply_body(format, Reply(text="Port 80.", written_tokens=5, read_tokens=90, id="2"))
    joined = BY_FORMAT[format].joined([first], last, TOOL)
    assert text_of(format, joined) == "Let me see. Port 80."
    assert "recall" not in json.dumps(joined)
    assert joined["usage"][WRITTEN[format]] == 12
    assert 90 in joined["usage"].values()


def test_a_directive_is_taken_out_of_text(format: str) -> None:
    body = reply_body(format, Reply(text="I need it. [RETRIEVE: #7]\nThen I go on."))
    found = BY_FORMAT[format].read(body, DIRECTIVES)
    assert [r.ids for r in found.recalls] == ["#7"]
    assert text_of(format, BY_FORMAT[format].joined([], body, DIRECTIVES)) == "I need it. \nThen I go on."


@pytest.mark.parametrize(
    "text",
    [
        "Write [RETRIEVE: #7] and it comes back.", "```\n[RETRIEVE: #7]\n```", "As `[RETRIEVE: #7]`",
        "> [RETRIEVE: #7]",
        'Such as "[RETRIEVE: #7]"', "~~~\n[RETRIEVE: #7]",
    ],
)  # fmt: skip
def test_a_directive_that_is_only_quoted_is_text(format: str, text: str) -> None:
    body = reply_body(format, Reply(text=text))
    assert BY_FORMAT[format].read(body, DIRECTIVES).recalls == ()
    assert text_of(format, BY_FORMAT[format].joined([], body, DIRECTIVES)) == text


def test_nothing_but_recalls_leaves_an_answer_that_says_so(format: str) -> None:
    cases = ((Reply(calls=(RECALL,)), TOOL), (Reply(text="[RETRIEVE: #7]"), DIRECTIVES))
    for reply, listening in cases:
        joined = BY_FORMAT[format].joined([], reply_body(format, reply), listening)
        assert "could not be brought back" in text_of(format, joined)
        assert "tool_use" not in json.dumps(joined)
        if format == "openai_chat":
            assert joined["choices"][0]["finish_reason"] == "stop"
            assert "tool_calls" not in joined["choices"][0]["message"]


def test_answers_of_other_shapes_are_read_as_holding_nothing(format: str) -> None:
    for body in (
        {}, {"choices": None}, {"choices": [None, {"message": None}, {"message": {"tool_calls": [None, 3]}}]},
        {"content": [None, {"type": "tool_use"}]}, {"output": [None, {"type": "message", "content": 3}]},
        {"error": {"message": "busy"}}, {"usage": 3},
    ):  # fmt: skip
        assert not BY_FORMAT[format].read(body, TOOL).recalls
        assert not BY_FORMAT[format].read(body, DIRECTIVES).recalls


def test_errors_have_the_shape_of_the_protocol(format: str) -> None:
    told = BY_FORMAT[format].error(400, "too long", "context_length_exceeded")
    assert told["error"]["message"] == "too long"
    if format == "anthropic_messages":
        assert (told["type"], told["error"]["type"]) == ("error", "invalid_request_error")
    else:
        assert told["error"]["code"] == "context_length_exceeded"
