from __future__ import annotations

from collections.abc import Sequence

import pytest

from foldaway.digesting.incremental import Running, RunningDigest
from foldaway.digesting.prompt import MERGING, UPDATING
from foldaway.digesting.writer import Writer
from foldaway.errors import DigestError, SettingsError
from foldaway.testing.free_text import DIGEST, REPORT


class Scripted:
    """A transport that answers from a list, the last answer again and again."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []
        self.systems: list[str] = []

    def __call__(self, messages: Sequence[dict[str, str]], max_tokens: int) -> str:
        self.systems.append(messages[0]["content"])
        self.prompts.append(messages[1]["content"])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def writer(transport: Scripted, **settings: int | bool) -> Writer:
    return Writer(complete=transport, name="small", **settings)  # type: ignore[arg-type]


def test_exact_values_that_the_model_left_out_stand_beside_its_words() -> None:
    text = f"{REPORT}\nbuild: 7.4.1\nexit code 137\n"
    made = writer(Scripted(DIGEST)).write(text, room_chars=1000)
    assert made.startswith(f"{DIGEST}\nvalues: ")
    assert len(made) <= 1000
    assert "exit code=137" in made
    assert "version=7.4.1" in made


def test_no_value_stands_there_where_it_would_pass_the_room() -> None:
    text = f"{REPORT}\nexit code 137\n"
    assert writer(Scripted(DIGEST)).write(text, room_chars=len(DIGEST) + 5) == DIGEST


def test_what_room_is_left_holds_the_digest_by_rule() -> None:
    made = writer(Scripted(DIGEST)).write(REPORT, room_chars=2_000)
    assert 1_500 < len(made) <= 2_000
    extract = made.split("\nextract:\n")[1]
    sentences = [s for s in extract.split("\n") if s.startswith(("The harbour", "Engineers", "Open question"))]
    assert sentences
    assert all(s in REPORT for s in sentences)


def test_what_stands_beside_a_result_may_be_named() -> None:
    said = f"{DIGEST} It is page tide_7 of the archive."
    with pytest.raises(DigestError, match="tide_7"):
        writer(Scripted(said)).write(REPORT, room_chars=1000)
    assert writer(Scripted(said)).write(REPORT, room_chars=1000, beside='{"page": "tide_7"}').startswith(said)


def test_thoughts_and_a_fence_around_the_answer_are_taken_off() -> None:
    answer = f"<think>pier 4711?</think>\n```text\n{DIGEST}\n```"
    assert writer(Scripted(answer)).write(REPORT, room_chars=len(DIGEST)) == DIGEST


def test_a_secret_does_not_leave_and_does_not_come_back() -> None:
    secret = "ghp_" + "a1B2" * 9
    transport = Scripted(DIGEST + " The token is [redacted:github-token:1].")
    made = writer(transport).write(f"{REPORT}\ntoken {secret}", room_chars=1000)
    assert secret not in transport.prompts[0]
    assert "[redacted]" in made
    assert "github-token:1" not in made
    writer(plain := Scripted(DIGEST), redact=False).write(f"{REPORT}\ntoken {secret}", room_chars=1000)
    assert secret in plain.prompts[0]


def test_a_giant_is_read_in_pieces_that_are_merged() -> None:
    transport = Scripted(DIGEST)
    text = REPORT * 3
    made = writer(transport, piece_chars=10_000, most_pieces=8).write(text, room_chars=1000)
    assert made.startswith(DIGEST)
    assert len(transport.prompts) == 4
    assert all(len(prompt) < 10_700 for prompt in transport.prompts)
    assert transport.systems[3].startswith(MERGING)
    assert transport.prompts[3].count(DIGEST) >= 2


def test_of_what_is_larger_still_it_says_how_much_was_read() -> None:
    transport = Scripted(DIGEST)
    made = writer(transport, piece_chars=10_000, most_pieces=2).write(REPORT * 4, room_chars=1000)
    assert len(transport.prompts) == 3
    assert made.startswith(f"{DIGEST}\n(read: 2 of 4 sections)\n")


def test_the_merged_digest_is_checked_against_the_text_not_against_the_parts() -> None:
    with pytest.raises(DigestError, match="literals"):
        writer(Scripted(DIGEST, DIGEST, DIGEST.replace("pier 21", "pier 4711")), piece_chars=10_000).write(
            REPORT * 2, room_chars=1000
        )


def test_an_answer_that_repeats_the_task_is_no_digest() -> None:
    with pytest.raises(DigestError, match="echo"):
        writer(Scripted(f"Summarise for the agent what stands here. {DIGEST}")).write(REPORT, room_chars=1000)


def test_a_transport_that_breaks_is_a_digest_error() -> None:
    with pytest.raises(DigestError, match="crash: ZeroDivisionError"):
        writer(Scripted(ZeroDivisionError("secret"))).write(REPORT, room_chars=1000)


def test_pieces_too_small_to_hold_the_digests_are_refused() -> None:
    with pytest.raises(SettingsError, match="piece_chars 1000"):
        writer(Scripted(""), piece_chars=1_000, most_pieces=10)


STAGE = [REPORT[n * 1800 : n * 1800 + 1800] for n in range(5)]


def test_a_running_digest_reads_what_is_new_and_every_few_updates_everything() -> None:
    said = "The harbour office of Brakwick moved its tide gauge; engineers compared the readings with the ledger."
    transport = Scripted(said)
    digest = RunningDigest(writer=writer(transport), room_chars=600, rewrite_every=3)
    running = Running()
    for text in STAGE:
        running = digest.update(running, text)
    assert (running.text.startswith(said), running.failed, len(running.originals)) == (True, "", 5)
    updates = [system.startswith(UPDATING) for system in transport.systems]
    assert updates == [False, True, True, False, True]
    assert STAGE[0] not in transport.prompts[2]
    assert all(text in transport.prompts[3] for text in STAGE[:4])


def test_a_failed_update_gives_the_digest_by_rule_and_the_next_one_starts_anew() -> None:
    said = "The harbour office of Brakwick moved its tide gauge; engineers compared the readings with the ledger."
    transport = Scripted(said, "I'm sorry, I can't do that today.", said)
    digest = RunningDigest(writer=writer(transport), room_chars=600)
    first = digest.update(Running(), STAGE[0])
    second = digest.update(first, STAGE[1])
    assert second.failed.startswith("refusal")
    assert 0 < len(second.text) <= 600
    third = digest.update(second, STAGE[2])
    assert (third.text.startswith(said), third.updates) == (True, 0)


def test_a_literal_of_an_older_text_is_known_in_a_later_update() -> None:
    old = "Chapter 1 says that the gauge went to pier 7 of the harbour office."
    digest = RunningDigest(writer=writer(Scripted(old)), room_chars=600)
    running = digest.update(digest.update(Running(), STAGE[0]), "Nothing new about the gauge of the office.\n" * 20)
    assert (running.failed, running.text) == ("", old)


def test_a_stage_that_fits_is_its_own_digest() -> None:
    digest = RunningDigest(writer=writer(Scripted(RuntimeError())), room_chars=600)
    assert digest.update(Running(), "One short text.").text == "One short text."


def test_an_answer_that_runs_over_its_room_is_cut_at_a_sentence() -> None:
    said = " ".join(f"The harbour office moved its tide gauge in chapter {n}." for n in range(1, 13))
    digest = writer(Scripted(said)).write(REPORT[:4_000], room_chars=400)
    assert len(digest) <= 400
    assert digest.split("\n")[0].endswith("chapter 7.")


@pytest.mark.parametrize("said", ["x" * 500, "The harbour office moved its tide gauge. " * 40])
def test_one_without_an_end_in_its_room_or_far_too_long_fails(said: str) -> None:
    with pytest.raises(DigestError, match="too-long"):
        writer(Scripted(said)).write(REPORT[:4_000], room_chars=400)
