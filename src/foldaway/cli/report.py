"""One function a command: gather what it needs, call, print."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from foldaway.cli import benchmarking, deciding, fitting, inspecting, perceiving, replaying
from foldaway.cli import demo as demonstration
from foldaway.cli.inputs import many_sessions, one_session
from foldaway.cli.output import clipped, say, show_bytes, show_json, warn
from foldaway.cli.output import show as write
from foldaway.errors import SettingsError
from foldaway.lab import bench as measure
from foldaway.lab import bench_table, progress_on_stderr, synthetic
from foldaway.lab.table import aligned
from foldaway.model.view import Explanation
from foldaway.session import Session
from foldaway.settings.parts import make_policy, policy_names
from foldaway.tokens import context_window

NEW_LINE = "\n"
TITLE_WIDTH = 60
STUB_WIDTH = 160
NOTE_LINES = 12
"""Lines of a fold note, and of a recalled text, that the demo prints."""


@dataclass(frozen=True, slots=True)
class Where:
    """Which session to look at, and at which of its calls."""

    file: str
    call: int | None
    budget: int
    policy: str
    model: str
    session: str
    joined: bool
    store: str
    user: str

    @contextmanager
    def open(self) -> Iterator[inspecting.Scene]:
        if bool(self.file) == bool(self.store):
            raise SettingsError("name a recorded session file, or --store with --session (not both)")
        if self.store:
            if not self.session:
                raise SettingsError("--store needs --session NAME")
            if self.call is not None:
                raise SettingsError("--call goes with a file; a store holds the last decisions only")
            with inspecting.stored(self.store, user=self.user, name=self.session) as scene:
                yield scene
        else:
            make_policy(self.policy)
            recorded = one_session(self.file, session=self.session, joined=self.joined)
            yield inspecting.at_call(recorded, self.call, budget=self.budget, policy=self.policy, model=self.model)


def fit(
    file: str, system_file: Path | None, *, format: str, session: str, as_json: bool, **settings: Any
) -> None:  # fmt: skip
    _check_fit(**settings)
    system = None if system_file is None else _text_of(system_file)
    request = fitting.read_request(file, format=format, system=system, session=session)
    fitted = fitting.fit_request(request, **settings)
    show_json(asdict(fitted) if as_json else fitted.request, indent=None)
    by_level: dict[str, int] = {}
    for item in fitted.folded:
        by_level[item["level"]] = by_level.get(item["level"], 0) + 1
    levels = ", ".join(f"{count} {level}" for level, count in sorted(by_level.items())) or "none"
    say(f"{request.format}: {fitted.tokens_before} tokens in, {fitted.tokens} out, budget {fitted.budget}")
    say(f"items folded: {levels}")
    for warning in fitted.warnings:
        warn(warning)


def replay(
    paths: Sequence[str], budgets: str, policies: str, *, views: Path | None, jobs: int,
    shares: tuple[float | None, float | None], prices: tuple[float, float], model: str, bundled: bool, joined: bool,
    session: str, as_json: bool,
) -> int:  # fmt: skip
    told = replaying.parse_budgets(budgets), replaying.parse_policies(policies)
    price_list = replaying.parse_prices(*prices)
    maker = replaying.Maker(model=model, low_share=shares[0], high_share=shares[1], prices=price_list)
    maker.check()
    sessions = many_sessions(paths, bundled=bundled, joined=joined, session=session)
    runs = replaying.plan_runs(sessions, told[1], told[0])
    results = replaying.replay_runs(runs, maker, jobs=jobs, views=views, progress=progress_on_stderr)
    pools = replaying.pooled(results)
    if as_json:
        rows = [[replaying.as_row(result, price_list) for result in group] for group in (results, pools)]
        show_json({"results": rows[0], "pooled": rows[1]})
    else:
        write(replaying.table(results, pools, price_list))
    return int(any(result.error for result in results))


def benchmark(
    folder: str, policies: str, entries: str, *, jobs: int, prices: tuple[float, float], as_markdown: bool,
    as_json: bool,
) -> int:  # fmt: skip
    if as_markdown and as_json:
        raise SettingsError("--markdown and --json exclude each other; name one")
    told, numbers = replaying.parse_policies(policies), benchmarking.parse_entries(entries)
    price_list = replaying.parse_prices(*prices)
    cases = benchmarking.read_cases(folder, numbers)
    scored = benchmarking.run_cases(cases, told, price_list, jobs=jobs, progress=progress_on_stderr)
    if as_json:
        show_json(benchmarking.as_json(scored, price_list))
    elif as_markdown:
        write(benchmarking.markdown(scored, price_list, datetime.now(UTC).date()))
    else:
        write(benchmarking.table(scored, price_list))
    return int(any(one.result.error for one in scored))


def show(where: Where, level: str, *, as_json: bool) -> None:
    with where.open() as scene:
        rows = inspecting.window(scene, level)
        note = inspecting.note_text(scene)
        if as_json:
            head = {"session": scene.name, "call": scene.call, "seen": scene.seen, "tokens": scene.tokens}
            show_json({**head, "budget": scene.budget, "items": rows, "note": note})
            return
        budget = "" if scene.budget is None else f", budget {scene.budget}"
        write(f"{scene.name} before call {scene.call}: {scene.seen} messages seen, view {scene.tokens} tokens{budget}")
        write(_window_table(rows) if rows else "no items" + (f" at level {level}" if level else ""))
        if note is not None and level in ("", "stub", "hidden"):
            write(f"\nthe fold note, as the model sees it:\n{note}")


def perceive(where: Where, items: int, *, as_json: bool) -> None:
    with where.open() as scene:
        perception = scene.session.perceive()
        if as_json:
            head = {"session": scene.name, "call": scene.call, "seen": scene.seen}
            show_json({**head, **perception.as_json()})
        else:
            write(perceiving.panel(perception, scene.name, scene.call, items))


def ledger(where: Where, *, as_json: bool) -> None:
    with where.open() as scene:
        rows = deciding.decisions(scene.session.ledger)
        if as_json:
            show_json({"session": scene.name, "calls": scene.call, "decisions": rows})
            return
        write(deciding.table(rows))
        if rows:
            write("")
            for line in deciding.totals(rows):
                write(line)


def recall(where: Where, references: Sequence[str], find: str | None, *, as_json: bool) -> int:
    if not references:
        raise SettingsError("what to recall is missing: an id (#12), a range (12-15), lines (12:40-80) or words")
    with where.open() as scene:
        found = inspecting.recalled(scene, references, find)
    if as_json:
        show_json({**asdict(found), "items": list(found.items)})
    else:
        show_bytes(found.text)
    if found.problem:
        warn(found.problem)
    return int(bool(found.problem))


def explain(where: Where, items: Sequence[str], *, as_json: bool) -> None:
    if not items:
        raise SettingsError("the item to explain is missing: an id such as 12; `foldaway show` lists them")
    with where.open() as scene:
        found = inspecting.explained(scene, items)
    if as_json:
        show_json([inspecting.explanation_row(explanation) for explanation in found])
    else:
        write("\n\n".join(_explanation(explanation) for explanation in found))


def demo(*, as_json: bool) -> int:
    sessions = demonstration.demo_sessions()
    results = demonstration.demo_results(sessions, progress_on_stderr)
    pools = replaying.pooled(results)
    shown = demonstration.demo_recall(sessions)
    prices = replaying.parse_prices(0.1, 1.25)
    if as_json:
        rows = [[replaying.as_row(result, prices) for result in group] for group in (results, pools)]
        recalled = {"session": shown.scene.name, "item": shown.item, "text": shown.text, "identical": shown.identical}
        show_json(
            {"results": rows[0], "pooled": rows[1], "note": shown.note, "recall": {**recalled, "line": shown.line}}
        )
    else:
        write(replaying.table(results, pools, prices))
        write(demonstration.story(shown, NOTE_LINES, STUB_WIDTH))
    return int(not shown.identical or any(result.error for result in results))


def bench(calls: int, policy: str, budget: int, *, as_json: bool) -> None:
    make_policy(policy)
    stretches = measure(
        synthetic(calls), policy, budget, progress=lambda done, total: progress_on_stderr(done, total, "calls")
    )
    if as_json:
        rows = [{**asdict(stretch), "calls": list(stretch.calls)} for stretch in stretches]
        show_json({"policy": policy, "budget_tokens": budget, "stretches": rows})
    else:
        write(bench_table(f"{policy}, budget {budget} tokens: time of append and view, per call", stretches))
        write("\nWhere the last row is near the second, a call costs what is new, however long the history.")


def policies(*, as_json: bool) -> None:
    rows = {name: _described(name) for name in policy_names()}
    if as_json:
        show_json([{"name": name, "description": text} for name, text in rows.items()])
    else:
        width = max(map(len, rows))
        write("\n".join(f"{name:<{width}}  {text}" for name, text in rows.items()))


def _check_fit(**settings: Any) -> None:
    """Before anything is read: settings that can be refused by themselves."""
    if settings["budget"] is None and settings["window"] is None and context_window(settings["model"]) is None:
        known = f"no window is known of model {settings['model']!r}: " if settings["model"] else ""
        raise SettingsError(f"{known}say --budget or --window, or a --model whose window is known")
    Session(**settings)


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not UTF-8 text (byte {error.start + 1}); save it as UTF-8") from error


def _described(policy: str) -> str:
    """The first line of what its file, or for a policy from elsewhere its class, says about itself."""
    kind = type(make_policy(policy)[1])
    text = sys.modules[kind.__module__].__doc__ or kind.__doc__ or ""
    return text.strip().split("\n", 1)[0]


def _window_table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [["item", "kind", "level", "tokens", "title", "reason"]]
    for row in rows:
        commit = "" if row["commit"] is None else f" (commit {row['commit']})"
        pinned = "pinned" if row["pinned"] else f"{row['reason']}{commit}"
        title = clipped(row["title"], TITLE_WIDTH)
        lines.append([f"#{row['item']}", row["kind"], row["level"], str(row["tokens"]), title, pinned])
    table = aligned([[*line[:3], line[3].rjust(7), *line[4:]] for line in lines], left=6).split("\n")
    out = table[:2]
    for line, row in zip(table[2:], rows, strict=True):
        out.append(line)
        if row["stub"]:
            out.append(f"    | {clipped(row['stub'].replace(NEW_LINE, ' ⏎ '), STUB_WIDTH)}")
    return "\n".join(out)


def _explanation(explanation: Explanation) -> str:
    since = "" if explanation.commit is None else f" since commit {explanation.commit} (call {explanation.step})"
    lines = [
        f"#{explanation.item} {explanation.title}",
        f"{explanation.kind}, {explanation.tokens} tokens, shown at level {explanation.level}{since}"
        + (", pinned" if explanation.pinned else ""),
        f"reason: {explanation.reason}",
        *_links("needed by", explanation.needed_by),
        *_links("needs", explanation.needs),
    ]
    if explanation.faults:
        lines.append(f"recalled while below raw: {explanation.faults} times")
    if explanation.stand_in is not None:
        lines.append(f"shown as: {clipped(explanation.stand_in, STUB_WIDTH)}")
    return "\n".join(lines)


def _links(title: str, links: Sequence[tuple[int, float, str, str]]) -> list[str]:
    if not links:
        return [f"{title}: nothing"]
    return [f"{title}: #{item} (weight {weight:g}, {who}: {why})" for item, weight, who, why in links]
