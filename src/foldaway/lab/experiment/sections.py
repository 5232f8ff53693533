"""Sections of a report that last: each measurement beside an experiment leaves its own in `DIR/sections`, as data.

The page of the folder shows all that are there, in the order of their file names. A file says which release made it
and, where its figures speak of the rows of an experiment, of which rows; one that does not fit is left out and named.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import foldaway
from foldaway.lab.experiment.keep import code_hash, decode, encode
from foldaway.lab.experiment.report.section import Section

FOLDER = "sections"
LAYOUT = 1
"""Version of the files."""

Tell = Callable[[str], None]


def tell_on_stderr(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """A section on disk."""

    layout: int
    foldaway: str
    code: str
    """Hash of the source that measured."""
    about: str
    """`rows_hash` of the rows that it speaks of; empty: it speaks of none."""
    section: Section


def write_section(folder: Path, section: Section, *, order: int, name: str, about: str = "") -> Path:
    """Keep a section for the page of this folder, in place of an earlier one of this order and name (0 to 99)."""
    file = folder / FOLDER / f"{order:02}-{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    lasting = Lasting(layout=LAYOUT, foldaway=foldaway.__version__, code=code_hash(), about=about, section=section)
    part = file.with_name(f"{file.name}.part")
    part.write_text(json.dumps(encode(lasting), indent=1) + "\n", "ascii")
    part.replace(file)
    return file


def read_sections(folder: Path, about: str, tell: Tell) -> list[Section]:
    """The sections kept in a folder that go with the rows `about`, each saying what measured it.

    One that cannot be used is left out, and `tell` is told why in one line.
    """
    found: list[Section] = []
    for file in sorted((folder / FOLDER).glob("*.json")):
        try:
            lasting: Lasting = decode(Lasting, json.loads(file.read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            tell(f"{file}: not a section of this release ({error}); left out of the report, measure again")
            continue
        wrong = _out_of_date(lasting, about)
        if wrong:
            tell(f"{file}: {wrong}; left out of the report, measure again")
        else:
            found.append(_signed(lasting))
    return found


def _out_of_date(lasting: Lasting, about: str) -> str:
    if (lasting.layout, lasting.foldaway) != (LAYOUT, foldaway.__version__):
        return f"made by foldaway {lasting.foldaway}, this is {foldaway.__version__}"
    return "speaks of other results than those in this folder" if lasting.about not in ("", about) else ""


def _signed(lasting: Lasting) -> Section:
    section = lasting.section
    signature = f"Measured by foldaway {lasting.foldaway}, source `{lasting.code}`."
    return Section(title=section.title, key=section.key, parts=[*section.parts, signature])
