"""The commands and their options. What they do is imported when one runs, so that `--help` starts at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldaway.cli.lab_app import lab
from foldaway.cli.memory_app import memory
from foldaway.cli.pool_app import pool
from foldaway.cli.store_app import move, store

EPILOG = (
    "Exit codes: 0 done; 1 something failed on the way; 2 bad usage or unusable input. Data on stdout, talk on stderr."
)

app = typer.Typer(
    name="foldaway",
    help="Manage the context window of long-running agents: fold away by structure, recall byte for byte.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode=None,
    add_completion=False,
)
app.add_typer(lab, name="lab", epilog=EPILOG)
app.add_typer(store, name="store", epilog=EPILOG)
app.add_typer(memory, name="memory", epilog=EPILOG)
app.add_typer(pool, name="pool", epilog=EPILOG)
app.command(name="move", epilog=EPILOG)(move)

Json = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of text.")]
Model = Annotated[str, typer.Option(help="Model to count tokens for; its window, where known, is a ceiling.")]
Policy = Annotated[str, typer.Option(help="Policy by name; `foldaway policies` lists them.")]
Budget = Annotated[int, typer.Option(min=1, help="Most tokens of a request, system prompt and tools included.")]
Call = Annotated[int | None, typer.Option(help="Stop before this call, from 0; without it, at the end of the session.")]
SessionName = Annotated[str, typer.Option("--session", help="Which session of a file (or store) with several.")]
StoreUrl = Annotated[
    str, typer.Option("--store", help="Look into a store instead of a file: sqlite:///PATH, postgresql://...")
]
User = Annotated[str, typer.Option(help="Whose session in the store.")]
Joined = Annotated[bool, typer.Option("--joined", help="All sessions of a file as one, one after the other.")]
LowShare = Annotated[
    float | None,
    typer.Option(help="A commit frees down to this share of the room above what is pinned; default: the preset's."),
]
HighShare = Annotated[
    float | None, typer.Option(help="A commit starts at this share of that room; default: the preset's.")
]


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        import foldaway

        typer.echo(f"foldaway {foldaway.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog=EPILOG)
def fit(
    file: Annotated[str, typer.Argument(help="A request, a list of messages or a recorded session; - reads stdin.")],
    budget: Annotated[
        int | None, typer.Option(min=1, help="Most tokens to send, system prompt and tools included.")
    ] = None,
    window: Annotated[int | None, typer.Option(min=1, help="The model's window, where --model does not tell.")] = None,
    max_output_tokens: Annotated[
        int | None, typer.Option(min=0, help="Room kept in the window for the answer.")
    ] = None,
    format: Annotated[str, typer.Option(help="auto, openai_chat, openai_responses or anthropic_messages.")] = "auto",
    policy: Policy = "auto",
    model: Model = "",
    system_file: Annotated[Path | None, typer.Option(help="A text file with the system prompt.")] = None,
    recall: Annotated[
        str, typer.Option(help="How stubs say to get things back: directive, tool or none.")
    ] = "directive",
    low_share: LowShare = None,
    high_share: HighShare = None,
    session: SessionName = "",
    json: Json = False,
) -> None:
    """One history in, the managed request out, in the shape it came in; what was done goes to stderr.

    At least one of --budget, --window and a --model with a known window is needed. With --json: an object with the
    request, its tokens, the budget, missing_tokens (over the budget because pinned content takes more), warnings and
    the folded items. A list with --system-file comes out as a request with "system" or "instructions".
    """
    from foldaway.cli import report

    report.fit(
        file, system_file, format=format, session=session, as_json=json, budget=budget, window=window,
        max_output_tokens=max_output_tokens, policy=policy, model=model, recall=recall, low_share=low_share,
        high_share=high_share,
    )  # fmt: skip


@app.command(epilog=EPILOG)
def replay(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Recorded sessions: files, or folders with all below.")
    ] = None,
    budget: Annotated[str, typer.Option(help="Tokens, several separated by commas: 16000,32k.")] = "16000",
    policy: Annotated[
        str, typer.Option(help="Policies separated by commas; full sends everything; or all.")
    ] = "auto,window,full",
    views: Annotated[
        Path | None, typer.Option(help="Write what each call would have sent, one JSON line a call.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes. With more than one per core, times grow.")] = 1,
    low_share: LowShare = None,
    high_share: HighShare = None,
    read_price: Annotated[float, typer.Option(min=0, help="Cached prompt token, as a share of the base price.")] = 0.1,
    write_price: Annotated[float, typer.Option(min=0, help="Prompt token that is not cached, likewise.")] = 1.25,
    model: Model = "",
    bundled: Annotated[bool, typer.Option("--bundled", help="The recorded sessions that come with foldaway.")] = False,
    joined: Joined = False,
    session: SessionName = "",
    json: Json = False,
) -> None:
    """Walk recorded sessions call by call under budgets and policies, and report what that saved and put at risk.

    --views FILE needs exactly one run: one session, one policy, one budget. Each line holds the number of the call,
    how many recorded messages it had seen, and the messages of its view in the session's wire format; a system
    prompt kept beside the messages stands under "system". With --json: {"results": [...], "pooled": [...]}.
    """
    from foldaway.cli import report

    code = report.replay(
        paths or [], budget, policy, views=views, jobs=jobs, shares=(low_share, high_share),
        prices=(read_price, write_price), model=model, bundled=bundled, joined=joined, session=session, as_json=json,
    )  # fmt: skip
    raise typer.Exit(code)


@app.command(epilog=EPILOG)
def benchmark(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of the published recordings.")] = "",
    policy: Annotated[
        str, typer.Option(help="Policies separated by commas; full sends everything; or all.")
    ] = "window,mask-old,clear-tools,lru,relevance,near-tail,cwl,auto",
    entry: Annotated[str, typer.Option(help="Only these of the twelve entries: 3,5.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Processes. With more than one per core, times grow.")] = 1,
    read_price: Annotated[float, typer.Option(min=0, help="Cached prompt token, as a share of the base price.")] = 0.1,
    write_price: Annotated[float, typer.Option(min=0, help="Prompt token that is not cached, likewise.")] = 1.25,
    markdown: Annotated[bool, typer.Option("--markdown", help="The figures of docs/benchmark.md, anew.")] = False,
    json: Json = False,
) -> None:
    """Replay the twelve entries of the public benchmark, each under its budget, and pool what each policy did.

    Budgets: 16k tokens; 32k where system prompt, tools and first user message take more than 8k, and for entries 1, 2
    and 12. With --json: {"results": [...], "pooled": [...]}. A missing recording stops it; --entry chooses others.
    """
    from foldaway.cli import report

    code = report.benchmark(
        folder, policy, entry, jobs=jobs, prices=(read_price, write_price), as_markdown=markdown, as_json=json
    )
    raise typer.Exit(code)


@app.command(epilog=EPILOG)
def show(
    file: Annotated[str, typer.Argument(help="A recorded session; none with --store.")] = "",
    call: Call = None,
    budget: Budget = 16_000,
    policy: Policy = "auto",
    model: Model = "",
    level: Annotated[str, typer.Option(help="Only items shown at: raw, masked, abstract, stub or hidden.")] = "",
    session: SessionName = "",
    joined: Joined = False,
    store: StoreUrl = "",
    user: User = "default",
    json: Json = False,
) -> None:
    """The window of a session at any call: every item with level, tokens, reason and stub, then the fold note.

    A file is replayed under the budget and policy; of a store (--store with --session) the last decisions are shown.
    """
    from foldaway.cli import report

    where = report.Where(file, call, budget, policy, model, session, joined, store, user)
    report.show(where, level, as_json=json)


@app.command(epilog=EPILOG)
def ledger(
    file: Annotated[str, typer.Argument(help="A recorded session; none with --store.")] = "",
    call: Call = None,
    budget: Budget = 16_000,
    policy: Policy = "auto",
    model: Model = "",
    session: SessionName = "",
    joined: Joined = False,
    store: StoreUrl = "",
    user: User = "default",
    json: Json = False,
) -> None:
    """Every decision of a session, call by call: what was done to how many items, the tokens freed, and why.

    A file is replayed under the budget and policy; of a store (--store with --session) its own ledger is shown.
    """
    from foldaway.cli import report

    where = report.Where(file, call, budget, policy, model, session, joined, store, user)
    report.ledger(where, as_json=json)


@app.command(epilog=EPILOG)
def perceive(
    file: Annotated[str, typer.Argument(help="A recorded session; none with --store.")] = "",
    call: Call = None,
    budget: Budget = 16_000,
    policy: Policy = "auto",
    model: Model = "",
    items: Annotated[int, typer.Option(min=0, help="So many items worth most, and worth least, are listed.")] = 5,
    session: SessionName = "",
    joined: Joined = False,
    store: StoreUrl = "",
    user: User = "default",
    json: Json = False,
) -> None:
    """What the window of a session holds at any call: tokens by part and level, age, repeats, and what items are worth.

    A file is replayed under the budget and policy; of a store (--store with --session) the last decisions are shown.
    """
    from foldaway.cli import report

    where = report.Where(file, call, budget, policy, model, session, joined, store, user)
    report.perceive(where, items, as_json=json)


@app.command(epilog=EPILOG)
def recall(
    what: Annotated[list[str], typer.Argument(metavar="[FILE] REF...", help="#12, 12-15, 12:40-80 (lines) or words.")],
    find: Annotated[str | None, typer.Option(help="Only the lines about these words.")] = None,
    call: Call = None,
    budget: Budget = 16_000,
    policy: Policy = "auto",
    model: Model = "",
    session: SessionName = "",
    joined: Joined = False,
    store: StoreUrl = "",
    user: User = "default",
    json: Json = False,
) -> None:
    """Bring things back, byte for byte, on stdout: no line break is added. FILE is left out with --store.

    Of a call and its result the result comes back. A look from here does not count as a fault of the session.
    """
    from foldaway.cli import report

    file, references = ("", what) if store else (what[0], what[1:])
    where = report.Where(file, call, budget, policy, model, session, joined, store, user)
    raise typer.Exit(report.recall(where, references, find, as_json=json))


@app.command(epilog=EPILOG)
def explain(
    what: Annotated[list[str], typer.Argument(metavar="[FILE] ITEM...", help="Item ids, such as 12 or #12.")],
    call: Call = None,
    budget: Budget = 16_000,
    policy: Policy = "auto",
    model: Model = "",
    session: SessionName = "",
    joined: Joined = False,
    store: StoreUrl = "",
    user: User = "default",
    json: Json = False,
) -> None:
    """Why an item is shown as it is: level, reason, commit, what depends on it and what it needs."""
    from foldaway.cli import report

    file, items = ("", what) if store else (what[0], what[1:])
    where = report.Where(file, call, budget, policy, model, session, joined, store, user)
    report.explain(where, items, as_json=json)


@app.command(epilog=EPILOG)
def demo(json: Json = False) -> None:
    """Replay the bundled sessions under a budget, and fold and recall one thing before your eyes."""
    from foldaway.cli import report

    raise typer.Exit(report.demo(as_json=json))


@app.command(epilog=EPILOG)
def bench(
    calls: Annotated[int, typer.Option(min=10, help="Calls of the made-up session; each adds two messages.")] = 500,
    budget: Budget = 16_000,
    policy: Policy = "auto",
    json: Json = False,
) -> None:
    """Time and memory of a call against the length of the history."""
    from foldaway.cli import report

    report.bench(calls, policy, budget, as_json=json)


@app.command(epilog=EPILOG)
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8787,
    openai_upstream: Annotated[
        str, typer.Option(help="Base URL for Chat Completions and Responses; empty turns them off.")
    ] = "https://api.openai.com",
    anthropic_upstream: Annotated[
        str, typer.Option(help="Base URL for Messages; empty turns them off.")
    ] = "https://api.anthropic.com",
    budget: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of a request; without it, the model's window.")
    ] = None,
    policy: Policy = "auto",
    store: Annotated[
        str, typer.Option(help="Where sessions live: sqlite:///PATH, postgresql://... or memory:.")
    ] = "sqlite:///foldaway.db",
    recall: Annotated[
        str, typer.Option(help="How a model asks for what is folded: auto, tool, directive or none.")
    ] = "auto",
    token: Annotated[
        str, typer.Option(envvar="FOLDAWAY_TOKEN", help="What clients must show: in a header, or in the path.")
    ] = "",
    redact: Annotated[bool, typer.Option("--redact", help="Keep secrets in tool output out of the store.")] = False,
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="Keep them in it encrypted; needs FOLDAWAY_ENCRYPTION_KEY_FILE.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes; they share the store.")] = 1,
    time_limit: Annotated[
        float, typer.Option(help="Seconds to decide on a request; after them a safe view goes out.")
    ] = 5.0,
    upstream_timeout: Annotated[float, typer.Option(help="Seconds without a byte from the upstream.")] = 600.0,
    most_body_bytes: Annotated[int, typer.Option(min=1, help="Larger requests are refused.")] = 64 << 20,
    most_upstream_bytes: Annotated[
        int, typer.Option(min=1, help="Larger requests are made smaller before they are sent.")
    ] = 30 << 20,
    most_requests: Annotated[int, typer.Option(min=1, help="Under way at once; more are told to come again.")] = 256,
    most_sessions: Annotated[int, typer.Option(min=1, help="Kept in memory; the others come from the store.")] = 128,
    most_kept_bytes: Annotated[
        int, typer.Option(min=1, help="Of the histories kept in memory; each takes about six times as much there.")
    ] = 128 << 20,
    path_prefix: Annotated[
        str, typer.Option(help="In front of all paths, such as /llm behind another proxy; cut off.")
    ] = "",
    grace_seconds: Annotated[int, typer.Option(min=0, help="For requests under way when it is told to stop.")] = 30,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log lines as JSON.")] = False,
) -> None:
    """The proxy: any agent, one base URL. Manages the context of agents that nobody changed.

    OpenAI Chat Completions and Responses, Anthropic Messages; everything else passes as it came. Logs go to stderr,
    GET /metrics is for Prometheus, GET /health for probes. Needs the extra: pip install 'foldaway[proxy]'.
    """
    from foldaway.cli import serving

    serving.serve(
        host, port, workers=workers, log_json=log_json, grace_seconds=grace_seconds, openai_upstream=openai_upstream,
        anthropic_upstream=anthropic_upstream, budget=budget, policy=policy, store=store, recall=recall, token=token,
        redact="encrypt" if encrypt else redact, time_limit_seconds=time_limit, upstream_seconds=upstream_timeout,
        most_body_bytes=most_body_bytes, most_upstream_bytes=most_upstream_bytes, most_requests=most_requests,
        most_sessions=most_sessions, most_kept_bytes=most_kept_bytes, path_prefix=path_prefix,
    )  # fmt: skip


@app.command(epilog=EPILOG)
def mcp(
    store: Annotated[
        str, typer.Option(help="Where the session is kept: sqlite:///PATH or postgresql://...")
    ] = "sqlite:///foldaway.db",
    session: Annotated[str, typer.Option(help="Which session of the store.")] = "default",
    user: User = "default",
) -> None:
    """An MCP server over stdio for one stored session: search, recall, pin, why.

    For agents that speak MCP, beside whatever manages their context. Needs the extra: pip install 'foldaway[mcp]'.
    """
    from foldaway.cli import serving

    serving.serve_mcp(store, session, user)


@app.command(epilog=EPILOG)
def policies(json: Json = False) -> None:
    """The policies that can be named, with what each does in one line."""
    from foldaway.cli import report

    report.policies(as_json=json)
