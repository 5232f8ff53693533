"""When messages were logged, and what a compaction left in the model's hands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from foldaway.model.recorded import Recorded
from foldaway.readers import chain
from foldaway.readers._build import Draft, seconds_of

FromLines = Callable[..., Recorded]
FromDocument = Callable[[Any], list[Recorded]]
NEW_YEAR = 1_767_225_600.0
"""2026-01-01T00:00:00Z"""


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000Z"


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01T01:00:00+01:00", NEW_YEAR),
        ("2026-01-01T00:00:00.250000", NEW_YEAR + 0.25),
        ("2026-01-01 00:00:00", NEW_YEAR),
        (NEW_YEAR, NEW_YEAR),
        (int(NEW_YEAR) * 1000, NEW_YEAR),
        (None, 0.0),
        ("yesterday", 0.0),
        (float("nan"), 0.0),
        (float("inf"), 0.0),
        (10**400, 0.0),
        (-5, 0.0),
        ({}, 0.0),
    ],
)
def test_a_stamp_is_read_as_seconds_and_what_is_no_time_as_none(stamp: Any, seconds: float) -> None:
    assert seconds_of(stamp) == seconds


def test_a_message_without_a_time_has_that_of_the_one_before_and_the_first_ones_that_of_the_first_known() -> None:
    draft = Draft()
    draft.add({"role": "system"})
    draft.at(NEW_YEAR)
    draft.add({"role": "user"})
    draft.at(None)
    draft.add({"role": "assistant"})
    draft.times[2] = 0.0
    assert draft.recorded("n", "f", "openai_chat").times == (NEW_YEAR,) * 3


def test_a_log_without_times_has_none() -> None:
    draft = Draft()
    draft.add({"role": "user"})
    assert draft.recorded("n", "f", "openai_chat").times == ()


def test_times_and_summaries_move_along_in_a_chain() -> None:
    def part(name: str, **extra: Any) -> Recorded:
        messages: list[dict[str, Any]] = [{"role": r, "content": name + r} for r in ("user", "assistant")]
        return Recorded(name=name, source_format="f", format="openai_chat", messages=messages, **extra)

    summary = [{"role": "user", "content": "so far"}]
    second = part("b", times=(5.0, 6.0), compactions=(1,), summaries={1: summary})
    day = chain([part("a"), second, part("c")], "day")
    assert day.times == (5.0, 5.0, 5.0, 6.0, 6.0, 6.0)
    assert day.summaries == {3: summary}


class TestClaudeCode:
    def test_each_message_has_the_time_of_its_first_line_and_the_summary_stands_for_all_before(
        self, from_lines: FromLines
    ) -> None:
        def line(number: int, kind: str, content: Any, **extra: Any) -> dict[str, Any]:
            message = {"role": kind, "content": content, "id": f"m{number // 10}"}
            return {"type": kind, "uuid": str(number), "timestamp": at(number), "message": message, **extra}

        text = [{"type": "text", "text": "a"}]
        call = [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]
        session = from_lines(
            line(1, "user", "go"),
            line(10, "assistant", text),
            line(11, "assistant", call),
            line(12, "user", [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]),
            {"type": "system", "subtype": "compact_boundary", "uuid": "c", "timestamp": at(13)},
            line(14, "user", "This session is being continued: a.", isCompactSummary=True),
            line(20, "assistant", [{"type": "text", "text": "b"}]),
        )
        assert [time - NEW_YEAR for time in session.times] == [1, 10, 12, 20]
        assert session.summaries == {3: [{"role": "user", "content": "This session is being continued: a."}]}

    def test_a_summary_behind_which_nothing_comes_is_left_out(self, from_lines: FromLines) -> None:
        message = {"role": "user", "content": "go"}
        session = from_lines(
            {"type": "user", "uuid": "1", "message": message},
            {"type": "user", "uuid": "2", "message": message, "isCompactSummary": True},
        )
        assert (session.compactions, session.summaries) == ((), {})


class TestCodex:
    def said(self, text: str, role: str = "user") -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    def item(self, second: int, payload: dict[str, Any]) -> dict[str, Any]:
        return {"type": "response_item", "timestamp": at(second), "payload": payload}

    def session(self, from_lines: FromLines, compacted: dict[str, Any]) -> Recorded:
        return from_lines(
            {"type": "session_meta", "timestamp": at(0), "payload": {"instructions": "You are Codex"}},
            self.item(1, self.said("rules", "developer")),
            self.item(2, self.said("go")),
            {"type": "compacted", "timestamp": at(3), "payload": compacted},
            self.item(4, self.said("rules", "developer")),
            self.item(5, {"type": "reasoning", "summary": []}),
        )

    def test_the_replacement_is_what_the_model_had_and_standing_messages_sent_again_belong_to_it(
        self, from_lines: FromLines
    ) -> None:
        history = [{**self.said("go"), "metadata": {"turn": 1}}, self.said("Summary: nothing yet")]
        session = self.session(from_lines, {"message": "Summary: nothing yet", "replacement_history": history})
        assert [time - NEW_YEAR for time in session.times] == [1, 2, 5]
        assert session.summaries == {
            2: [self.said("go"), self.said("Summary: nothing yet"), self.said("rules", "developer")]
        }

    def test_a_summary_that_the_provider_kept_to_itself_is_marked_whether_its_item_is_logged_or_not(
        self, from_lines: FromLines
    ) -> None:
        logged = {"type": "compaction", "encrypted_content": "gAAA"}
        history = [self.said("go"), self.said("rules", "developer")]
        for extra in ([logged], []):
            session = self.session(from_lines, {"message": "", "replacement_history": history + extra})
            assert [item["type"] for item in session.summaries[2]] == ["message", "message", "compaction"]

    def test_older_logs_have_only_the_text_of_the_summary(self, from_lines: FromLines) -> None:
        session = self.session(from_lines, {"message": "Nothing yet."})
        assert session.summaries[2][0] == self.said("Nothing yet.")


class TestPi:
    def session(self, from_lines: FromLines, compaction: dict[str, Any]) -> Recorded:
        def entry(number: int, role: str, content: Any, **extra: Any) -> dict[str, Any]:
            message = {"role": role, "content": content, **extra}
            return {"type": "message", "id": f"e{number}", "timestamp": at(number), "message": message}

        call = [{"type": "toolCall", "id": "c", "name": "read", "arguments": {}}]
        return from_lines(
            {"type": "session", "id": "s", "cwd": "/"},
            entry(1, "user", "one"),
            entry(2, "user", "two"),
            entry(3, "assistant", call),
            entry(4, "toolResult", "x", toolCallId="c"),
            {"type": "compaction", "timestamp": at(5), "summary": "One was said.", **compaction},
            entry(6, "assistant", "done"),
        )

    @pytest.mark.parametrize("compaction", [{"firstKeptEntryIndex": 2}, {"firstKeptEntryId": "e2"}])
    def test_the_summary_comes_first_and_the_kept_messages_follow(
        self, from_lines: FromLines, compaction: dict[str, Any]
    ) -> None:
        session = self.session(from_lines, compaction)
        summary, *kept = session.summaries[4]
        assert summary == {"role": "user", "content": [{"type": "text", "text": "One was said."}]}
        assert kept == session.messages[1:4]
        assert [time - NEW_YEAR for time in session.times] == [1, 2, 3, 4, 6]

    def test_where_no_first_message_can_be_told_only_the_summary_is_there(self, from_lines: FromLines) -> None:
        session = self.session(from_lines, {"firstKeptEntryId": "elsewhere"})
        assert len(session.summaries[4]) == 1


def test_openhands_summaries_stand_where_the_event_says_and_what_was_dropped_once_stays_away(
    from_lines: FromLines,
) -> None:
    def said(number: int, text: str) -> dict[str, Any]:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        where = {"kind": "MessageEvent", "id": f"e{number}", "source": "user", "timestamp": at(number)}
        return {**where, "llm_message": message}

    def condensed(number: int, summary: str, *dropped: str) -> dict[str, Any]:
        where = {"kind": "Condensation", "id": f"k{number}", "source": "environment", "timestamp": at(number)}
        return {**where, "forgotten_event_ids": list(dropped), "summary": summary, "summary_offset": 1}

    session = from_lines(
        *(said(n, f"m{n}") for n in range(4)),
        condensed(4, "first", "e1"),
        said(5, "m5"),
        condensed(6, "second", "e2", "k4"),
        said(7, "m7"),
    )
    assert [m["content"] for m in session.summaries[4]] == ["m0", "first", "m2", "m3"]
    assert [m["content"] for m in session.summaries[5]] == ["m0", "second", "m3", "m5"]
    assert session.times[-1] == NEW_YEAR + 7


def test_mini_swe_agent_and_tau2_tell_times_too(from_document: FromDocument) -> None:
    messages = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "ls", "extra": {"timestamp": NEW_YEAR + 1}},
        {"role": "user", "content": "a.py", "extra": {"timestamp": NEW_YEAR + 2}},
    ]
    (mini,) = from_document({"trajectory_format": "mini-swe-agent-1", "messages": messages, "info": {}})
    assert mini.times == (NEW_YEAR + 1, NEW_YEAR + 1, NEW_YEAR + 2)
    said = [{"role": "assistant", "content": "Hi", "timestamp": "2026-01-01T00:00:03"}]
    (tau,) = from_document({"info": {}, "simulations": [{"task_id": 1, "messages": said}]})
    assert tau.times == (NEW_YEAR + 3,)
