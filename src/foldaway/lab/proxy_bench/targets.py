"""What is measured side by side: each a process of its own in front of one scripted upstream."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from foldaway.lab.proxy_bench.bare import UPSTREAM
from foldaway.lab.proxy_bench.histories import MODEL, Size
from foldaway.lab.proxy_bench.processes import Child, NotStarted, free_port, start, uvicorn

DIRECT, BARE, UNTOUCHED, FOLDING, LITELLM = "direct", "bare proxy", "foldaway", "foldaway, folding", "litellm"
_PACKAGE = "foldaway.lab.proxy_bench"
_LITELLM_ENV = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"}


@dataclass(frozen=True, slots=True)
class Target:
    """One way to the upstream."""

    name: str
    child: Child
    folds: bool = False
    said: Mapping[str, str] = field(default_factory=dict)

    def headers(self, size: Size) -> dict[str, str]:
        """What its clients send beside the usual."""
        own = {"authorization": "Bearer sk-bench", **self.said}
        return {**own, "x-foldaway-budget": str(size.budget)} if self.folds else own


@contextmanager
def running(folder: Path, litellm: Path | None, *, store: str = "") -> Iterator[list[Target]]:
    """All targets, started; logs and stores lie in the folder. `litellm`: its command, None: without it.

    `store`: of both Foldaways; "": a SQLite file for each. Raises NotStarted.
    """
    with ExitStack() as stack:

        def child(name: str, command: list[str], port: int, env: Mapping[str, str] = {}) -> Child:
            log = folder / f"{name.replace(', ', '-').replace(' ', '-')}.log"
            made = start(name, command, port, log=log, env=env)
            stack.callback(made.stop)
            return made

        port = free_port()
        upstream = child(DIRECT, uvicorn(f"{_PACKAGE}.upstream:app", port), port)
        base = f"http://127.0.0.1:{port}"
        targets = [Target(DIRECT, upstream)]
        port = free_port()
        bare = child(BARE, uvicorn(f"{_PACKAGE}.bare:app", port, "--factory"), port, {UPSTREAM: base})
        targets.append(Target(BARE, bare))
        for name, folds in ((UNTOUCHED, False), (FOLDING, True)):
            port = free_port()
            url = store or f"sqlite:///{folder / ('folding.db' if folds else 'untouched.db')}"
            targets.append(Target(name, child(name, _serve(port, base, url), port), folds))
        if litellm is not None:
            port = free_port()
            command = [str(litellm), "--config", str(_config(folder, base)), "--port", str(port), "--num_workers", "1"]
            command += ["--host", "127.0.0.1", "--telemetry", "False"]
            targets.append(Target(LITELLM, child(LITELLM, command, port, _LITELLM_ENV)))
        yield targets


def _serve(port: int, base: str, store: str) -> list[str]:
    run = "from foldaway.cli import main; main()"
    where = ["--port", str(port), "--openai-upstream", base, "--anthropic-upstream", base, "--store", store]
    return [sys.executable, "-c", run, "serve", *where]


def _config(folder: Path, base: str) -> Path:
    """LiteLLM's configuration: one model, and nothing that costs time and can be left out. JSON is YAML."""
    said = {
        "model_list": [
            {
                "model_name": MODEL,
                "litellm_params": {"model": f"openai/{MODEL}", "api_base": f"{base}/v1", "api_key": "sk-bench"},
            }
        ],
        "litellm_settings": {"set_verbose": False, "json_logs": False, "num_retries": 0, "request_timeout": 600},
        "general_settings": {
            "disable_spend_logs": True,
            "disable_error_logs": True,
            # On loopback, for the time of the bench.
            "dangerously_permit_weak_or_unset_master_key": True,
        },
    }
    path = folder / "litellm.yaml"
    path.write_text(json.dumps(said, indent=1), "utf-8")
    return path


__all__ = ["BARE", "DIRECT", "FOLDING", "LITELLM", "UNTOUCHED", "NotStarted", "Target", "running"]
