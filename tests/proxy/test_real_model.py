"""A real small model behind the proxy, end to end: `make test-models`, with a larger one `make test-models-large`.

Two tasks, each with a budget that holds a few pages of a log only, once through the proxy and again with a plain window
of the same size. In the first an early page names a code: such names stay in a fold note, and the model answers from
that. In the second the early fact is plain words among codes; no view holds it unless the model asks for it.

The histories are scripted: the pages were read before. The model speaks from the question on.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="httpx2 is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import httpx2
import uvicorn

from foldaway.lab.likelihood.calling import calling_server
from foldaway.lab.likelihood.llama import start
from foldaway.proxy import ProxySettings
from foldaway.proxy.app import ProxyApp
from foldaway.tokens import RequestCounter, get_counter

pytestmark = pytest.mark.slow
BUDGET = 900
PAGES = 14
CODES = 5
WORDS = "amber birch cedar delta ember fjord grove heron inlet jetty".split()
SYSTEM = "You answer questions about a log. Answer in one short sentence."


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    path = os.environ.get("FOLDAWAY_GGUF", "")
    if not path:
        pytest.skip("FOLDAWAY_GGUF names no model file")
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    server = start(Path(path), 4_096, 2)
    yield str(server.listening_address)
    del server


def page(number: int, code: str) -> str:
    lines = [
        f"page {number}, line {n}: pump {n} at {number * 7 + n} bar, valve {(number * n) % 9} open" for n in range(5)
    ]
    if number == 2:
        lines[3] = f"page 2, line 3: the door code is {code}"
    return "\n".join(lines)


def history(code: str) -> list[dict[str, Any]]:
    """All pages as turns of an agent without tools, and the question."""
    told: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "I show you pages of a log, one after the other. Then I ask about them."},
    ]
    for number in range(1, PAGES + 1):
        told.append({"role": "assistant", "content": f"READ page {number}"})
        told.append({"role": "user", "content": f"<output>\n{page(number, code)}\n</output>"})
    told.append({"role": "assistant", "content": "I have read all pages."})
    return [*told, {"role": "user", "content": "What is the door code?"}]


class Watched(httpx2.AsyncHTTPTransport):
    """The way to the model, with what was sent on it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append((await request.aread()).decode())
        return await super().handle_async_request(request)


class Served:
    """The proxy on a loopback port."""

    def __init__(self, upstream: str, **settings: Any) -> None:
        given = ProxySettings(openai_upstream=upstream, time_limit_seconds=60.0, **settings)
        self.transport = Watched()
        self.app = ProxyApp(given, transports={"openai": self.transport})
        config = uvicorn.Config(self.app, port=0, log_level="error", lifespan="on")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        end = time.monotonic() + 60
        while not self._server.started:
            assert time.monotonic() < end
            assert self._thread.is_alive()
            time.sleep(0.05)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)


def choice(url: str, messages: list[dict[str, Any]], seed: int, **fields: Any) -> dict[str, Any]:
    """The message that the client gets. Each try is a session of its own."""
    body = {"model": "small", "messages": messages, "max_tokens": 60, "temperature": 0.2, "seed": seed, **fields}
    with httpx2.Client(trust_env=False, timeout=900) as client:
        got = client.post(f"{url}/v1/chat/completions", json=body, headers={"x-foldaway-session": f"try {seed}"})
    got.raise_for_status()
    message: dict[str, Any] = got.json()["choices"][0]["message"]
    return message


