"""Many independent calls: in this process, over the cores of this machine, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import Any, TypeVar

from foldaway.errors import FoldawayError, MissingExtra, SettingsError

T = TypeVar("T")
R = TypeVar("R")
RAY = "ray"
ERROR_CHARS = 300
"""Of what Ray has to say when it cannot be reached."""
RAY_AHEAD = 2
"""Calls handed to Ray for each of its cores before one has come back: enough to keep it busy, few in its memory."""


def check_workers(workers: str) -> str:
    """`4`, `ray` (this machine as a cluster of its own) or `ray://HOST:PORT`. Raises SettingsError, MissingExtra."""
    text = workers.strip()
    if text == RAY or (text.startswith("ray://") and len(text) > len("ray://")):
        _import_ray()
        return text
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10_000):
        raise SettingsError(f"workers {workers!r}: expected a number of processes, ray, or ray://HOST:PORT")
    return text


def on_other_machines(workers: str) -> bool:
    """Whether the work may be done where this machine's files are not."""
    return workers.startswith("ray://")


def run_all(call: Callable[[T], R], tasks: Sequence[T], workers: str = "1") -> Iterator[tuple[int, R]]:
    """Yield (index of the task, what `call` made of it) as each is done; with one process, in order.

    `call` is a function of a module, tasks and results can be pickled. A first failure ends it. On a cluster each
    machine needs this package, in the same version.
    """
    if workers.startswith(RAY):
        yield from _on_ray(call, tasks, workers)
    elif int(workers) <= 1 or len(tasks) <= 1:
        yield from ((index, call(task)) for index, task in enumerate(tasks))
    else:
        yield from _in_processes(call, tasks, int(workers))


def _in_processes(call: Callable[[T], R], tasks: Sequence[T], workers: int) -> Iterator[tuple[int, R]]:
    # spawn: a forked child would inherit the locks of whatever threads the caller has.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=context) as pool:
        futures: dict[Future[R], int] = {pool.submit(call, task): index for index, task in enumerate(tasks)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
                # A result is kept by whoever asked for it; a future would hold on to it until the end.
                del futures[future]
        except BrokenProcessPool as error:
            raise FoldawayError(
                "a worker process was ended from outside (out of memory?); run again with fewer --workers: finished "
                "runs are kept"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _on_ray(call: Callable[[T], R], tasks: Sequence[T], workers: str) -> Iterator[tuple[int, R]]:
    ray = _import_ray()
    joined = not ray.is_initialized()
    if joined:
        _connect(ray, workers)
    try:
        remote = ray.remote(call)
        ahead = RAY_AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting: dict[Any, int] = {}
        for index, task in enumerate(tasks):
            if len(waiting) >= ahead:
                yield _next(ray, waiting)
            waiting[remote.remote(task)] = index
        while waiting:
            yield _next(ray, waiting)
    finally:
        if joined:
            ray.shutdown()


def _next(ray: Any, waiting: dict[Any, int]) -> tuple[int, Any]:
    (done,), _ = ray.wait(list(waiting), num_returns=1)
    try:
        return waiting.pop(done), ray.get(done)
    except ray.exceptions.RayTaskError as error:
        # What the call raised there, without Ray's own traceback in its text.
        raise (error.cause if isinstance(error.cause, Exception) else FoldawayError(str(error))) from None
    except ray.exceptions.RayError as error:
        told = " ".join(str(error).split())[:ERROR_CHARS]
        raise FoldawayError(f"the cluster lost a run ({told}); run again: finished runs are kept") from error


def _connect(ray: Any, workers: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if workers == RAY:
        # "local": a cluster of its own, whatever one that ran here before has left behind.
        options |= {"address": "local", "include_dashboard": False}
    else:
        options["address"] = workers
    try:
        # Its warnings say what the error below says.
        with warnings.catch_warnings(action="ignore"):
            ray.init(**options)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        told = " ".join(str(error).split())[:ERROR_CHARS]
        raise FoldawayError(f"no Ray cluster at {workers} ({told}); is `ray start --head` running there?") from error


def _import_ray() -> Any:
    # Nothing is reported to anybody unless the user says so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return import_module("ray")
    except ImportError as error:
        raise MissingExtra("workers on Ray need the extra ray: pip install 'foldaway[ray]'") from error
