"""Runs the command line in this process and gives back what a shell would see."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from foldaway.cli import main

BUNDLED = Path(__file__).parents[2] / "src" / "foldaway" / "data" / "sessions"


@dataclass(frozen=True)
class Ran:
    code: int
    data: bytes
    talk: str

    @property
    def text(self) -> str:
        return self.data.decode("utf-8")

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    def refused(self, *words: str) -> bool:
        """Bad usage or input, told in one line that holds these words; nothing on stdout."""
        lines = [line for line in self.talk.splitlines() if line.startswith("error: ")]
        return self.code == 2 and self.data == b"" and len(lines) == 1 and all(word in lines[0] for word in words)


Foldaway = Callable[..., Ran]


@pytest.fixture
def foldaway(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Foldaway:
    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsysbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        talk = captured.err.decode("utf-8")
        assert "Traceback" not in talk
        assert "a defect in foldaway" not in talk
        return Ran(code, captured.out, talk)

    return run


@pytest.fixture
def bundled() -> Path:
    """The folder of the bundled recordings."""
    return BUNDLED


@pytest.fixture
def coding() -> Path:
    """A bundled recording of 138 calls and 81,000 tokens."""
    return BUNDLED / "mini-swe-agent-django-11910.json.gz"


@pytest.fixture
def talks() -> Path:
    """A bundled file of twelve short sessions."""
    return BUNDLED / "tau2-gpt-4.1-retail.json.gz"


def history(files: int) -> list[dict[str, Any]]:
    """A chat that reads some files, each of about 700 tokens."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which rates are too high?"}]
    for number in range(files):
        function = {"name": "read_file", "arguments": json.dumps({"path": f"src/rates_{number}.py"})}
        calls = [{"id": f"call_{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        text = "".join(f"rate_{number}_{line} = {line * 7}  # per year\n" for line in range(60))
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
    return [*messages, {"role": "user", "content": "Go on."}]


@pytest.fixture
def chat() -> Callable[[int], list[dict[str, Any]]]:
    return history


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Writes a file: bytes and text as they are, anything else as JSON."""

    def write(name: str, value: Any) -> Path:
        path = tmp_path / name
        if not isinstance(value, bytes):
            value = (value if isinstance(value, str) else json.dumps(value)).encode("utf-8")
        path.write_bytes(value)
        return path

    return write
