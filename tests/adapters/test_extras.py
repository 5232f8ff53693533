"""Without its framework an adapter says in one line which extra brings it; nothing else imports a framework."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ADAPTERS = sorted(path.stem for path in (ROOT / "src/foldaway/adapters").glob("*.py") if not path.stem.startswith("_"))
FRAMEWORKS = [
    "agent_framework", "agents", "anthropic", "autogen_core", "google", "langchain", "langchain_core", "langgraph",
    "litellm", "llama_index", "mcp", "openai", "openhands", "pydantic_ai", "smolagents", "strands",
]  # fmt: skip
CODE = """
import importlib, importlib.abc, json, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in frameworks:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

frameworks, adapters = json.loads(sys.argv[1])
sys.meta_path.insert(0, Absent())
import foldaway, foldaway.cli, foldaway.proxy, foldaway.lab
told = {}
for adapter in adapters:
    try:
        importlib.import_module(f"foldaway.adapters.{adapter}")
    except foldaway.errors.MissingExtra as error:
        told[adapter] = str(error)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    given = json.dumps([FRAMEWORKS, ADAPTERS])
    done = subprocess.run([sys.executable, "-c", CODE, given], capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_without_its_framework_names_the_extra(adapter: str, told: dict[str, str]) -> None:
    extra = adapter.removesuffix("_server").replace("_", "-")
    assert told[adapter].endswith(f"pip install 'foldaway[{extra}]'")
    assert "\n" not in told[adapter]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras[extra]


def test_every_adapter_has_its_page_and_its_tests() -> None:
    for adapter in ADAPTERS:
        page = adapter.removesuffix("_server").replace("_", "-")
        assert f"({page}.md)" in (ROOT / "docs/how-to/adapters/README.md").read_text("utf-8")
        tests = {"openai": "clients", "anthropic": "clients", "langgraph": "langchain"}.get(adapter, adapter)
        assert (ROOT / f"tests/adapters/test_{tests}.py").exists()
