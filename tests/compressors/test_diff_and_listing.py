from __future__ import annotations

from foldaway.compressors.base import Fact, Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.diff import Diff
from foldaway.compressors.listing import Listing
from foldaway.compressors.paths import expanded, grouped, shared_folder

GIT = """diff --git a/src/app/main.py b/src/app/main.py
index 83db48f..bf269f4 100644
--- a/src/app/main.py
+++ b/src/app/main.py
@@ -10,9 +10,10 @@ def run_all(rows):
     one_before = 1
     two_before = 2
     three_before = 3
-    old_total = sum(rows)
+    new_total = sum(rows)
+    print(new_total)
     one_after = 1
     two_after = 2
     three_after = 3
diff --git a/README.md b/README.md
index 1111111..2222222 100644
--- a/README.md
+++ b/README.md
@@ -1,3 +1,3 @@
 title of the thing
-old words here
+new words here
 more context words
"""
HITS = "".join(f"src/pkg/mod_{n % 3}.py:{n + 1}:    value_{n} = compute(rows)\n" for n in range(30))
PATHS = [f"/srv/project/src/pkg_{n % 4}/file_{n}.py" for n in range(40)]
LONG = "total 12\n" + "".join(f"-rw-r--r-- 1 root root {n + 4096} Nov 30 19:29 file_{n}.txt\n" for n in range(20))


def test_changed_lines_go_before_context_and_files_are_counted() -> None:
    made = Diff().digest(GIT, Hint(), 420)
    assert Diff().matches(GIT, Hint()) == 0.95
    assert "diff --git a/src/app/main.py b/src/app/main.py [2 lines added, 1 removed]" in made.text
    assert "+    new_total = sum(rows)" in made.text.split("\n")
    assert "index 83db48f" not in made.text
    assert Fact("file", "README.md", 15) in made.facts
    assert unsupported(made.text, GIT) == ()


def test_a_stat_is_a_diff_too() -> None:
    stat = " src/a.py | 12 +++---\n src/b.py |  3 +\n 2 files changed, 9 insertions(+), 6 deletions(-)\n"
    assert Diff().matches(stat, Hint()) == 0.8
    assert "2 files changed" in Diff().digest(stat, Hint(), 90).text


def test_patches_of_other_tools_are_read() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n@@ def run():\n-    old_call()\n+    new_call()\n*** End Patch\n"
    )
    assert "*** Update File: src/a.py [1 lines added, 1 removed]" in Diff().digest(patch, Hint(), 120).text


def test_hits_stand_under_their_file_once() -> None:
    text = "\n".join(sorted(HITS.splitlines()))
    made = Listing().digest(text, Hint(), len(text) // 2)
    assert Listing().matches(text, Hint()) == 0.9
    assert made.content == "search hits"
    assert made.text.count("src/pkg/mod_1.py") == 1
    assert "src/pkg/mod_1.py [10 hits]" in made.text
    assert unsupported(made.text, text) == ()


def test_paths_of_one_folder_share_a_line_and_can_be_spelled_out() -> None:
    text = "\n".join(PATHS)
    made = Listing().digest(text, Hint(), len(text) // 2)
    assert made.text.startswith("[below /srv/project/src]\n")
    assert made.lost == ""
    assert set(PATHS) <= set(expanded(made.text).split())


def test_what_does_not_fit_is_counted() -> None:
    text, counted = grouped(PATHS, 140)
    assert len(text) <= 140
    assert counted >= 30
    assert " more entries]" in text
    assert "entries in 3 more folders]" in text


def test_folders_that_tools_fill_come_last() -> None:
    paths = [f"./node_modules/lib_{n}/index.js" for n in range(200)] + ["./src/main.js", "./src/view.js"]
    text, _ = grouped(paths, 300)
    assert "./src/{main.js,view.js}" in text


def test_wanted_names_come_first() -> None:
    assert "file_39.py" in grouped(PATHS, 150, wanted=("file_39.py",))[0]


def test_the_shared_folder_is_a_whole_one() -> None:
    assert shared_folder(["/srv/project/ab", "/srv/project/ac", "/srv/project/ad"]) == "/srv/project/"
    assert shared_folder(["a/b", "a/c", "a/d"]) == ""


def test_long_rows_lose_rights_owners_and_dates() -> None:
    made = Listing().digest(LONG, Hint(), len(LONG) // 2)
    assert "4097 file_1.txt" in made.text.split("\n")
    assert "root" not in made.text
    assert made.lost == "rights, owners and dates"


def test_a_folder_with_a_number_between_hyphens_is_no_hit() -> None:
    text = "".join(f"work/fix-109-text/src/rows.go-{n}-\tload_{n} := 1\n" for n in range(30, 90))
    made = Listing().digest(text, Hint(), len(text) // 4)
    assert made.content == "search hits"
    assert made.text.startswith("work/fix-109-text/src/rows.go [")


def test_hits_that_go_on_as_other_output_are_taken_as_output() -> None:
    hits = "".join(f"src/m.go:{n}:\tmap_{n} string\n" for n in range(8))
    rest = "".join(f"\tif spec_{n} == nil || strings.HasSuffix(spec_{n}) {{\n" for n in range(200))
    made = Listing().digest(hits + rest, Hint(), 2_000)
    assert made.content == "output"
    assert len(made.text) > 1_800


def test_the_first_lines_of_a_long_diff_stay_together_with_their_context() -> None:
    hunk = "@@ -{0},3 +{0},4 @@\n     keep_this_{0}()\n-    old_name_{0}()\n+    new_name_{0}()\n     and_that_{0}()\n"
    text = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n" + "".join(hunk.format(n) for n in range(10, 90))
    made = Diff().digest(text, Hint(), len(text) // 4)
    first = "".join(hunk.format(n) for n in range(10, 14))
    assert first in made.text
    assert "new_name_30" in made.text
    assert len(made.text) <= len(text) // 4
