from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from foldaway.errors import FoldawayError, MissingExtra, SettingsError
from foldaway.lab.likelihood import llama
from foldaway.lab.likelihood.llama import LlamaScorer, PackagedModel, model_file


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model's packages, each with three bytes in it; the folder to join them in."""
    packages = tmp_path / "packages"
    monkeypatch.syspath_prepend(str(packages))
    for number, name in enumerate(MADE_UP.packages, 1):
        (packages / name).mkdir(parents=True)
        (packages / name / "part.bin").write_bytes(bytes([number] * 3))
        source = 'def get_part_path():\n    return __file__.replace("__init__.py", "part.bin")\n'
        (packages / name / "__init__.py").write_text(source, "utf-8")
    return tmp_path / "models"


MADE_UP = PackagedModel(
    name="made-up", sha256=hashlib.sha256(b"\1\1\1\2\2\2").hexdigest(), packages=("made_up_part_1", "made_up_part_2"),
    group="models-large",
)  # fmt: skip


def test_the_model_is_joined_from_its_packages_once(parts: Path) -> None:
    file = model_file(parts, MADE_UP)
    assert file.read_bytes() == b"\1\1\1\2\2\2"
    made = file.stat().st_mtime_ns
    assert model_file(parts, MADE_UP).stat().st_mtime_ns == made
    assert [path.name for path in parts.iterdir()] == [file.name]


def test_a_model_that_is_not_the_pinned_one_is_refused(parts: Path) -> None:
    model_file(parts, MADE_UP).write_bytes(b"\1\1\1\2\2\3")
    with pytest.raises(SettingsError, match=r"SHA-256.*remove the file"):
        model_file(parts, MADE_UP)


def test_the_cache_folder_is_where_the_user_keeps_caches(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(parts / "cache"))
    assert model_file(model=MADE_UP).parent == parts / "cache" / "foldaway" / "models"


def test_a_missing_package_is_named_with_its_group(parts: Path) -> None:
    with pytest.raises(MissingExtra, match=r"made_up_part_9.*`models-large`"):
        model_file(parts, replace(MADE_UP, packages=("made_up_part_9",)))
    assert not list(parts.glob("*.gguf"))


def test_a_file_that_is_not_there_is_a_settings_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="not a file"):
        LlamaScorer(tmp_path / "no.gguf")


def test_ends_count_bytes_also_of_pieces_that_are_not_whole_text() -> None:
    assert llama._ends([{"piece": "hé"}, {"piece": [0xF0, 0x9F]}, {"piece": [0x98, 0x80]}]) == (3, 5, 7)


@pytest.fixture(scope="module")
def scorer() -> Iterator[LlamaScorer]:
    path = os.environ.get("FOLDAWAY_GGUF", "")
    if not path:
        pytest.skip("FOLDAWAY_GGUF names no model file")
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    made = LlamaScorer(Path(path), window_tokens=512)
    yield made
    made.close()


@pytest.mark.slow
def test_a_real_model_finds_likely_what_it_has_read(scorer: LlamaScorer) -> None:
    told = scorer.loglik(
        "The key of the box is 8f3a-zulu. Nothing else happened.", "\nThe key of the box is 8f3a-zulu."
    )
    untold = scorer.loglik("Nothing else happened.", "\nThe key of the box is 8f3a-zulu.")
    assert told.tokens == untold.tokens
    assert told.ends == untold.ends
    assert told.total - untold.total > 20


@pytest.mark.slow
def test_a_real_model_adds_up_over_a_cut(scorer: LlamaScorer) -> None:
    whole = scorer.loglik("one two three", " four five six")
    first = scorer.loglik("one two three", " four")
    rest = scorer.loglik("one two three four", " five six")
    assert first.tokens + rest.tokens == whole.tokens
    assert first.total + rest.total == pytest.approx(whole.total, abs=0.2)


@pytest.mark.slow
def test_what_does_not_fit_the_window_is_refused(scorer: LlamaScorer) -> None:
    with pytest.raises(FoldawayError, match="do not fit the window of 512"):
        scorer.loglik("word " * 600, "next")
