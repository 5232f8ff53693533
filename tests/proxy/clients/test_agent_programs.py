"""Agent programs from packages, unchanged, with a base URL that leads to the proxy: `make test-agents`.

Each reads two hundred files; its last answer needs what stood in an early one, which by then is folded away. None of
them knows that there is a recall tool.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foldaway.testing.replies import Call, Reply

pytestmark = pytest.mark.slow
STEPS = 200
BUDGET = 6000
KEY = "sk-agents"
Proxied = Callable[..., Any]


@dataclass
class Model:
    """The model behind an agent program, as a script; it sees only what is sent."""

    secret: str
    read: Callable[[str], Call]
    finish: Callable[[str], Reply]
    done: int = 0
    recalls: int = 0
    blind: int = 0
    """Requests at the end that did not hold the code."""

    def __call__(self, asked: Any) -> Reply:
        if self.done < STEPS:
            self.done += 1
            path = f"file-{self.done - 1}.txt"
            return Reply(text=f"Next I read {path}.", calls=[self.read(path)])
        if self.secret in asked.text:
            return self.finish(self.secret)
        self.blind += 1
        if "recall" in asked.tools:
            self.recalls += 1
            return Reply(calls=[Call(name="recall", arguments={"ids": "file-5.txt access code"})])
        if "[RETRIEVE: #" in asked.text and self.recalls < 3:
            self.recalls += 1
            return Reply(text="[RETRIEVE: file-5.txt access code]")
        return self.finish("unknown")


def needs(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed; `make test-agents` has an environment with it")


def check(made: Any, model: Model, answer: Any) -> None:
    """The answer holds the code, which had to be recalled; all that was sent was valid and in the budget."""
    sent = made.upstream.requests
    assert made.upstream.complaints == []
    assert model.secret in str(answer)
    assert model.recalls >= 1
    assert len(sent) >= STEPS + 2
    assert max(asked.tokens for asked in sent) <= BUDGET
    sys.stdout.write(
        f"{len(sent)} requests, largest {max(a.tokens for a in sent)} tokens, "
        f"{sum(a.tokens for a in sent)} in all, {model.recalls} recalls\n"
    )


def said(text: str) -> Reply:
    return Reply(text=f"The access code is {text}.")


def test_mini_swe_agent(kit: Any, proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("minisweagent", "litellm")
    for name, value in (
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"), ("MSWEA_SILENT_STARTUP", "1"),
        ("MSWEA_GLOBAL_CONFIG_DIR", str(tmp_path / "config")), ("MSWEA_COST_TRACKING", "ignore_errors"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    work = tmp_path / "work"
    work.mkdir()
    for number in range(STEPS):
        (work / f"file-{number}.txt").write_text(kit.content_of(f"file-{number}.txt"))
    mark = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    model = Model(
        kit.secret,
        lambda path: Call(name="bash", arguments={"command": f"cat {path}"}),
        lambda text: Reply(
            text="Done.", calls=[Call(name="bash", arguments={"command": f"printf '{mark}\\n{text}\\n'"})]
        ),
    )
    made = proxied(model, budget=BUDGET)
    models, agents = import_module("minisweagent.models.litellm_model"), import_module("minisweagent.agents.default")
    local = import_module("minisweagent.environments.local")
    given = {"api_base": f"{made.url}/v1", "api_key": KEY}
    agent = agents.DefaultAgent(
        models.LitellmModel(model_name="openai/m", model_kwargs=given, cost_tracking="ignore_errors"),
        local.LocalEnvironment(cwd=str(work)), system_template="You work in a shell.",
        instance_template="{{task}}", cost_limit=0.0,
    )  # fmt: skip
    result = agent.run("Read all files, then submit the access code.")
    assert result["exit_status"] == "Submitted"
    check(made, model, result["submission"])


def test_smolagents(kit: Any, proxied: Proxied) -> None:
    needs("smolagents")
    smol = import_module("smolagents")
    model = Model(
        kit.secret,
        lambda path: Call(name="read_file", arguments={"path": path}),
        lambda text: Reply(calls=[Call(name="final_answer", arguments={"answer": text})]),
    )
    made = proxied(model, budget=BUDGET)

    class ReadFile(smol.Tool):  # type: ignore[name-defined,misc]
        name = "read_file"
        description = "Reads a file."
        inputs: ClassVar = {"path": {"type": "string", "description": "its path"}}
        output_type = "string"

        def forward(self, path: str) -> str:
            return str(kit.content_of(path))

    server = smol.OpenAIServerModel(model_id="m", api_base=f"{made.url}/v1", api_key=KEY)
    agent = smol.ToolCallingAgent(tools=[ReadFile()], model=server, max_steps=STEPS + 50, verbosity_level=0)
    check(made, model, agent.run("Read all files, then give the access code."))


@pytest.mark.parametrize("way", ["chat", "responses", "responses, streamed"])
def test_openai_agents(way: str, kit: Any, proxied: Proxied) -> None:
    needs("agents", "openai")
    sdk, openai = import_module("agents"), import_module("openai")
    sdk.set_tracing_disabled(True)
    model = Model(kit.secret, lambda path: Call(name="read_file", arguments={"path": path}), said)
    made = proxied(model, budget=BUDGET)

    def read_file(path: str) -> str:
        """Reads a file."""
        return str(kit.content_of(path))

    client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{made.url}/v1")
    kind = sdk.OpenAIChatCompletionsModel if way == "chat" else sdk.OpenAIResponsesModel
    agent = sdk.Agent(
        name="reader", instructions="Read all files.", tools=[sdk.function_tool(read_file)],
        model=kind(model="m", openai_client=client),
    )  # fmt: skip
    goal = "Read all files, then give the access code."
    if way != "responses, streamed":
        check(made, model, sdk.Runner.run_sync(agent, goal, max_turns=STEPS + 50).final_output)
        return

    async def streamed() -> Any:
        run = sdk.Runner.run_streamed(agent, goal, max_turns=STEPS + 50)
        async for _ in run.stream_events():
            pass
        return run.final_output

    check(made, model, import_module("asyncio").run(streamed()))


@pytest.mark.parametrize("way", ["chat", "anthropic"])
def test_pydantic_ai(way: str, kit: Any, proxied: Proxied) -> None:
    needs("pydantic_ai", "anthropic" if way == "anthropic" else "openai")
    ai = import_module("pydantic_ai")
    model = Model(kit.secret, lambda path: Call(name="read_file", arguments={"path": path}), said)
    made = proxied(model, budget=BUDGET)
    if way == "chat":
        provider = import_module("pydantic_ai.providers.openai").OpenAIProvider(base_url=f"{made.url}/v1", api_key=KEY)
        served = import_module("pydantic_ai.models.openai").OpenAIChatModel("m", provider=provider)
    else:
        client = import_module("anthropic").AsyncAnthropic(api_key=KEY, base_url=made.url)
        provider = import_module("pydantic_ai.providers.anthropic").AnthropicProvider(anthropic_client=client)
        served = import_module("pydantic_ai.models.anthropic").AnthropicModel("m", provider=provider)

    def read_file(path: str) -> str:
        """Reads a file."""
        return str(kit.content_of(path))

    agent = ai.Agent(served, tools=[read_file], instructions="Read all files.")
    limits = import_module("pydantic_ai.usage").UsageLimits(request_limit=None)
    check(made, model, agent.run_sync("Read all files, then give the access code.", usage_limits=limits).output)


def test_what_they_send_is_not_kept_with_their_key(kit: Any, proxied: Proxied, tmp_path: Path) -> None:
    made = proxied(lambda asked: said("x"), budget=BUDGET)
    made.openai(key="sk-very-secret").chat.completions.create(model="m", messages=[{"role": "user", "content": "go"}])
    made.close()
    assert all(b"sk-very-secret" not in path.read_bytes() for path in tmp_path.iterdir())
    assert made.upstream.requests[0].headers["authorization"] == "Bearer sk-very-secret"
    assert json.dumps(made.upstream.requests[0].body)
