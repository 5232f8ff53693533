"""Every Python block of README and docs runs, page by page, in an empty folder."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS = re.compile(r"^```python\n# needs: (.+)$", re.MULTILINE)
"""Packages that a block cannot run without, by the names they are imported under."""
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#([\w-]+))?\)|\]\(#([\w-]+)\)")


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def call_model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What README says the reader has already: asks for a tool once, then answers."""
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": "They pass."}
    call = {"id": "call_1", "type": "function", "function": {"name": "run_tests", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


async def acall_model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return call_model(messages)


def run_tools(reply: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": call["id"], "content": "2 passed"} for call in reply["tool_calls"]]


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text("utf-8"))], ids=page_name)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"call_model": call_model, "acall_model": acall_model, "run_tools": run_tools}
    text = page.read_text("utf-8")
    needed = sorted({name.strip() for names in NEEDS.findall(text) for name in names.split(",")})
    absent = [name for name in needed if not _there(name)]
    if absent:
        target = "test-openhands PYTHON=python3.12" if "openhands" in absent else "test-adapters"
        pytest.skip(f"not installed: {', '.join(absent)}; `make {target}` runs this page")
    with warnings.catch_warnings():
        if needed:
            # What frameworks call outdated among themselves is not the page's to mend.
            warnings.simplefilter("ignore", DeprecationWarning)
        for block in BLOCK.finditer(text):
            # Padded with empty lines, so that a traceback names the line of the page.
            padded = "\n" * text[: block.start(1)].count("\n") + block.group(1)
            exec(compile(padded, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for path, anchor, own in LINK.findall(page.read_text("utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page_name(page)} links to {path}"
        if anchor or own:
            headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
            assert (anchor or own) in slugs, f"{page_name(page)} links to #{anchor or own}"


def _there(name: str) -> bool:
    """Whether a package can be imported; of a dotted name every part."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
