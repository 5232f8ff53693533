from __future__ import annotations

import pytest

from foldaway import Kind
from foldaway.linking.kinds import Kinds, is_error, one_line, title_of

TABLE = [
    ("read_file", {"path": "a"}, Kind.READ),
    ("fs.readFile", {"path": "a"}, Kind.READ),
    ("mcp__fs__read", {}, Kind.READ),
    ("str_replace_editor_edit", {}, Kind.EDIT),
    ("cancel_reservation", {}, Kind.EDIT),
    ("Grep", {}, Kind.SEARCH),
    ("search_flights", {}, Kind.SEARCH),
    ("list_dir", {}, Kind.LISTING),
    ("TodoWrite", {}, Kind.PLAN),
    ("bash", {"command": "cat a.py"}, Kind.READ),
    ("bash", {"command": "cd x && grep -n y z"}, Kind.SEARCH),
    ("bash", {"command": "FOO=1 ls -la"}, Kind.LISTING),
    ("bash", {"command": "sed -i s/a/b/ f"}, Kind.EDIT),
    ("bash", {"command": "echo x > f.txt"}, Kind.EDIT),
    ("bash", {"command": "pytest -x 2>&1"}, Kind.COMMAND),
    ("bash", {"command": ["ls", "-l"]}, Kind.LISTING),
    ("bash", {}, Kind.COMMAND),
    ("calculator", {"x": 1}, Kind.RESULT),
    ("", None, Kind.RESULT),
]


@pytest.mark.parametrize(("name", "arguments", "kind"), TABLE)
def test_a_call_is_judged_by_its_words_and_a_shell_by_its_program(name: str, arguments: object, kind: Kind) -> None:
    assert Kinds().of_call(name, arguments, "") is kind


def test_exact_names_of_the_user_win() -> None:
    kinds = Kinds({"read_file": Kind.PLAN})
    kinds.register("calculator", Kind.SEARCH)
    assert kinds.of_call("read_file", {}, "") is Kind.PLAN
    assert kinds.of_call("calculator", {}, "") is Kind.SEARCH


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Error: no such file", True),
        ("Traceback (most recent call last)", True),
        ("all good\nexit code: 0", False),
        ("x\n" * 400 + "exit code: 2", True),
        ("0 errors found", False),
        ("The word Error: in the middle", False),
    ],
)
def test_a_failure_is_told_by_how_it_opens_or_by_its_exit_code(text: str, failed: bool) -> None:
    assert is_error(text, False) is failed
    assert is_error(text, True)


@pytest.mark.parametrize("name", ["read_file", "bash", "x"])
@pytest.mark.parametrize("arguments", [None, [], {"path": "a\nb"}, {"command": "ls " + "x" * 999}, {"n": 1}, "text"])
def test_titles_are_one_short_line(name: str, arguments: object) -> None:
    title = title_of(name, arguments, "text")
    assert title
    assert len(title) <= 64
    assert len(title.splitlines()) == 1


def test_a_title_names_tool_and_main_argument() -> None:
    assert title_of("read_file", {"limit": 3, "path": "src/a.py"}, "") == "read_file src/a.py"
    assert title_of("bash", {"command": "cd /tmp && make test"}, "") == "make test"


def test_long_lines_end_at_a_word() -> None:
    assert one_line("one two three four five", 15) == "one two three…"
    assert len(one_line("x" * 99, 15)) == 15
