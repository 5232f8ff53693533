from __future__ import annotations

import pytest

from foldaway.compressors.base import Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.log import Log
from foldaway.compressors.shell import Shell
from foldaway.compressors.tests_run import TestsRun
from foldaway.compressors.trace import Trace

PASSES = "".join(f"tests/test_rows.py::test_row_{n} PASSED            [ {n % 100:>2}%]\n" for n in range(80))
PYTEST = (
    "============================= test session starts ==============================\ncollected 81 items\n\n"
    + PASSES
    + "=================================== FAILURES ===================================\n"
    "________________________________ test_row_total ________________________________\n\n"
    "    def test_row_total():\n>       assert total([1, 2]) == 4\nE       assert 3 == 4\nE        +  where 3 ="
    " total([1, 2])\n\n"
    "tests/test_rows.py:17: AssertionError\n"
    "=========================== short test summary info ============================\n"
    "FAILED tests/test_rows.py::test_row_total - assert 3 == 4\n"
    "========================= 1 failed, 80 passed in 0.42s =========================\n"
)
GO = (
    "".join(f"=== RUN   TestRow{n}\n--- PASS: TestRow{n} (0.00s)\n" for n in range(60))
    + "=== RUN   TestTotal\n    rows_test.go:17: got 3, want 4\n--- FAIL: TestTotal"
    " (0.00s)\nFAIL\nFAIL\texample.org/rows\t0.011s\n"
)
CARGO = (
    "running 61 tests\n"
    + "".join(f"test rows::row_{n} ... ok\n" for n in range(60))
    + "test rows::total ... FAILED\n\nfailures:\n\n---- rows::total stdout ----\n"
    "thread 'rows::total' panicked at src/rows.rs:17:5:\nassertion `left == right` failed\n  left: 3\n right: 4\n\n"
    "test result: FAILED. 60 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n"
)
JEST = (
    "PASS src/a.test.ts\n"
    + "".join(f"  ✓ reads row {n} (1 ms)\n" for n in range(60))
    + "FAIL src/rows.test.ts\n  ● rows › total\n\n    expect(received).toBe(expected)\n\n    Expected: 4\n   "
    " Received: 3\n\n"
    "      at Object.<anonymous> (src/rows.test.ts:17:20)\n\nTests:       1 failed, 60 passed, 61 total\n"
)
UNITTEST = (
    "".join(f"test_row_{n} (tests.RowTest) ... ok\n" for n in range(60))
    + "test_total (tests.RowTest) ... FAIL\n\n======================================================================\n"
    "FAIL: test_total (tests.RowTest)\n----------------------------------------------------------------------\n"
    'Traceback (most recent call last):\n  File "/app/tests.py", line 17, in test_total\n   '
    " self.assertEqual(total(), 4)\n"
    "AssertionError: 3 != 4\n\n----------------------------------------------------------------------\n"
    "Ran 61 tests in 0.010s\n\nFAILED (failures=1)\n"
)


