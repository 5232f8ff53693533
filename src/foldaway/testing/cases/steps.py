"""The steps of a case, one function each: what it does to the system, and what it leaves for the checks."""

from __future__ import annotations

import copy
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from foldaway.testing.cases.generators import CaseError
from foldaway.testing.cases.outcome import Order
from foldaway.testing.cases.reading import Message, as_bytes, results_of
from foldaway.testing.cases.system import Listed, NotApplicable, Recalled
from foldaway.testing.cases.walk import Action, Produced, Walk, only, set_timezone, text_of


def append(walk: Walk, step: Mapping[str, Any]) -> Produced:
    walk.joined(step["append"])
    return {}


def fit(walk: Walk, step: Mapping[str, Any]) -> Produced:
    session = walk.session()
    since, walk.since_fit = walk.since_fit, 0.0
    name = str(step["fit"])
    return walk.fitted(session.fit, name, since, session)


def count(walk: Walk, step: Mapping[str, Any]) -> Produced:
    return {"count": walk.session().count()}


def compact(walk: Walk, step: Mapping[str, Any]) -> Produced:
    walk.session().compact()
    return {}


def budget(walk: Walk, step: Mapping[str, Any]) -> Produced:
    walk.setup = replace(walk.setup, budget=step["budget"])
    walk.session().set_budget(budget=walk.setup.budget, window=walk.setup.window)
    return {}


def model(walk: Walk, step: Mapping[str, Any]) -> Produced:
    wanted = step["model"]
    only("model", wanted, {"window", "budget"})
    budget, window = wanted.get("budget", walk.setup.budget), wanted.get("window", walk.setup.window)
    walk.setup = replace(walk.setup, budget=budget, window=window)
    walk.session().set_budget(budget=budget, window=window)
    return {}


def report_usage(walk: Walk, step: Mapping[str, Any]) -> Produced:
    walk.session().report_usage(step["report_usage"])
    return {}


def echo(walk: Walk, step: Mapping[str, Any]) -> Produced:
    wanted = step["echo"]
    text = walk.session().stand_in(walk.labelled(wanted).position)
    if text is None:
        raise NotApplicable(f"{wanted['of']} was not evicted, so nothing stands in for it")
    role = wanted.get("role", "assistant")
    if role not in ("assistant", "user"):
        raise CaseError(f"step echo: role {role!r} is not known")
    message: Message = {"role": role, "content": text}
    if walk.run.format == "openai_responses":
        kind = "output_text" if role == "assistant" else "input_text"
        message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    if label := wanted.get("_label") or step.get("_label"):
        message["_label"] = label
    walk.joined([message])
    return {}


def adopt(walk: Walk, step: Mapping[str, Any]) -> Produced:
    name = str(step["adopt"])
    if name not in walk.sent:
        raise CaseError(f"step adopt: there is no fit {name!r}")
    taken = copy.deepcopy(walk.sent[name].messages)
    walk.history = copy.deepcopy(taken)
    walk.order = Order()
    walk.order.extend(walk.history)
    walk.guard, walk.unchecked = walk.guard[:2], 0
    walk.watch("the adopted history", taken)
    walk.session().sync(taken)
    return {}


def recall(walk: Walk, step: Mapping[str, Any]) -> Produced:
    wanted = step["recall"]
    only("recall", wanted, {"of", "key", "handle", "handle_of", "find", "nth", "append_exchange"})
    session = walk.session()
    if "key" in wanted:
        return {"recalled": session.note(key=str(wanted["key"]))}
    if "of" not in wanted:
        handle = str(wanted["handle"]) if "handle" in wanted else walk.handles[str(wanted["handle_of"])]
        return {"recalled": session.note(handle=handle)}
    named = walk.labelled(wanted)
    handles = named.handles or tuple(session.handles_of(named.position))
    if step.get("append_exchange") or wanted.get("append_exchange"):
        exchange = session.recall_exchange(handles, wanted.get("find"))
        texts = tuple(result.text for message in exchange for result in results_of(message))
        walk.joined(exchange, exchange=True)
        return {"recalled": Recalled(text="\n".join(texts), parts=texts, found=bool(exchange))}
    recalled = session.recall(handles, wanted.get("find"))
    if not recalled.found and session.stand_in(named.position) is None:
        recalled = Recalled(text=text_of(named.message))
    return {"recalled": recalled}


