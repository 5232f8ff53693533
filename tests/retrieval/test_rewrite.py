"""Short queries get what they speak of; long ones are looked up by their most said words."""

from __future__ import annotations

import pytest

from foldaway.retrieval.rewrite import MOST_WORDS, rewrite

TURNS = (
    "I opened src/old_stuff.py before.",
    "The failing test is in tests/test_rates.py, function load_rates, ticket OPS-4711.",
)


def test_a_pointing_query_gets_the_entities_of_its_kind() -> None:
    asked = rewrite("what did we say about that file?", TURNS)
    assert asked.added == ("tests/test_rates.py", "src/old_stuff.py")
    assert asked.text.startswith("what did we say about that file?")


def test_the_newest_turn_comes_first_and_all_kinds_where_none_is_named() -> None:
    added = rewrite("why did it break?", TURNS).added
    assert added[:3] == ("tests/test_rates.py", "load_rates", "OPS-4711")


@pytest.mark.parametrize("query", ["它在哪里?", "那个文件呢", "刚才的订单"])
def test_chinese_pronouns_point_back_too(query: str) -> None:
    assert rewrite(query, ("报告在 docs/年报/summary.md，订单 DD-2024-1029",)).added


def test_names_of_people_count_inside_sentences() -> None:
    assert "Sierra Salazar" in rewrite("when was she born?", ("We spoke with Sierra Salazar today.",)).added


@pytest.mark.parametrize(
    "query",
    [
        "how do we rotate the signing keys of the payment gateway",
        "what about src/other.py?",
        "it is known that the deployment of the gateway to production needs two approvals from the platform team",
    ],
)
def test_queries_that_say_what_they_mean_stay_as_they_are(query: str) -> None:
    assert rewrite(query, TURNS).text == query


def test_without_a_dialogue_nothing_is_added() -> None:
    assert rewrite("that file?").text == "that file?"


def test_a_page_is_looked_up_by_its_most_said_words() -> None:
    filler = " ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(100))
    asked = rewrite(f"{filler}. The referral bonus, again the referral bonus, for A-77120-X.")
    words = asked.words.split()
    assert asked.long
    assert {"referral", "bonus", "A-77120-X"} <= set(words)
    assert len(words) <= MOST_WORDS + 1