@pytest.mark.parametrize(
    ("text", "content", "kept"),
    [
        (
            PYTEST,
            "pytest run",
            ("E       assert 3 == 4", "tests/test_rows.py:17: AssertionError", "1 failed, 80 passed"),
        ),
        (GO, "go test", ("    rows_test.go:17: got 3, want 4", "--- FAIL: TestTotal", "FAIL\texample.org/rows")),
        (
            CARGO,
            "cargo test",
            ("thread 'rows::total' panicked at src/rows.rs:17:5:", "  left: 3", "60 passed; 1 failed"),
        ),
        (JEST, "jest run", ("    Received: 3", "(src/rows.test.ts:17:20)", "1 failed, 60 passed, 61 total")),
        (UNITTEST, "unittest run", ("AssertionError: 3 != 4", "FAILED (failures=1)", "Ran 61 tests")),
    ],
    ids=["pytest", "go", "cargo", "jest", "unittest"],
)
def test_failures_stay_whole_and_passes_go(text: str, content: str, kept: tuple[str, ...]) -> None:
    assert TestsRun().matches(text, Hint()) == 0.95
    made = TestsRun().digest(text, Hint(), len(text) // 3)
    assert made.content == content
    for line in kept:
        assert line in made.text
    assert "row_31" not in made.text
    assert unsupported(made.text, text) == ()
    assert any(fact.key == "failed" for fact in made.facts)


PYTHON = (
    "Traceback (most recent call last):\n"
    + "".join(
        f'  File "/usr/lib/python3.11/site-packages/web/lib_{n}.py", line {n + 10}, in call_{n}\n   '
        f" step_{n}()\n    ^^^^^^\n"
        for n in range(20)
    )
    + '  File "/app/own/rows.py", line 77, in load\n    raise StoreBroken("code 4711")\nown.errors.StoreBroken:'
    " code 4711\n"
)
JAVA = (
    'Exception in thread "main" java.lang.IllegalStateException: code 4711\n'
    + "".join(f"\tat java.util.stream.Op{n}.run(Op{n}.java:{n + 10})\n" for n in range(20))
    + "\tat org.own.rows.Loader.load(Loader.java:77)\nCaused by: java.io.IOException: disk gone\n\t... 12 more\n"
)
NODE = (
    "TypeError: code 4711\n"
    + "".join(f"    at step{n} (/app/node_modules/lib/x{n}.js:{n + 10}:5)\n" for n in range(20))
    + "    at loadRows (/app/src/rows.ts:77:3)\n"
)
GOROUTINE = (
    "panic: code 4711\n\ngoroutine 1 [running]:\n"
    + "".join(f"net/http.step{n}(0xc000)\n\t/usr/local/go/src/net/http/s{n}.go:{n + 10} +0x1d\n" for n in range(20))
    + "main.loadRows(...)\n\t/app/rows.go:77 +0x25\nexit status 2\n"
)


@pytest.mark.parametrize(
    ("text", "message", "own"),
    [
        (PYTHON, "own.errors.StoreBroken: code 4711", "/app/own/rows.py:77 load"),
        (JAVA, "Caused by: java.io.IOException: disk gone", "\tat org.own.rows.Loader.load(Loader.java:77)"),
        (NODE, "TypeError: code 4711", "    at loadRows (/app/src/rows.ts:77:3)"),
        (GOROUTINE, "panic: code 4711", "\t/app/rows.go:77 +0x25"),
    ],
    ids=["python", "java", "node", "go"],
)
def test_the_message_and_ones_own_frames_stay(text: str, message: str, own: str) -> None:
    assert Trace().matches(text, Hint()) >= 0.6
    made = Trace().digest(text, Hint(), len(text) // 3)
    assert message in made.text
    assert own in made.text
    assert "^^^" not in made.text
    assert unsupported(made.text, text) == ()


def test_numbered_code_is_no_trace() -> None:
    assert Trace().matches("\n".join(f"{n}:    value_{n}=call(x,)" for n in range(240, 280)), Hint()) == 0.0


LOG = (
    "".join(f"2024-05-01 10:00:{n % 60:02} INFO worker handled job {n}\n" for n in range(100))
    + "2024-05-01 10:02:01 ERROR worker cannot open /var/data/rows.db\n2024-05-01 10:02:02 INFO retry with backup_7\n"
    + "".join(f"2024-05-01 10:03:{n % 60:02} INFO worker handled job {n}\n" for n in range(100, 200))
)


def test_errors_stay_with_what_follows_and_repeats_are_counted() -> None:
    assert Log().matches(LOG, Hint()) == 0.8
    made = Log().digest(LOG, Hint(), 600)
    assert "2024-05-01 10:02:01 ERROR worker cannot open /var/data/rows.db" in made.text.split("\n")
    assert "retry with backup_7" in made.text
    assert "2024-05-01 10:00:00 INFO worker handled job 0 [× 200 lines]" in made.text.split("\n")
    assert unsupported(made.text, LOG) == ()
    assert [fact.line for fact in made.facts] == [101]


def test_no_errors_at_all_is_no_error() -> None:
    assert Log().digest("build finished, 0 errors\n" * 3, Hint(), 50).facts == ()


def test_plain_output_keeps_its_errors_and_both_ends() -> None:
    text = "starting up\n" + "".join(f"doing thing number {n} of many\n" for n in range(200, 400))
    text = text.replace("number 317 of", "number 317, No such file: rows_317.db, of") + "all done\n"
    made = Shell().digest(text, Hint(), 500)
    assert made.text.startswith("starting up\n")
    assert "all done" in made.text
    assert "rows_317.db" in made.text


def test_colours_and_overwritten_lines_do_not_show() -> None:
    text = "\x1b[31mfailed to load rows_1\x1b[0m\n" + "step 1%\rstep 50%\rstep 100%\n" + "more words here\n" * 30
    shown = Shell().digest(text, Hint(), 200).text
    assert "\x1b" not in shown
    assert "step 100%" in shown
    assert "50%" not in shown
