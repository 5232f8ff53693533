"""Made-up agents whose histories grow call by call, as bodies of Chat Completions requests. The same every time."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

MODEL = "gpt-4.1"
"""Its window is larger than the largest history here, so that nothing folds unless a budget is asked for."""
SYSTEM = "You are a careful build engineer. Answer in short sentences and name the file you changed."
BYTES_A_TOKEN = 4.25
"""Of these bodies, by o200k_base."""
_NAMES = (
    "api auth billing cache chart cli config core db docs email events jobs login media orders pages search".split()
)
_VERBS = "reads writes drops merges checks retries skips parses renames sorts caches splits counts".split()
_TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "The content of a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Histories around one size."""

    name: str
    bytes: int
    """In the middle of a session."""
    start_bytes: int
    """When the session is first seen."""
    step_bytes: int
    """What one call adds: a call and its result."""
    budget: int
    """Tokens, where folding is measured: about a third of the history, 64,000 at most."""

    @property
    def base(self) -> int:
        """Calls that are history already when a session is first seen."""
        return max(1, self.start_bytes // self.step_bytes)

    @property
    def calls(self) -> int:
        """Of one session from there on."""
        return 2 * (self.bytes - self.start_bytes) // self.step_bytes


SIZES = {
    size.name: size
    for size in (
        Size(name="10KB", bytes=10_000, start_bytes=2_000, step_bytes=600, budget=1_200),
        Size(name="200KB", bytes=200_000, start_bytes=160_000, step_bytes=4_000, budget=20_000),
        Size(name="2MB", bytes=2_000_000, start_bytes=1_600_000, step_bytes=8_000, budget=64_000),
    )
}


@dataclass(slots=True)
class Agent:
    """One connection's agent: session after session, each call with a little more history."""

    size: Size
    name: str
    stream: bool = False
    _session: int = -1
    _call: int = 0
    _parts: list[bytes] = field(default_factory=list)

    def room(self) -> int:
        """Calls left of the session at hand."""
        return self.size.calls - self._call if self._session >= 0 else 0

    def opens(self) -> bytes:
        """The body of the first call of a new session."""
        self._session, self._call = self._session + 1, 0
        self._parts = list(_messages(self.size, f"{self.name}/{self._session}"))
        return self.goes_on()

    def goes_on(self) -> bytes:
        """The body of the next call. O(size)."""
        upto = 2 + 2 * (self.size.base + self._call)
        self._call += 1
        head = f'{{"model":"{MODEL}","messages":['.encode()
        tail = f'],"tools":[{json.dumps(_TOOL)}],"stream":{"true" if self.stream else "false"}}}'.encode()
        return head + b",".join(self._parts[:upto]) + tail


def _messages(size: Size, seed: str) -> Iterator[bytes]:
    rng = random.Random(seed)
    yield _dump({"role": "system", "content": SYSTEM})
    yield _dump({"role": "user", "content": f"Task {seed}: find out which module drops the orders."})
    for call in range(size.base + size.calls):
        path = f"src/{rng.choice(_NAMES)}/{rng.choice(_NAMES)}_{call}.py"
        function = {"name": "read_file", "arguments": json.dumps({"path": path})}
        tool_call = {"id": f"call_{rng.getrandbits(48):012x}", "type": "function", "function": function}
        yield _dump({"role": "assistant", "content": f"Next I read {path}.", "tool_calls": [tool_call]})
        text = _listing(rng, size.step_bytes - 330)
        yield _dump({"role": "tool", "tool_call_id": tool_call["id"], "content": text})


def _listing(rng: random.Random, size: int) -> str:
    """Lines with about as many new literals (paths, numbers, names) as the results of recorded coding sessions."""
    lines: list[str] = []
    while size > 0:
        name, verb = rng.choice(_NAMES), rng.choice(_VERBS)
        line = f"{rng.randrange(900)}: {name}.{verb}(order={rng.randrange(10**6)}, path='lib/{name}/{verb}.py')"
        words = " ".join(rng.choice(_NAMES if n % 2 else _VERBS) for n in range(rng.randrange(8, 16)))
        lines += [line, f"    # {words}"]
        size -= len(line) + len(words) + 10
    return "\n".join(lines)


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
