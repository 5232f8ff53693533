from __future__ import annotations

import pytest

from foldaway.compressors.base import Fact, Hint
from foldaway.compressors.checker import unsupported
from foldaway.compressors.table import TableText

CSV = "user_id,age,city,score\n" + "\n".join(
    f"u_{n:04},{20 + n % 50},{'Oslo' if n % 3 else 'Bergen'},{n}.5" for n in range(300)
)
MARKDOWN = "| name | kind |\n|------|------|\n" + "\n".join(f"| col_{n} | text |" for n in range(60))
PSQL = " id | state \n----+-------\n" + "\n".join(f" {n + 1000} | open" for n in range(80)) + "\n(80 rows)\n"
PANDAS = "      name   type  rows\n" + "\n".join(f"{n:<4}  col_{n:02}   int64   {n * 11}" for n in range(60))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (CSV, "csv"),
        (CSV.replace(",", "\t"), "tsv"),
        (CSV.replace(",", ";"), "table with ;"),
        (MARKDOWN, "markdown table"),
        (PSQL, "sql result"),
        (PANDAS, "aligned table"),
    ],
    ids=["csv", "tsv", "semicolons", "markdown", "psql", "pandas"],
)
def test_tables_are_told_by_their_form(text: str, form: str) -> None:
    assert TableText().matches(text, Hint()) > 0.5
    digest = TableText().digest(text, Hint(), len(text) // 4)
    assert digest.content == form
    assert unsupported(digest.text, text) == ()
    assert f"[{form}: " in digest.text


def test_header_and_first_and_last_row_stay_word_for_word() -> None:
    shown = TableText().digest(CSV, Hint(), len(CSV) // 4).text.split("\n")
    assert shown[0] == "user_id,age,city,score"
    assert shown[1] == "u_0000,20,Bergen,0.5"
    assert "u_0299,69,Oslo,299.5" in shown


def test_columns_are_described() -> None:
    shown = TableText().digest(CSV, Hint(), 600).text
    assert "[csv: 300 rows, 4 columns; age 20 to 69; city: Bergen, Oslo; score 0.5 to 299.5]" in shown


def test_the_extremes_are_facts_with_their_lines() -> None:
    found = TableText().digest(CSV, Hint(), 600).facts
    assert Fact("smallest age", "20", 2) in found
    assert Fact("largest score", "299.5", 301) in found
    assert Fact("column", "city", 1) in found


def test_a_header_that_does_not_fit_gives_the_names_that_do() -> None:
    names = [f"column_number_{n}" for n in range(40)]
    text = ",".join(names) + "\n" + "\n".join(",".join(str(n * k) for k in range(40)) for n in range(12))
    shown = TableText().digest(text, Hint(), 300).text
    assert shown.startswith("column_number_0,column_number_1,")
    assert " more columns" in shown.split("\n")[0]


def test_quoted_cells_may_hold_the_separator() -> None:
    text = "id,name,n\n" + "\n".join(f'{n},"Smith, A{n}",7' for n in range(50))
    assert "id 0 to 49; n: 7]" in TableText().digest(text, Hint(), 500).text


@pytest.mark.parametrize(
    "text",
    [
        "func f(a, b int) {\n\treturn a, b\n}\n\nfunc g(c, d int) {\n\treturn c, d\n}\n",
        "Well, it was late, and, as ever, it rained.\nThey left, then, for good.\nNobody knew, or cared, why.\n",
        "one\ntwo\nthree\nfour",
        "\n".join(f"{n:>6}\tsome_{n} = {n}" for n in range(1, 40)),
    ],
)
def test_code_and_prose_are_no_tables(text: str) -> None:
    assert TableText().matches(text, Hint()) < 0.5
