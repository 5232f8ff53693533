"""Many paths in few lines: the folder they share said once, names of one folder in braces, as a shell would take them.

    [below /srv/app]
    src/{main.py,view.py}
    node_modules/ [1204 entries]

`expanded` spells the paths out again. Folders close to the top come first; folders that tools fill (.git,
node_modules, target, ...) come last and are mostly counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

FILLED_BY_TOOLS = frozenset(
    ".git node_modules __pycache__ .venv venv site-packages dist build target .tox .mypy_cache .pytest_cache .next "
    ".cache vendor .idea coverage .gradle .terraform".split()
)
MIN_SHARED = 10
"""A shorter common folder is not worth a line of its own."""

_GROUP = re.compile(r"([^\s{}]*)\{([^{}\n]*)\}")
_BELOW = re.compile(r"\[below ([^\]\n]+)\]\n")
_COUNT_CHARS = 24


def shared_folder(paths: Sequence[str]) -> str:
    """The folder, with its slash, that all paths lie below; "" when it is too short to be worth a line."""
    if len(paths) < 3:
        return ""
    low, high = min(paths), max(paths)
    size = 0
    while size < min(len(low), len(high)) and low[size] == high[size]:
        size += 1
    folder = low[: low.rfind("/", 0, size) + 1]
    return folder if len(folder) >= MIN_SHARED else ""


def grouped(paths: Sequence[str], room: int, wanted: Sequence[str] = ()) -> tuple[str, int]:
    """The paths in at most `room` characters and how many of them are only counted. O(n log n)."""
    below = shared_folder(paths)
    head = f"[below {below.rstrip('/')}]\n" if below else ""
    folders = _folders(paths, len(below))
    lines: dict[int, str] = {}
    left, counted = room - len(head) - _COUNT_CHARS * 2, 0
    missing_folders = missing = 0
    for place, folder, names in _ordered(folders, wanted):
        if left <= 0:
            missing_folders, missing = missing_folders + 1, missing + len(names)
            continue
        noise = bool(FILLED_BY_TOOLS & set(folder.split("/")))
        line, out = _line(folder, names, min(left, _COUNT_CHARS * 8) if noise else left)
        if not line:
            missing_folders, missing = missing_folders + 1, missing + len(names)
            continue
        lines[place] = line
        counted += out
        left -= len(line) + 1
    text = head + "\n".join(lines[place] for place in sorted(lines))
    if missing:
        text += f"\n[{missing} entries in {missing_folders} more folders]"
    return text, counted + missing


def expanded(digest_text: str) -> str:
    """A digest with each group of paths spelled out, with and without the shared folder. Linear in what comes out."""
    plain = _GROUP.sub(lambda m: " ".join(m.group(1) + name for name in m.group(2).split(",")), digest_text)
    below = _BELOW.search(plain)
    if below is None:
        return plain
    inside = plain[below.end() :]
    return f"{plain}\n" + "\n".join(f"{below.group(1)}/{path}" for path in inside.split())


def _folders(paths: Sequence[str], skip: int) -> dict[str, list[str]]:
    """Folder with its slash -> names in it; a folder that is listed and has a line of its own is not a name too."""
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            continue
        seen.add(path)
        rest = path[skip:]
        folder, slash, name = rest.rstrip("/").rpartition("/")
        if name:
            found.setdefault(folder + slash, []).append(name + ("/" if rest.endswith("/") else ""))
    for folder, names in found.items():
        names[:] = [n for n in names if f"{folder}{n.rstrip('/')}/" not in found]
    return {folder: names for folder, names in found.items() if names}


def _ordered(folders: dict[str, list[str]], wanted: Sequence[str]) -> Iterator[tuple[int, str, list[str]]]:
    """(place, folder, names), the most telling first; names and folders that hold wanted literals lead."""

    def rank(entry: tuple[int, str]) -> tuple[bool, bool, int, int]:
        place, folder = entry
        noise = bool(FILLED_BY_TOOLS & set(folder.split("/")))
        hit = any(w in folder or any(w in name for name in folders[folder]) for w in wanted) if wanted else False
        return not hit, noise, folder.count("/"), place

    for place, folder in sorted(enumerate(folders), key=rank):
        names = folders[folder]
        if wanted:
            names = sorted(names, key=lambda name: not any(w in name for w in wanted))
        yield place, folder, names


def _line(folder: str, names: Sequence[str], room: int) -> tuple[str, int]:
    """One folder in at most `room` characters and how many of its names are only counted; "" when nothing fits."""
    if len(names) == 1:
        line = folder + names[0]
        return (line, 0) if len(line) <= room else ("", 0)
    size = len(folder) + 2 + sum(map(len, names)) + len(names) - 1
    if size <= room:
        return f"{folder}{{{','.join(names)}}}", 0
    used, shown = len(folder) + 2 + _COUNT_CHARS, 0
    while shown < len(names) and used + len(names[shown]) + 1 <= room:
        used += len(names[shown]) + 1
        shown += 1
    rest = len(names) - shown
    if shown >= 2:
        return f"{folder}{{{','.join(names[:shown])}}} [{rest} more entries]", rest
    line = f"{folder or './'} [{rest + shown} entries]"
    return (line, rest + shown) if len(line) <= room else ("", 0)
