"""Retrieval measured on sets made up in the form of the public ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foldaway.cli.lab_app import lab
from foldaway.errors import ReadError
from foldaway.lab.retrieval import Answer, Measured, interval, measure
from foldaway.lab.retrieval_chance import unasked
from foldaway.lab.retrieval_exact import chinese_set, exact_set
from foldaway.lab.retrieval_meaning import meaning_sets
from foldaway.lab.retrieval_rankers import Bm25, own_rankers
from foldaway.lab.retrieval_sets import Doc, Query, RetrievalSet, read_sets
from foldaway.lab.retrieval_stale import facts_of, staleness
from foldaway.lab.retrieval_table import chance_table, exact_table, retrieval_rows, retrieval_table, stale_table
from foldaway.retrieval.hashed import HashedEmbedder
from foldaway.retrieval.words import content_words


def write(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(json.dumps(row) for row in rows).encode()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two of the sets, a few rows each."""
    bfcl = tmp_path / "bfcl"
    facts = ("My dog is called Juniper and is 7", "I live in Fairview with 3 cats", "I work as a nurse at 2 clinics")
    talk = {"id": "t", "topic": "pets", "question": [[{"role": "user", "content": fact}] for fact in facts]}
    asked = ("How old is my dog?", "Where do I live?", "What is my work?")
    questions = [
        {"id": f"q{n}", "question": [[{"role": "user", "content": text}]], "scenario": "home"}
        for n, text in enumerate(asked)
    ]
    write(bfcl / "memory_prereq_home.jsonl.gz", talk)
    write(bfcl / "BFCL_v4_memory.jsonl.gz", *questions)
    answers = [{"id": f"q{n}", "ground_truth": [""], "source": fact + "..."} for n, fact in enumerate(facts)]
    write(bfcl / "possible_answer-BFCL_v4_memory.jsonl.gz", *answers)
    keys = [[f"a54e2eed-e625-4570-9f74-{n:012}", f"703a7ce5-f17f-4e6d-b895-{n:012}"] for n in range(9)]
    row = {"ordered_kv_records": keys, "key": keys[4][0], "value": keys[4][1]}
    write(tmp_path / "kv-retrieval" / "kv-retrieval-75_keys.jsonl.gz", row)
    return tmp_path


def tiny() -> RetrievalSet:
    docs = (Doc(id="1", text="the cat drinks milk", source="s"), Doc(id="2", text="the dog barks", source="s"))
    queries = tuple(
        Query(text=text, gold=frozenset({gold}), group=f"{n}")
        for n, (text, gold) in enumerate((("milk", "1"), ("dog", "2")))
    )
    return RetrievalSet(name="tiny", docs=docs, queries=queries)


def test_sets_that_are_not_there_are_left_out_and_gold_is_found_by_its_source(folder: Path) -> None:
    bfcl, keys = read_sets(folder)
    assert (bfcl.name, keys.name) == ("bfcl-memory", "kv-retrieval")
    assert [sorted(query.gold) for query in bfcl.queries] == [["t/0"], ["t/1"], ["t/2"]]
    assert {query.scope for query in bfcl.queries} == {"home"}
    assert len(keys.docs) == 9


def test_a_folder_without_any_set_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"none of the retrieval sets.*bfcl-memory"):
        read_sets(tmp_path)


