from __future__ import annotations

import re

import pytest

from foldaway.compressors import outline as outlines
from foldaway.compressors import tree
from foldaway.compressors.base import Hint
from foldaway.compressors.outline import Definition, by_shape, language_of, outline
from foldaway.compressors.source import Source, unnumbered

PYTHON = '''"""Rows of a table."""

import os
from app.core import open_store

LIMIT_ROWS = 1200


class RowReader:
    """Reads rows.

    Slowly.
    """

    def __init__(self, path: str) -> None:
        # Kept for later.
        self._path = path
        self._store = open_store(path)

    @property
    def store(self):
        return self._store

    async def read(
        self,
        row_id: int,
    ) -> str:
        found = await self._store.fetch_one(row_id)
        if found is None:
            raise KeyError(f"no row {row_id}")
        return found.decode_value()


def main():
    reader = RowReader(os.environ["ROWS_PATH"])
    print(reader.read(17))
'''
TYPESCRIPT = """import { Session } from "./session.js";

export interface Options {
  maxTokens: number;
}

export class Agent {
  private session: Session;

  constructor(private options: Options) {
    this.session = new Session(options.maxTokens);
  }

  async run(prompt: string): Promise<string> {
    const reply = await this.session.sendPrompt(prompt);
    return reply.text;
  }
}

export const startAgent = (options: Options) => {
  return new Agent(options);
};
"""
GO = """package main

import "fmt"

type Store struct {
\tPath string
}

func (s *Store) Load(id int) error {
\tif id < 0 {
\t\treturn fmt.Errorf("bad id %d", id)
\t}
\treturn nil
}

func main() {
\tfmt.Println("ok")
}
"""
RUST = (
    "pub struct Row {\n    id: u32,\n}\n\nimpl Row {\n    pub fn load(id: u32) -> Row {\n        Row { id }\n    }\n}\n"
)
JAVA = """package a;

public class Row {
    private int id;

    public int loadRow(int id) {
        return id;
    }
}
"""


