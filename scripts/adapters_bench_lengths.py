"""From which length on folding pays: the task of records, longer and longer, in a loop without any framework."""

from __future__ import annotations

import json
from typing import Any

from adapters_bench_recorder import Recorder
from adapters_bench_scripts import Records

from foldaway import Session
from foldaway.lab.prices import ANTHROPIC, NO_CACHE, OPENAI

LENGTHS = (25, 50, 100, 150, 200, 300, 450)
PRICES = (ANTHROPIC, OPENAI, NO_CACHE)


def play(recorder: Recorder, budget: int | None, model: str = "") -> None:
    """The whole script; without a budget nothing is managed."""
    script = recorder.script
    session = None if budget is None else Session(budget=budget, model=model, system=script.system, recall="tool")
    history: list[dict[str, Any]] = []
    for turn in script.turns:
        history.append({"role": "user", "content": turn.ask})
        while _call(recorder, session, history):
            pass


def _call(recorder: Recorder, session: Session | None, history: list[dict[str, Any]]) -> bool:
    """One call of the model and its tool; False when it answered in words."""
    view, tools = history, list(recorder.script.tools)
    if session is not None:
        session.sync(history)
        view = session.view().messages
        tools += ["recall"] if session.folds else []
    recorder.arrive()
    reply = recorder.answer([{"role": "system", "content": recorder.script.system}, *view], tools)
    if not reply.calls:
        history.append({"role": "assistant", "content": reply.text})
        return False
    call = reply.calls[0]
    function = {"name": call.name, "arguments": call.text}
    asked = {"id": call.id, "type": "function", "function": function}
    history.append({"role": "assistant", "content": None, "tool_calls": [asked]})
    recall = session is not None and call.name == "recall"
    result = session.recall_result(json.loads(call.text)) if session is not None and recall else recorder.call()
    history.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return True


def lengths_table(budget: int, model: str) -> str:
    """Markdown: for each length what is sent in all without management and with Foldaway, and what it costs."""
    columns = ("steps", "whole history at the end", "needs after recall", "recalls", *(
        f"{prices.name}: {arm}" for prices in PRICES for arm in ("nothing", "Foldaway", "share")
    ))  # fmt: skip
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("--:" for _ in columns) + " |"]
    for length in LENGTHS:
        script = Records(1, length).script()
        plain, folded = Recorder(script=script, format="openai_chat"), Recorder(script=script, format="openai_chat")
        play(plain, None)
        play(folded, budget, model)
        seen = sum(step[2] for step in folded.needed) / len(folded.needed)
        cells = [f"{length}", f"{plain.tokens[-1]:,}", f"{seen:.0%}", f"{folded.recalls}"]
        for prices in PRICES:
            one, two = plain.bill(prices), folded.bill(prices)
            cells += [f"{one:,.0f}", f"{two:,.0f}", f"{two / one:.0%}"]
        lines.append("| " + " | ".join(cells) + " |")
    title = f"Bills over lengths (the task of records, budget {budget:,} tokens, no framework):"
    return "\n".join(("", title, "", *lines))