def test_a_set_in_another_form_is_an_error_that_names_it(folder: Path) -> None:
    (folder / "kv-retrieval" / "kv-retrieval-75_keys.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(ReadError, match="retrieval set kv-retrieval"):
        read_sets(folder)


def test_figures_by_hand() -> None:
    query = Query(text="q", gold=frozenset({"a", "b"}))
    answer = Answer(query=query, ranked=("x", "a", "y", "b"), ms=1.0)
    assert (answer.recall(1), answer.recall(2), answer.recall(5)) == (0.0, 0.5, 1.0)
    assert answer.reciprocal_rank == 0.5
    better = Measured(set_name="s", ranker="r", answers=(Answer(query=query, ranked=("a",), ms=2.0),))
    assert better.against(Measured(set_name="s", ranker="o", answers=(answer,))) == (1, 0)
    assert better.mrr == 1.0


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [1.0, 0.0, 0.5, 1.0, 0.0, 1.0]
    low, high = interval(values)
    assert 0.0 < low < sum(values) / 6 < high < 1.0
    assert interval(values) == (low, high)
    assert interval([0.5] * 4) == (0.5, 0.5)
    assert interval([]) == (0.0, 0.0)


def test_a_lead_is_judged_by_the_same_queries() -> None:
    asked = [Query(text=f"{n}", gold=frozenset({"a"})) for n in range(4)]

    def ranker(*firsts: str) -> Measured:
        answers = tuple(Answer(query=q, ranked=(first, "a"), ms=1.0) for q, first in zip(asked, firsts, strict=True))
        return Measured(set_name="s", ranker="r", answers=answers)

    lead, low, high = ranker("a", "a", "a", "x").lead(ranker("a", "x", "x", "x"))
    assert lead == 0.25
    assert 0.0 <= low < lead < high


def test_questions_in_other_english_words_share_none_with_their_answer() -> None:
    english, *others = meaning_sets()
    texts = {doc.id: doc.text for doc in english.docs}
    for query in english.queries:
        (gold,) = query.gold
        assert not set(content_words(query.text)) & set(content_words(texts[gold])), query.text
    assert len(english.docs) == 40
    assert all(one.docs == english.docs and len(one.queries) == 40 for one in others)


def test_queries_of_one_group_are_in_the_same_half(folder: Path) -> None:
    for one in read_sets(folder):
        halves: dict[str, set[bool]] = {}
        for query in one.queries:
            halves.setdefault(query.group, set()).add(query.chosen_on)
        assert all(len(half) == 1 for half in halves.values())


def test_every_ranker_finds_what_has_the_word_and_the_table_says_so() -> None:
    found = measure([tiny()], own_rankers([HashedEmbedder()]))
    assert [one.ranker for one in found] == ["bm25", "words", "vectors hashed", "hybrid hashed", "hybrid, no vectors"]
    assert all(one.mrr == 1.0 for one in found)
    assert "hybrid hashed" in retrieval_table(found)
    assert {row["half"] for row in retrieval_rows(found)} <= {"held out", "chosen on"}


def test_bm25_by_hand() -> None:
    ranker = Bm25()
    ranker.index(
        [Doc(id="1", text="a b", source=""), Doc(id="2", text="a a a b c", source=""), Doc(id="3", text="d", source="")]
    )
    assert ranker.rank(Query(text="a", gold=frozenset()), 5) == ["2", "1"]
    assert ranker.rank(Query(text="c a", gold=frozenset()), 1) == ["2"]
    assert ranker.rank(Query(text="zzz", gold=frozenset()), 5) == []


def test_literals_that_one_document_holds_are_found_first_chinese_included(folder: Path) -> None:
    sets = [*map(exact_set, read_sets(folder)), chinese_set(30)]
    assert sum(len(one.queries) for one in sets) > 40
    found = measure(sets, own_rankers([HashedEmbedder()]))
    hybrids = [one for one in found if one.ranker.startswith("hybrid") and one.answers]
    assert len(hybrids) == 4
    assert all(one.recall(1) == 1.0 for one in hybrids)
    assert "100.0" in exact_table(found)


def test_the_old_value_comes_first_only_while_nobody_says_what_it_is_about(folder: Path) -> None:
    bfcl, keys = read_sets(folder)
    facts = facts_of(bfcl)
    assert len(facts) == 3
    assert all(fact.old != fact.new for fact in facts)
    untold, _, told = staleness(bfcl, HashedEmbedder())
    assert untold.unmarked == untold.found == 3
    assert (told.old_first, told.unmarked, told.found) == (0, 0, 3)
    assert staleness(keys, None) == []
    assert "subject" in stale_table([untold, told])


def test_a_question_of_somebody_else_brings_in_less_than_ones_own() -> None:
    told = {"ann": ("My dog is called Juniper", "I sail"), "bob": ("My boat is red", "The club meets in May")}
    docs = tuple(Doc(id=text, text=text, source="s", scope=who) for who, texts in told.items() for text in texts)
    asked = [("What is my dog called, again?", "ann", 0), ("In which month does the club meet?", "bob", 1)]
    queries = tuple(
        Query(text=text, gold=frozenset({told[who][n]}), scope=who, group=next(g for g in "abcdefgh" if not half(g)))
        for text, who, n in asked
    )
    loose, bound = unasked(RetrievalSet(name="bfcl-memory", docs=docs, queries=queries), None)
    assert (loose.questions, loose.answered, bound.answered) == (2, 2, 2)
    assert bound.others <= loose.others < loose.own
    assert "silent" in chance_table([loose, bound])
    assert unasked(tiny(), None) == []


def half(group: str) -> bool:
    return Query(text="", gold=frozenset(), group=group).chosen_on


def test_the_command_shows_tables_and_keeps_them(folder: Path, tmp_path: Path) -> None:
    told = ["retrieval", "--data", str(folder), "--embedders", "none", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(lab, told)
    assert result.exit_code == 0, result.output
    assert "hybrid, no vectors" in result.stdout
    rows = json.loads((tmp_path / "out" / "retrieval.json").read_text("utf-8"))
    assert {"retrieval", "exact", "stale", "chance"} == set(rows)
    assert "MRR" in (tmp_path / "out" / "retrieval.txt").read_text("utf-8")


def test_unknown_sets_are_refused_with_what_there_is(folder: Path) -> None:
    result = CliRunner().invoke(lab, ["retrieval", "--data", str(folder), "--sets", "nope"])
    assert "kv-retrieval" in str(result.exception)