@pytest.fixture(params=["by shape", "tree-sitter"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to an outline; the second only where the extra is installed."""
    if request.param == "by shape":
        monkeypatch.setattr(tree, "knows", lambda language: False)
    elif not tree.knows("python"):
        pytest.skip("the extra `code` (tree-sitter) is not installed")
    return str(request.param)


@pytest.mark.parametrize(
    ("text", "language", "names"),
    [
        (PYTHON, "python", {"RowReader", "__init__", "store", "read", "main"}),
        (TYPESCRIPT, "typescript", {"Options", "Agent", "constructor", "run", "startAgent"}),
        (GO, "go", {"Store", "Load", "main"}),
        (RUST, "rust", {"Row", "load"}),
        (JAVA, "java", {"Row", "loadRow"}),
    ],
    ids=["python", "typescript", "go", "rust", "java"],
)
def test_the_definitions_of_a_language_are_found(parser: str, text: str, language: str, names: set[str]) -> None:
    assert {d.name for d in outline(text.split("\n"), language)} == names


@pytest.mark.parametrize(
    ("text", "path"),
    [(PYTHON, "a.py"), (TYPESCRIPT, "a.ts"), (GO, "a.go"), (RUST, "a.rs"), (JAVA, "A.java")],
    ids=["python", "typescript", "go", "rust", "java"],
)
def test_both_ways_to_an_outline_keep_the_same_signatures(
    text: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tree.knows("python"):
        pytest.skip("the extra `code` (tree-sitter) is not installed")
    lines, language = text.split("\n"), language_of(path)
    by_tree = outline(lines, language)
    parsed = Source().digest(text, Hint(path=path), len(text) * 2 // 3).text.split("\n")
    monkeypatch.setattr(tree, "knows", lambda language: False)
    plain = outline(lines, language)
    told = Source().digest(text, Hint(path=path), len(text) * 2 // 3).text.split("\n")
    # A decorated function may begin at its decorator or at its name.
    assert [d.name for d in by_tree] == [d.name for d in plain]
    assert all(abs(a.start - b.start) <= 1 for a, b in zip(by_tree, plain, strict=True))
    signatures = {lines[d.start] for d in by_tree} & {lines[d.start] for d in plain}
    kept = signatures & set(parsed)
    # Extents differ by a line here and there, and with them what else finds room.
    assert len(kept ^ (signatures & set(told))) <= 1
    assert kept


def test_a_definition_knows_its_signature_and_its_end(parser: str) -> None:
    read = next(d for d in outline(PYTHON.split("\n"), "python") if d.name == "read")
    lines = PYTHON.split("\n")
    assert lines[read.start].strip() == "async def read("
    assert lines[read.body].strip().startswith("found = await")
    assert "decode_value" in lines[read.end - 1]


def test_fragments_are_outlined_by_shape() -> None:
    fragment = "        return 1\n\n    def second(self):\n        return 2\n".split("\n")
    assert by_shape(fragment) == [Definition("function", "second", 2, 3, 5)]


def test_python_that_does_not_parse_is_outlined_all_the_same() -> None:
    assert [d.name for d in outlines.outline(["def broken(:", "    pass", "def whole():", "    pass"], "python")]


def test_signatures_stay_and_comments_go(parser: str) -> None:
    made = Source().digest(PYTHON, Hint(path="rows.py"), 560)
    assert made.content == "python source"
    for line in ("class RowReader:", "    def __init__(self, path: str) -> None:", "def main():"):
        assert line in made.text.split("\n")
    assert "Slowly" not in made.text
    assert ("class", "RowReader", 9) in [(f.key, f.value, f.line) for f in made.facts]
    assert "bodies of" in made.lost


@pytest.mark.parametrize("sign", ["→", "\t", ":"])
def test_line_numbers_of_a_read_are_taken_off_and_live_on_in_the_gaps(sign: str) -> None:
    text = "\n".join(f"{n:>6}{sign}{line}" for n, line in enumerate(PYTHON.split("\n"), 200))
    bare, numbers = unnumbered(text.split("\n"))
    assert "\n".join(bare) == PYTHON
    assert numbers[0] == 200
    made = Source().digest(text, Hint(), 560)
    assert "def main():" in made.text.split("\n")
    gaps = re.findall(r"\[lines (\d+)-(\d+)", made.text)
    assert gaps
    assert all(200 <= int(a) < int(b) <= 236 for a, b in gaps)


def test_numbers_that_do_not_count_up_are_no_line_numbers() -> None:
    assert unnumbered(["12:a", "90:b", "41:c", "7:d"])[1] == ()


def test_a_read_is_told_by_its_path_or_by_its_look() -> None:
    source = Source()
    assert source.matches(PYTHON, Hint(path="a/rows.py")) >= 0.85
    assert source.matches(TYPESCRIPT, Hint()) >= 0.6
    assert source.matches("Dear all,\n\nthank you for coming.\nSee you soon.\n", Hint()) == 0.0
    assert language_of("a/b.tsx") == "tsx"
    assert language_of("notes.md") == ""


def test_wanted_literals_bring_their_lines() -> None:
    made = Source().digest(PYTHON, Hint(path="rows.py", wanted=("decode_value",)), 300)
    assert "        return found.decode_value()" in made.text


def test_keys_of_a_yaml_file_stay() -> None:
    text = "\n".join(f"section_{n}:\n  # why\n  key: {n}\n  list:\n    - one\n    - two" for n in range(12))
    made = Source().digest(text, Hint(path="conf.yaml"), 300)
    assert made.content == "yaml source"
    assert sum(f"section_{n}" in made.text for n in range(12)) == 12


def test_one_stretch_of_whole_lines_stays_together() -> None:
    lines = [f"    total_{n} = add_rows(total_{n - 1}, {n})" for n in range(300)]
    text = "def sum_up():\n" + "\n".join(lines)
    shown = set(Source().digest(text, Hint(path="a.py"), len(text) // 4).text.split("\n"))
    run = longest = 0
    for line in lines:
        run = run + 1 if line in shown else 0
        longest = max(longest, run)
    assert longest >= 25
