from __future__ import annotations

import pytest

from foldaway.lab.literals import LiteralKind, action_literals, code_in


def texts(arguments: object, kind: LiteralKind | None = None) -> list[str]:
    return [lit.text for lit in action_literals(arguments) if kind in (None, lit.kind)]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("curl https://example.com/a/b?x=1.", LiteralKind.URL, ["https://example.com/a/b?x=1"]),
        ("sed -n 1,9p ./src/pkg/mod.py", LiteralKind.PATH, ["src/pkg/mod.py"]),
        ("cat /testbed/setup.cfg", LiteralKind.PATH, ["/testbed/setup.cfg"]),
        ("git show 9f2ac6f3aa", LiteralKind.HASH, ["9f2ac6f3aa"]),
        ("kill 12345 # 12", LiteralKind.NUMBER, ["12345"]),
        ("timeout 250ms", LiteralKind.NUMBER, ["250ms"]),
        ("refund 1,234.50 now", LiteralKind.NUMBER, ["1,234.50"]),
        ("on 2024-05-15 it", LiteralKind.NUMBER, ["2024-05-15"]),
        ("grep -n _eval_target RuleContext user", LiteralKind.IDENTIFIER, ["_eval_target", "RuleContext"]),
        ("from pkg.core.rules import x", LiteralKind.IDENTIFIER, ["pkg.core.rules"]),
        ("book flight HAT123 for sara_doe_496", LiteralKind.IDENTIFIER, ["HAT123", "sara_doe_496"]),
        ("df['Survived'] + df['x']", LiteralKind.QUOTED, ["Survived"]),
        ('grep "not applied, it would" x', LiteralKind.QUOTED, ["not applied, it would"]),
    ],
)
def test_each_kind_is_found_in_a_command(text: str, kind: LiteralKind, expected: list[str]) -> None:
    assert texts(text, kind) == expected


@pytest.mark.parametrize(
    "text", ["read and/or write", "1.0 2 300", "the user name", "self.x is None", "git origin/main"]
)
def test_plain_words_and_small_numbers_are_no_literals(text: str) -> None:
    assert texts(text) == []


def test_words_of_a_sed_expression_are_read_as_words_not_as_a_path() -> None:
    assert texts("sed -i s/old_name/newName/g") == ["old_name", "newName"]


def test_a_path_offers_its_tails_as_shorter_spellings() -> None:
    (path,) = action_literals("cat /testbed/src/pkg/mod.py")
    assert path.shorter == ("testbed/src/pkg/mod.py", "src/pkg/mod.py", "pkg/mod.py", "mod.py")


def test_numbers_in_arguments_count_and_booleans_do_not() -> None:
    assert texts({"order": 99120045, "line": 12, "force": True, "none": None}) == ["99120045"]


def test_a_short_argument_of_several_words_is_a_quoted_string() -> None:
    assert texts({"name": "John Smith"}, LiteralKind.QUOTED) == ["John Smith"]


def test_code_between_two_strings_is_no_quoted_string() -> None:
    assert texts('f("the first text", strict, "the other text")') == ["the first text", "the other text"]


def test_old_text_of_an_edit_gives_its_lines_and_new_text_does_not() -> None:
    edit = {
        "old_string": "def first(a, b):\n    return a + b + 1\nx",
        "new_string": "def second(long_name, b):\n    pass",
    }
    assert texts(edit, LiteralKind.LINE) == ["def first(a, b):", "return a + b + 1"]
    assert texts(edit, LiteralKind.IDENTIFIER) == ["long_name"]


def test_edits_in_a_list_are_read_one_by_one() -> None:
    edits = {"edits": [{"oldText": "the first old line of it"}, {"oldText": "the second old line of it"}]}
    assert texts(edits, LiteralKind.LINE) == ["the first old line of it", "the second old line of it"]


def test_context_and_removed_lines_of_a_patch_are_needed_and_added_ones_are_not() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n unchanged context line\n"
        "-a line that goes away\n+a line that is added\n*** End Patch"
    )
    assert texts({"input": patch}, LiteralKind.LINE) == ["unchanged context line", "a line that goes away"]


def test_search_blocks_in_text_give_lines() -> None:
    text = "a.py\n<<<<<<< SEARCH\nvalue = compute(old)\n=======\nvalue = compute(new)\n>>>>>>> REPLACE\n"
    assert texts(text, LiteralKind.LINE) == ["value = compute(old)"]


def test_each_literal_comes_once() -> None:
    assert texts("cat a/b/c.py; cat a/b/c.py") == ["a/b/c.py"]


def test_deeply_nested_arguments_are_read() -> None:
    value: object = "deep_value_1"
    for _ in range(5_000):
        value = [value]
    assert texts({"a": value}) == ["deep_value_1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I will look.\n```bash\nls src\n```\nThen more.", "ls src\n"),
        ("Look\n<command>\nopen a.py\n</command>", "\nopen a.py\n"),
        ('Thought: see\n\nAction: Bash(code="cat a.md")', 'Bash(code="cat a.md")'),
        ("Please click on the link", "Please click on the link"),
    ],
)
def test_the_code_in_an_agents_words_is_its_action(text: str, expected: str) -> None:
    assert code_in(text) == expected
