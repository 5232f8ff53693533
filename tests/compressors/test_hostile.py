"""Time of every compressor on texts made to be slow: four times the text may take about four times as long, no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import pytest

from foldaway.compressors.base import Compressor, Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.facts import facts
from foldaway.compressors.registry import COMPRESSORS, digest

Work = Callable[[str], object]

# Each is repeated to the length that is asked for.
UNITS: dict[str, str] = {
    "one long line": "x",
    "one long line of words": "ab cd_ef baz ",
    "one long line of numbers": "12,345.67 ",
    "one giant number": "7",
    "giant numbers in JSON": '{"a": ' + "9" * 400 + "}\n",
    "empty lines": "\n",
    "spaces": " ",
    "tabs": "\t",
    "short lines": "a\n",
    "short different lines": "ab: 1\n- c\n+ d\n",
    "carriage returns alone": "progress 10%\r",
    "carriage returns and nothing else": "\r",
    "line feeds after carriage returns": "a_b\r\n",
    "NULs": "\0",
    "NULs in words": "ab\0cd_ef\0",
    "lone surrogates": "\ud800",
    "lone surrogates in words": "name_\udfff x\n",
    "separators of Unicode": "a_b\u2028c\x85d\x0b",
    "Chinese without an end": "\u4e2d",
    "Chinese without spaces": "\u4ed6\u4eec\u8bf4\uff0c\u597d\u7684\u3002",
    "letters that grow in small": "\u0130",
    "opening brackets": "[",
    "brackets, a line each": "(\n",
    "nested objects": '{"a":',
    "nested lists and objects": '[{"a":[',
    "closing brackets": "]}",
    "quotes": '"',
    "words after quotes that stay open": '"abcdefgh ',
    "single quotes": "'a b ",
    "escaped quotes": '\\"',
    "backslashes": "\\",
    "escape sequences": "\x1b[",
    "opening tags": "<div ",
    "tags in tags": "<a href=\"'<b>",
    "comments that stay open": "<!--",
    "scripts that stay open": "<html><script>",
    "declarations": "<![CDATA[<!",
    "bars": "|",
    "rows of bars": "| a | b |\n",
    "rules": "-+-",
    "commas": ",",
    "csv": "17,abc,28\n",
    "csv with quotes that stay open": '"a,"b\n',
    "aligned columns": "ab   12   cd\n",
    "JSON rows": '{"id":12,"v":[1,2]}\n',
    "JSON of one list": '{"id":12,"v":"x y"},',
    "dots": ".",
    "dotted chain": "a.b.",
    "slashes": "/",
    "path": "ab/",
    "path without a name": "src/a:12",
    "colons": "a:",
    "dashes": "-a",
    "equals": "key =",
    "at signs": "@@ -1,2 ",
    "hash signs": "# \n",
    "URLs without an end": "http://a.b/?c=d&",
    "URLs": "see https://a.b/c_d?e=1, ",
    "base64": "iVBORw0KGgoAAAANSUhEUg9",
    "base64 lines": "QUJDRDEyMzQ5" * 6 + "\n",
    "hex lines": "0123456789abcdef " * 4 + "\n",
    "key values": "key_1: 12345\n",
    "sums": "a +\n",
    "signatures that stay open": "def f(\n",
    "signatures in one line": "public static a(",
    "docstrings that stay open": '"""a\n',
    "decorators": "@a.b\n",
    "numbered lines": "   12\u2192code_1()\n",
    "frames": "    at foo (bar\n",
    "frames of Python": '  File "/a/b.py", line 3, in f\n',
    "traces": "Traceback (most recent call last):\n",
    "errors": "ValueError: error error\n",
    "test names": "tests/a.py::test_b PASSED",
    "test lines": "--- FAIL: a ... ok\n",
    "dots of a test run": "..F.s",
    "summaries": "=== 1 passed ",
    "levels": "INFO 10:00:00 a\n",
    "hits": "src/f.py:12:x = foo_1\n",
    "hits in one line": "src/f.py:12:",
    "long rows": "-rw-r--r-- 1 a a ",
    "tree": "\u2502   \u251c\u2500\u2500 ",
    "diff heads": "diff --git a/x b/x\n",
    "added lines": "+a\n",
    "statistics": " a.py | 12 +",
    "Markdown links": "[a](",
    "Markdown stars": "**a",
    "abbreviations": "e.g. Mr. ",
    "capitalised words": "Aa Bb of Cc ",
    "sentences": "It is so. ",
    "reminders": "x\n<system-reminder>",
    "MCP texts that stay open": "TextContent(text='a",
    "status lines": "Process exited with code 1\n",
}
WHOLE: dict[str, Callable[[int], str]] = {
    "different names": lambda n: " ".join(f"name_{k}" for k in range(n // 11)),
    "different lines": lambda n: "\n".join(f"step_{k} = run_{k % 97}({k})" for k in range(n // 24)),
    "different keys": lambda n: "{" + ",".join(f'"k{k}": {k}' for k in range(n // 13)) + "}",
    "different columns": lambda n: ",".join(f"c{k}" for k in range(n // 14)) + ("\n" + "1," * (n // 14)) * 3,
    "rows of many columns": lambda n: (
        "[" + ",".join("{" + ",".join(f'"c{k}":{k}' for k in range(n // 60)) + "}" for _ in range(4)) + "]"
    ),
    "different paths": lambda n: "\n".join(f"a/b{k % 50}/c{k}.py" for k in range(n // 14)),
    "deep JSON that closes": lambda n: "[" * (n // 2) + "]" * (n // 2),
    "nested code": lambda n: "".join(" " * (k % 200) + f"if a_{k}:\n" for k in range(n // 110)),
    "growing indentation": lambda n: "".join(" " * k + "def f():\n" for k in range(int((2 * n) ** 0.5) - 9)),
    "table of contents": lambda n: "# A\n" + "\n".join(f"{k}. Part {k}: see p. {k}" for k in range(n // 24)),
}
LARGE = (
    "one long line", "empty lines", "carriage returns alone", "nested objects", "quotes", "opening tags", "csv",
    "JSON rows", "signatures that stay open", "hits", "Chinese without spaces", "different lines",
)  # fmt: skip

PARTS: dict[str, Work] = {
    "the registry": lambda text: digest(text, Hint(tool="bash"), len(text) // 4),
    "facts": facts,
    "the checker": lambda text: unsupported(text[:2_000] + text[-2_000:], text),
}


def _work(part: Compressor) -> Work:
    def run(text: str) -> object:
        hint = Hint(path="a.py")
        return part.matches(text, hint), part.digest(text, hint, len(text) // 4), part.digest(text, Hint(), 2_000)

    return run


PARTS |= {part.name: _work(part) for part in COMPRESSORS}


def _text(family: str, chars: int) -> str:
    if family in WHOLE:
        return WHOLE[family](chars)
    return UNITS[family] * (chars // len(UNITS[family]))


def _seconds(run: Work, text: str) -> float:
    start = time.process_time()
    run(text)
    return time.process_time() - start


def _slow(run: Work, chars: int, times: int, slack: float, families: Iterable[str] = (*UNITS, *WHOLE)) -> list[str]:
    """Families that take longer than `times` as long for four times the text, whenever they are tried."""
    found: list[str] = []
    for family in families:
        little, much = _text(family, chars), _text(family, 4 * chars)
        for _ in range(3):
            before, after = _seconds(run, little), _seconds(run, much)
            if after <= times * before + slack:
                break
        else:
            found.append(f"{family}: {before:.3f} s for {len(little):,} characters, {after:.3f} s for {len(much):,}")
    return found


@pytest.mark.parametrize("name", PARTS)
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    # Quadratic work takes sixteen times as long; the rest is for a machine that does other things meanwhile.
    assert _slow(PARTS[name], 2_500, 10, 0.004) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_the_same_holds_for_a_quarter_of_a_megabyte(name: str) -> None:
    assert _slow(PARTS[name], 60_000, 10, 0.02) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_the_same_holds_for_two_megabytes(name: str) -> None:
    assert _slow(PARTS[name], 500_000, 10, 0.1, LARGE) == []
