from __future__ import annotations

import pytest

from foldaway import Session
from foldaway.engine.log import Log
from foldaway.scoring.obsolete import Proof
from foldaway.testing.histories import FORMATS, Writer, prose


def log_of(writer: Writer) -> Log:
    session = Session(format=writer.format, budget=1_000_000, policy="window")
    session.append(writer.messages)
    return session.engine.log


def proofs(writer: Writer) -> list[tuple[str, str, Proof]]:
    """(title of the obsolete one, title of the newer one, proof)."""
    log = log_of(writer)
    return [(log.items[o.item].title, log.items[o.by].title, o.proof) for o in log.obsolete.of.values()]


def begun(format: str = "openai_chat") -> Writer:
    writer = Writer(format)
    writer.user("Mend it.")
    return writer


def numbered(first: int, last: int) -> str:
    return "\n".join(f"{n}\tline {n} of the planner" for n in range(first, last + 1))


@pytest.mark.parametrize("format", FORMATS)
def test_a_reading_that_a_later_one_covers_is_obsolete(format: str) -> None:
    writer = begun(format)
    writer.call("read_file", numbered(10, 20), path="src/a.py", offset=10)
    writer.call("read_file", numbered(1, 60), path="/repo/src/a.py")
    assert [p for *_, p in proofs(writer)] == [Proof.READ_AGAIN]


def test_a_reading_of_other_lines_or_of_another_file_is_not() -> None:
    writer = begun()
    writer.call("read_file", numbered(10, 20), path="src/a.py")
    writer.call("read_file", numbered(15, 60), path="src/a.py")
    writer.call("read_file", numbered(1, 60), path="lib/a.py")
    assert proofs(writer) == []


@pytest.mark.parametrize("edited", [True, False])
def test_after_an_edit_a_reading_of_the_same_stretch_makes_the_old_one_obsolete(edited: bool) -> None:
    writer = begun()
    before = numbered(1, 30)
    writer.call("read_file", before, path="src/a.py")
    if edited:
        writer.call("edit_file", "ok", path="src/a.py", text="x")
    writer.call("read_file", before.replace("line 15 of the planner", "quite another"), path="src/a.py")
    # Without an edit in between nothing tells why the line is gone: it may be another stretch.
    assert [p for *_, p in proofs(writer)] == ([Proof.READ_AGAIN] if edited else [])


def test_a_result_that_came_again_makes_the_older_one_obsolete_but_not_a_short_one() -> None:
    writer = begun()
    text = prose(60)
    writer.call("grep", text, pattern="berth")
    writer.call("search", text, query="berth")
    writer.call("grep", "none", pattern="x")
    writer.call("grep", "none", pattern="y")
    assert proofs(writer) == [("grep berth", "search berth", Proof.SAME_RESULT)]


def test_commands_that_print_the_same_did_not_do_the_same() -> None:
    writer = begun()
    for package in ("one", "two"):
        writer.call("bash", prose(60), command=f"pip install {package}")
    assert proofs(writer) == []
    writer.call("bash", prose(60), command="pip install two")
    assert [p for *_, p in proofs(writer)] == [Proof.SAME_RESULT]


@pytest.mark.parametrize("format", FORMATS)
def test_a_failure_is_a_failed_path_once_its_command_passes(format: str) -> None:
    writer = begun(format)
    writer.call("bash", f"Error: E1\n{prose(30)}", command="cd /repo && pytest -x 2>&1 | tail -20", failed=True)
    writer.call("bash", f"Error: E2\n{prose(30)}", command="pytest tests/other.py", failed=True)
    log = log_of(writer)
    assert len(log.obsolete.unresolved) == 2
    writer.call("bash", "3 passed", command="cd /repo && pytest -x")
    log = log_of(writer)
    assert [o.proof for o in log.obsolete.of.values()] == [Proof.MADE_GOOD]
    assert [log.items[i].title for i in log.obsolete.unresolved] == ["pytest tests/other.py"]


@pytest.mark.parametrize("same", [True, False])
def test_an_edit_that_failed_is_made_good_by_the_same_edit_and_by_no_other(same: bool) -> None:
    writer = begun()
    old = "def berth():\n    return crane\n\n    # the rates stand"
    writer.call("str_replace", "Error: no match", command="str_replace", path="a.py", old_str=old, failed=True)
    again = old if same else "class Tide:\n    gauge = 4\n    level = 5"
    writer.call("str_replace", "ok", command="str_replace", path="a.py", old_str=again, new_str="x")
    assert [p for *_, p in proofs(writer)] == ([Proof.MADE_GOOD] if same else [])


def test_an_edit_is_never_obsolete() -> None:
    writer = begun()
    for _ in range(3):
        writer.call("edit_file", prose(60), path="a.py", text="x")
    assert proofs(writer) == []


def test_an_agent_without_a_tool_protocol_has_failed_paths_too() -> None:
    session = Session(format="openai_chat", budget=1_000_000, policy="window")
    for result in ("<returncode>1</returncode>\nboom", "<returncode>0</returncode>\nfine"):
        session.append(
            [{"role": "assistant", "content": "Try.\n```bash\npytest -x\n```"}, {"role": "user", "content": result}],
            origins=["", "environment"],
        )
    assert [o.proof for o in session.engine.log.obsolete.of.values()] == [Proof.MADE_GOOD]