def remember(walk: Walk, step: Mapping[str, Any]) -> Produced:
    wanted = step["remember"]
    only("remember", wanted, {"text", "key", "at", "handle_as"})
    noted = walk.session().remember(wanted["text"], wanted["key"], wanted.get("at"))
    with walk.lock:
        walk.run.input_bytes += len(wanted["text"]) + len(wanted["key"])
        walk.run.told.append(Listed(text=wanted["text"], key=wanted["key"]))
        if handle_as := step.get("handle_as") or wanted.get("handle_as"):
            walk.handles[str(handle_as)] = noted.handle
    return {}


def search(walk: Walk, step: Mapping[str, Any]) -> Produced:
    return {"listed": tuple(walk.session().search(step["search"]["query"]))}


def entries(walk: Walk, step: Mapping[str, Any]) -> Produced:
    return {"listed": tuple(walk.session().notes())}


def as_user(walk: Walk, step: Mapping[str, Any]) -> Produced:
    walk.user = step.get("as_user", walk.user)
    walk.name = step.get("session", walk.name)
    return {}


def set_clock(walk: Walk, step: Mapping[str, Any]) -> Produced:
    walk.clock.set(step["set_clock"])
    return {}


def advance_clock(walk: Walk, step: Mapping[str, Any]) -> Produced:
    walk.clock.advance(float(step["advance_clock"]["seconds"]))
    return {}


def wait(walk: Walk, step: Mapping[str, Any]) -> Produced:
    time.sleep(float(step["wait"]["seconds"]))
    return {}


def restart(walk: Walk, step: Mapping[str, Any]) -> Produced:
    if isinstance(step["restart"], dict):
        only("restart", step["restart"], {"timezone"})
        set_timezone(step["restart"]["timezone"])
    walk.close_sessions()
    # Opened at once: what is wrong with the store must come up here, not at some later step.
    walk.session()
    return {}


def tear(walk: Walk, step: Mapping[str, Any]) -> Produced:
    # A kill leaves on disk what is in the files at that moment: a copy of them is exactly that.
    killed = walk.store / str(int(walk.root.name) + 1)
    shutil.copytree(walk.root, killed)
    walk.close_sessions()
    shutil.rmtree(walk.root)
    walk.root = killed
    walk.driver.tear(killed, float(step["tear_last_record"]["keep_fraction"]))
    return {}


def upstream(walk: Walk, step: Mapping[str, Any]) -> Produced:
    walk.in_front().upstream(step["upstream"]["reply_text"])
    return {}


def request(walk: Walk, step: Mapping[str, Any]) -> Produced:
    wanted = step["request"]
    only("request", wanted, {"path", "body", "raw_body"})
    body = wanted["raw_body"] if "raw_body" in wanted else as_bytes(wanted["body"])
    return {"answer": walk.in_front().request(wanted["path"], body.encode("utf-8", "surrogatepass"))}


ACTIONS: dict[str, Action] = {
    "append": append,
    "fit": fit,
    "count": count,
    "compact_now": compact,
    "budget": budget,
    "model": model,
    "report_usage": report_usage,
    "recall": recall,
    "search": search,
    "remember": remember,
    "entries": entries,
    "echo": echo,
    "adopt": adopt,
    "as_user": as_user,
    "session": as_user,
    "set_clock": set_clock,
    "advance_clock": advance_clock,
    "wait": wait,
    "restart": restart,
    "tear_last_record": tear,
    "upstream": upstream,
    "request": request,
}
