"""What counts as reading again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from foldaway.lab.rereads import looks_of, rereads
from foldaway.model.recorded import Recorded
from foldaway.model.wire import Message

Tool = tuple[Callable[..., Message], Callable[[int, str], Message]]
BODY = "\n".join(f"line {n} of the file, quite long enough to tell" for n in range(8))
NUMBERED = "\n".join(f"{n + 1:6}\t{line}" for n, line in enumerate(BODY.splitlines()))


def session(build: Callable[..., Recorded], tool: Tool, *exchanges: tuple[Mapping[str, object], str]) -> Recorded:
    call, result = tool
    messages = [m for n, (asked, text) in enumerate(exchanges) for m in (call(n, **asked), result(n, text))]
    return build({"role": "user", "content": "go"}, *messages)


def nothing(line: str) -> bool:
    return False


def test_the_same_call_with_the_same_lines_is_a_reread_and_its_repeated_lines_are_told(
    build: Callable[..., Recorded], tool: Tool
) -> None:
    read = {"path": "src/a.py"}
    looks = looks_of(session(build, tool, (read, BODY), (read, NUMBERED + "\nand one line that is new to everyone")))
    (found,) = rereads(looks, range(3), range(3, 5), nothing)
    assert (found.look.call, found.look.result) == (3, 4)
    assert found.text == BODY


def test_the_same_file_by_another_call_is_a_reread_and_another_file_with_the_same_text_is_not(
    build: Callable[..., Recorded], tool: Tool
) -> None:
    first = ({"command": "cat src/lib/a.py"}, BODY)
    same = session(build, tool, first, ({"command": "head -50 lib/a.py"}, BODY))
    other = session(build, tool, first, ({"command": "cat src/lib/b.py"}, BODY))
    assert len(rereads(looks_of(same), range(3), range(3, 5), nothing)) == 1
    assert rereads(looks_of(other), range(3), range(3, 5), nothing) == []


def test_running_the_same_command_with_another_outcome_is_work(build: Callable[..., Recorded], tool: Tool) -> None:
    run = {"command": "make test"}
    looks = looks_of(session(build, tool, (run, BODY), (run, BODY.replace("line", "test"))))
    assert rereads(looks, range(3), range(3, 5), nothing) == []


def test_lines_still_in_view_do_not_count_and_lines_read_again_count_once(
    build: Callable[..., Recorded], tool: Tool
) -> None:
    read = {"path": "src/a.py"}
    looks = looks_of(session(build, tool, (read, BODY), (read, BODY), (read, BODY)))
    assert rereads(looks, range(3), range(3, 7), lambda line: True) == []
    assert [found.look.call for found in rereads(looks, range(3), range(3, 7), nothing)] == [3]
