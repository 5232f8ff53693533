"""When the memory is looked into, and when not."""

from __future__ import annotations

from importlib.resources import files

import pytest

from foldaway.linking.anchors import anchors
from foldaway.model.wire import PartType, TurnKind
from foldaway.readers import read_sessions
from foldaway.retrieval.events import Event, Said, Trigger, find_event
from foldaway.retrieval.exact import literals
from foldaway.wire import get_wire

SESSIONS = files("foldaway.data") / "sessions"


def event_of(text: str, *, role: str = "user", **more: str) -> Event | None:
    said = Said("assistant" if role == "assistant" else "user", text)
    return find_event([said], seen={"src/app.py"}, **more)


@pytest.mark.parametrize(
    "text",
    [
        "Deploy it like we did last time.",
        "As we discussed, use the blue theme.",
        "Do you remember the flags for the build?",
        "Format the report the way it was in the previous session.",
        "Let's pick up where we left off.",
        "We previously chose Postgres; use that.",
        "按上次的方式部署",
        "还记得那个配置吗",
        "我们之前说过用蓝色主题",
        "和以前一样处理",
    ],
)
def test_a_reference_to_history_is_an_event(text: str) -> None:
    found = event_of(text)
    assert found is not None
    assert found.kind is Trigger.HISTORY
    assert found.query


@pytest.mark.parametrize(
    "text", ["What is my preferred shell?", "Which editor do I usually use?", "Book my usual seat.", "我喜欢什么茶？"]
)
def test_a_preference_question_is_an_event(text: str) -> None:
    found = event_of(text)
    assert found is not None
    assert found.kind is Trigger.PREFERENCE


@pytest.mark.parametrize(
    "text",
    [
        "What is my handicap in golf?",
        "Where did I get my MBA from?",
        "Which club introduced me to sailing?",
        "Who did I bond with over a 3 a.m. coding session?",
        "Thanks! One more thing. What is my sister's name?",
        "我的狗叫什么名字？",
        "我什么时候加入公司的？",
    ],
)
def test_a_question_that_only_the_one_who_asks_could_answer_is_an_event(text: str) -> None:
    found = event_of(text)
    assert found is not None
    assert found.kind is Trigger.PERSONAL
    assert found.query == text.removeprefix("Thanks! One more thing. ")


@pytest.mark.parametrize(
    "text",
    [
        "How do I run the tests?",
        "What should I do now?",
        "Where do I put the file?",
        "What is wrong with my code?",
        "Can you tell me where the config is?",
        "How many tests do I have to run?",
        "What does this function return?",
        "我们应该怎么做？",
        "我该用哪个库？",
    ],
)
def test_a_question_for_advice_or_about_the_work_is_none(text: str) -> None:
    assert event_of(text) is None


def test_a_long_turn_without_a_sentence_is_read_in_a_moment() -> None:
    for text in ("where my " * 2_000, "a" * 50_000 + "?", "what i " * 2_000 + "?"):
        event_of(text)


def test_the_agent_asking_back_for_a_preference_is_one_too() -> None:
    found = event_of("I can do both. Would you prefer tabs or spaces?", role="assistant")
    assert found is not None
    assert found.kind is Trigger.PREFERENCE
    assert found.query == "Would you prefer tabs or spaces?"


def test_a_thing_that_the_session_never_saw_is_an_event() -> None:
    found = event_of("Fix the crash in src/rates/load.py and src/app.py")
    assert found == Event(Trigger.ENTITY, "src/rates/load.py", "src/rates/load.py")


def test_a_change_of_phase_is_an_event_with_the_users_words_as_query() -> None:
    found = event_of("Now run the tests.", phase="verify", before="act")
    assert found is not None
    assert (found.kind, found.query, found.why) == (Trigger.PHASE, "Now run the tests.", "act -> verify")


@pytest.mark.parametrize(
    "text",
    [
        "Now run the tests.",
        "Before you commit, run the linter.",
        "Fix src/app.py please",
        "I can't remember my email address",
        "Sorted by the time we last saw it",
        "Make it killed/restarted, not dead",
        "Remember to add a test.",
        "在提交之前请运行测试",
        "这个功能之前要先登录",
        "```\nas we discussed, see lib/new_file.py\n```",
        "",
    ],
)
def test_ordinary_words_are_none(text: str) -> None:
    assert event_of(text, phase="act", before="act") is None


def test_it_fires_seldom_on_recorded_sessions() -> None:
    calls = fired = 0
    for name in ("claude-code-context-evaluator.jsonl.gz", "openhands-6e5782946284.jsonl.gz"):
        for recorded in read_sessions(str(SESSIONS / name)):
            seen: set[str] = set()
            for turn in get_wire(recorded.format).parse(recorded.messages, origins=recorded.origins).turns:
                said = [
                    Said("user" if part.role == "user" else "assistant", part.text)
                    for part in turn.parts
                    if part.type is PartType.TEXT and (turn.kind is TurnKind.USER or part.role == "assistant")
                ]
                fired += find_event(said, seen=seen) is not None
                for part in turn.parts:
                    calls += part.type is PartType.CALL
                    seen.update(anchors(part.text), literals(part.text)[0])
    assert calls > 150
    # Once a session, when the task names its things.
    assert 1 <= fired <= 3