def plain_window(
    messages: list[dict[str, Any]], budget: int, tools: list[dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """The system prompt and the newest messages that fit the budget, none of them a result without its call."""
    counter = RequestCounter(get_counter("small", "openai_chat"), "openai_chat")
    room = budget - counter.system(None) - counter.tools(tools) - counter.message(messages[0])
    kept: list[dict[str, Any]] = []
    for message in reversed(messages[1:]):
        room -= counter.message(message)
        if room < 0:
            break
        kept.insert(0, message)
    while kept[0]["role"] == "tool":
        del kept[0]
    return [messages[0], *kept]


def test_the_early_fact_is_there_through_the_proxy_and_not_in_a_plain_window(model_url: str, tmp_path: Path) -> None:
    right, noted, asked = {"proxy": 0, "window": 0}, 0, 0
    proxy = Served(model_url, budget=BUDGET, recall="directive", store=f"sqlite:///{tmp_path}/s.db")
    for number in range(CODES):
        code = f"{WORDS[number]}-{4100 + 37 * number}"
        told = history(code)
        before = len(proxy.transport.sent)
        through = choice(proxy.url, told, number)["content"] or ""
        sent = proxy.transport.sent[before:]
        assert all(len(body) < len(json.dumps(told)) for body in sent)
        direct = choice(model_url, plain_window(told, BUDGET), number)["content"] or ""
        right["proxy"] += code in through
        right["window"] += code in direct
        noted += code in sent[0]
        asked += len(sent) > 1
        sys.stdout.write(f"{code}: through the proxy {through[:80]!r}; plain window {direct[:80]!r}\n")
    proxy.close()
    sys.stdout.write(
        f"right of {CODES}: {right}; code in the first view {noted} times, model asked for more {asked} times\n"
    )
    # A word and four digits cannot be guessed.
    assert right["window"] == 0
    assert right["proxy"] > CODES // 2


# An early fact in plain words, asked for by the model


FACTS = (
    (
        "The night guard has got a dog at last; he calls it Marzipan.",
        "What is the night guard's dog called?",
        "marzipan",
    ),
    ("The men painted the door of the boat shed turquoise.", "What colour is the door of the boat shed?", "turquoise"),
    (
        "The cook makes goulash for the crew on Fridays now.",
        "What does the cook make for the crew on Fridays?",
        "goulash",
    ),
    (
        "The pilot hurt his knee at badminton and walks with a stick.",
        "At which sport did the pilot hurt his knee?",
        "badminton",
    ),
    (
        "The harbour master keeps the spare keys in the old teapot.",
        "Where does the harbour master keep the spare keys?",
        "teapot",
    ),
    (
        "The crane driver learns to play the ocarina in his breaks.",
        "Which instrument does the crane driver learn?",
        "ocarina",
    ),
    (
        "The ferry captain comes from Reykjavik, as she told us.",
        "From which city does the ferry captain come?",
        "reykjavik",
    ),
    (
        "The new apprentice wants to become a beekeeper one day.",
        "What does the new apprentice want to become?",
        "beekeeper",
    ),
    ("The customs officer collects thimbles from every port.", "What does the customs officer collect?", "thimble"),
    ("The fog horn was hit by a pelican and is silent since.", "Which animal hit the fog horn?", "pelican"),
)
"""What an early page says, the question at the end, and the word that answers it."""
SHIPS = "trawler tanker schooner barge tug coaster ketch".split()
TOWNS = "Bergen Gdansk Cork Porto Riga Turku Aberdeen".split()
CARGO = "timber,salted fish,coal,wool,machine parts,grain,bricks".split(",")
PLACES = "old north coal fish long stone east".split()
PEOPLE = "mate,broker,surveyor,dock foreman,agent,chandler,signalman".split(",")
WEATHER = (
    "the wind went round to the west", "it began to rain", "mist came in from the sea", "the swell grew", "it cleared",
    "the frost came back", "the wind dropped",
)  # fmt: skip
FACT_BUDGET = 1_000
FACT_PAGES = 24
FACT_PAGE = 3
MOST_CALLS = 3
LEAST_RIGHT = 6
LARGER_BYTES = 1_000_000_000
"""Models below this size ask, but hardly ever answer from what they got."""
CLERK = """\
You help in a harbour office. You read the harbour log page by page and answer questions about it in one short sentence.
Pages that you read earlier are folded away. Before you answer, call recall with words of the question, unless a page in
sight tells the answer. Never guess."""
REMINDER = " (If no page in sight tells it, call recall with words of this question.)"
CLERK_WITHOUT = """\
You help in a harbour office. You read the harbour log page by page and answer questions about it in one short sentence.
Never guess."""


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    tool("next_page", "Shows the next page of the harbour log."),
    tool(
        "answer",
        "Answers the user's question; the user's next words come back.",
        text={"type": "string", "description": "one short sentence"},
    ),
]


def called(number: int, name: str, arguments: dict[str, str], result: str) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def log_page(n: int, fact: str) -> str:
    """Plain words: nothing in it looks like an id that a model might ask for instead."""
    at = [(n * step + n // 7 * (step + 2)) % 7 for step in (1, 2, 3, 4, 5)]
    lines = [
        f"Page {n} of the harbour log.",
        f"In the morning a {SHIPS[at[0]]} from {TOWNS[at[1]]} came in with {CARGO[at[2]]} and made fast at the "
        f"{PLACES[at[3]]} quay.",
        f"The {PEOPLE[at[2]]} spoke with the {PEOPLE[at[4]]} about the {PLACES[at[0]]} quay, and they agreed to wait.",
        f"Towards evening {WEATHER[at[4]]}, so the {SHIPS[at[3]]} with {CARGO[at[1]]} stayed where it was.",
    ]
    if n == FACT_PAGE:
        lines.insert(2, fact)
    if n == FACT_PAGES:
        lines.append("(This was the last page.)")
    return "\n".join(lines)


def clerk(system: str, fact: str, question: str) -> list[dict[str, Any]]:
    """All pages as results of calls, and the question."""
    told: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        {"role": "user", "content": "Read the harbour log page by page, to its end. I ask about it then."},
    ]
    for n in range(1, FACT_PAGES + 1):
        told += called(n, "next_page", {}, log_page(n, fact))
    # What the user says to an answer comes back as its result. After one answer alone so small a model repeats it.
    said = ("I have read all pages.", "The last page was page 24.", "No, nothing came after it.")
    heard = ("Which page was the last one?", "Did anything come after it?", question)
    for number, (text, reply) in enumerate(zip(said, heard, strict=True), FACT_PAGES + 1):
        told += called(number, "answer", {"text": text}, reply)
    return told


def answer_by_calls(url: str, told: list[dict[str, Any]], seed: int, budget: int | None = None) -> str:
    """The agent's loop from the question on. `budget`: cut to a plain window first."""
    for _ in range(MOST_CALLS):
        cut = told if budget is None else plain_window(told, budget, TOOLS)
        message = choice(url, cut, seed, tools=TOOLS, tool_choice="required")
        if not message.get("tool_calls"):
            return message["content"] or ""
        function = message["tool_calls"][0]["function"]
        if function["name"] == "answer":
            text: str = json.loads(function["arguments"])["text"]
            return text
        told = [*told, *called(100 + len(told), function["name"], {}, "(There are no more pages.)")]
    return "(no answer)"


@dataclass(frozen=True, kw_only=True)
class Try:
    """One question through the proxy."""

    asked: list[str]
    """What the model asked for, before its last answer."""
    brought: bool
    """The fact came into its view."""
    right: bool


def tried(proxy: Served, number: int) -> Try:
    fact, question, word = FACTS[number]
    before = len(proxy.transport.sent)
    said = answer_by_calls(proxy.url, clerk(CLERK, fact, question + REMINDER), number)
    sent = [body.lower() for body in proxy.transport.sent[before:]]
    assert word not in sent[0]
    made = Try(asked=recalls(sent[-1]), brought=any(word in body for body in sent), right=word in said.lower())
    # Nothing but what the model asked for brings the fact: the proxy recalls nothing by itself here.
    assert made.asked or not made.brought
    assert made.brought or not made.right
    show(f"{question} asked for {made.asked}, {len(sent)} calls, brought {made.brought}: {said[:120]!r}")
    return made


def recalls(body: str) -> list[str]:
    """What the recalls in a request asked for."""
    calls = [c["function"] for m in json.loads(body)["messages"] for c in m.get("tool_calls") or ()]
    return [call["arguments"] for call in calls if call["name"] == "recall"]


def show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def test_the_model_asks_for_an_early_fact_that_no_view_holds(model_url: str, tmp_path: Path) -> None:
    if Path(os.environ["FOLDAWAY_GGUF"]).stat().st_size < LARGER_BYTES:
        pytest.skip("needs a larger model: make test-models-large")
    store = f"sqlite:///{tmp_path}"
    with calling_server(model_url) as upstream:
        # One way after the other: what two prompts in a row share is read once.
        proxy = Served(upstream, budget=FACT_BUDGET, store=f"{store}/proxy.db")
        tries = [tried(proxy, number) for number in range(len(FACTS))]
        proxy.close()
        window = Served(upstream, budget=FACT_BUDGET, policy="window", recall="none", store=f"{store}/window.db")
        plain, cut = 0, 0
        for number, (fact, question, word) in enumerate(FACTS):
            said = answer_by_calls(window.url, clerk(CLERK_WITHOUT, fact, question), number)
            plain += word in said.lower()
            show(f"policy window: {question} {said[:120]!r}")
        assert not any(word in body.lower() for body in window.transport.sent for _, _, word in FACTS)
        window.close()
        for number, (fact, question, word) in enumerate(FACTS):
            said = answer_by_calls(upstream, clerk(CLERK_WITHOUT, fact, question), number, FACT_BUDGET)
            cut += word in said.lower()
            show(f"cut by hand: {question} {said[:120]!r}")
    asked, brought, right = (
        sum(bool(t.asked) for t in tries),
        sum(t.brought for t in tries),
        sum(t.right for t in tries),
    )
    show(f"of {len(FACTS)}, none with the fact in the first view: asked {asked}, brought {brought}, right {right}; ")
    show(f"right with the policy window {plain}, with a window cut by hand {cut}")
    assert plain == cut == 0
    assert brought >= right >= LEAST_RIGHT
