"""What the pages say is there, and what is there is on the pages."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from foldaway import Level, Quirks, Session
from foldaway.settings.parts import BUILT_IN, make_policy, policy_names

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
POLICIES = (ROOT / "docs/reference/policies.md").read_text("utf-8")
SETTINGS = (ROOT / "docs/reference/settings.md").read_text("utf-8")
CLI = (ROOT / "docs/reference/cli.md").read_text("utf-8")
GLOSSARY = (ROOT / "docs/glossary.md").read_text("utf-8")
ALL_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

needs_cli = pytest.mark.skipif(find_spec("foldaway.cli") is None, reason="this tree has no foldaway.cli yet")


def foldaway(*arguments: str) -> str:
    """What the command prints to stdout, from outside."""
    command = [sys.executable, "-m", "foldaway.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"COLUMNS": "200"}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands() -> list[str]:
    listed = foldaway("--help").split("Commands:", 1)[1]
    return re.findall(r"^  ([a-z][a-z-]*)\s", listed, re.MULTILINE)


def section(page: str, heading: str) -> str:
    """A page's part from a heading to the next one of its rank."""
    found = re.search(rf"^## {heading}.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"no heading {heading!r}"
    return found.group()


def test_every_make_target_the_pages_name_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in ALL_PAGES:
        code = re.findall(r"`([^`\n]+)`|^make .*$", page.read_text("utf-8"), re.MULTILINE)
        lines = [*code, *re.findall(r"^make .*$", page.read_text("utf-8"), re.MULTILINE)]
        named = {m.group(1) for line in lines if (m := re.match(r"make ([a-z][a-z-]*)", line))}
        assert named <= targets, f"{page.name} names {sorted(named - targets)}"
    assert {"demo", "test"} <= targets


@needs_cli
def test_every_command_the_pages_name_exists() -> None:
    known = set(commands())
    for page in ALL_PAGES:
        named = set(re.findall(r"(?:^|`)foldaway ([a-z]+)\b", page.read_text("utf-8"), re.MULTILINE))
        assert named <= known, f"{page.name} names {sorted(named - known)}"


@needs_cli
def test_every_command_is_documented_with_all_its_options() -> None:
    shared = CLI.split("\n## ", 1)[0]
    for command in commands():
        text = section(CLI, rf"`foldaway {command}\b")
        if "Options as for `show`" in text:
            text += section(CLI, "`foldaway show")
        options = set(re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", foldaway(command, "--help"), re.MULTILINE))
        for option in options - {"--help"}:
            assert option in text, f"docs/reference/cli.md: `foldaway {command}` lacks {option}"
    assert {"--help", "--json"} <= set(re.findall(r"--[a-z-]+", shared))


@needs_cli
def test_the_command_lists_the_policies_that_are_documented() -> None:
    assert {row["name"] if isinstance(row, dict) else row for row in json.loads(foldaway("policies", "--json"))} >= set(
        BUILT_IN
    )


def test_every_policy_is_documented_with_its_parameters() -> None:
    for name in policy_names():
        text = section(POLICIES, f"`{name}`")
        policy: Any = make_policy(name)[1]
        for parameter in fields(policy):
            if parameter.init and parameter.name != "collapses_early":
                assert f"`{parameter.name}`" in text, f"docs/reference/policies.md: {name} lacks {parameter.name}"


def test_every_policy_comes_in_by_its_entry_point_too() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["foldaway.policies"] == BUILT_IN


def test_every_setting_of_a_session_is_documented_with_its_default() -> None:
    for name, parameter in inspect.signature(Session).parameters.items():
        (row,) = re.findall(rf"^\| `{name}` \| ([^|]+) \|", SETTINGS, re.MULTILINE)
        default = parameter.default
        if isinstance(default, bool | str | float):
            assert str(default) in row.replace('"', ""), f"docs/reference/settings.md: {name} defaults to {default!r}"


def test_every_quirk_is_documented() -> None:
    text = section(SETTINGS, "Quirks")
    for quirk in fields(Quirks):
        assert f"| `{quirk.name}` |" in text


def test_every_level_is_in_the_glossary() -> None:
    for level in Level:
        assert f"\n| {level.name.lower()} | level: " in GLOSSARY or f"\n| {level.name.lower()} | " in GLOSSARY


def test_nothing_of_a_workplace_is_in_the_pages() -> None:
    for page in ALL_PAGES:
        text = page.read_text("utf-8")
        assert not re.search(r"/work/|/home/\w|\.\./shared", text), page.name
