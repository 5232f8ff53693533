from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.lab.annotations import CALL_KINDS, Noise, NoisyKinds, declared_links, drawn
from foldaway.lab.needs import label
from foldaway.lab.noise import (
    Annotated,
    Mistake,
    Mode,
    annotating,
    noise_rows,
    noise_run,
    noise_series,
    noise_table,
)
from foldaway.lab.replay import foldaway_session, replay
from foldaway.lab.timeline import Voice, steps_of, timeline
from foldaway.linking.graph import Provenance
from foldaway.linking.kinds import Kinds
from foldaway.model.items import Kind
from foldaway.model.recorded import Recorded
from foldaway.session import Session
from foldaway.testing.histories import Writer, prose

RATES = tuple(n / 10 for n in range(6))
CALLS = [("read_file", {"path": f"src/a{n}.py"}, f"src/a{n}.py") for n in range(400)]


def walk(pairs: int, words: int = 60) -> Recorded:
    """Searches that name a file each, and a read of it two searches later."""
    writer = Writer("openai_chat")
    writer.user("Read what you find.")
    for n in range(pairs + 2):
        if n < pairs:
            writer.call("search", f"src/unit_{n}/part_{n}.py\n{prose(words, n)}", pattern="rate")
        if n >= 2:
            writer.call("read_file", prose(words, n), path=f"src/unit_{n - 2}/part_{n - 2}.py")
    return Recorded(name=f"walk-{pairs}", source_format="test", format="openai_chat", messages=writer.messages)


@pytest.fixture(scope="module")
def made() -> Recorded:
    return walk(12)


def annotated(recorded: Recorded, noise: Noise, mode: Mode, policy: str = "lru") -> Session:
    """The session at the end of a walk."""
    kept: list[Session] = []

    def keep(recorded: Recorded, policy: str, budget: int) -> Session:
        session = foldaway_session(recorded, policy, budget)
        assert isinstance(session, Session)
        kept.append(session)
        return session

    links = declared_links(recorded, label(recorded), noise)
    found = replay(recorded, policy, 1_500, make=annotating(links, noise, mode, keep))
    assert not found.error
    return kept[0]


def test_perfect_links_go_from_each_action_to_what_supplied_its_needs_and_never_forward(made: Recorded) -> None:
    labels = label(made)
    links = declared_links(made, labels)
    assert links.false == 0
    for step, needs in zip(steps_of(made), labels.needs, strict=True):
        assert links.needs.get(step.start, ()) == tuple(sorted({need.newest for need in needs}))
        assert all(at < step.start for at in links.needs.get(step.start, ()))
    assert links.true == sum(map(len, links.needs.values())) > 0


def test_missing_links_grow_with_the_rate_and_hit_it_on_average(small: Recorded) -> None:
    session = walk(150, words=3)
    labels = label(session)
    kept = [declared_links(session, labels, Noise(missing=rate)) for rate in RATES]
    whole = kept[0].true
    assert [links.true / whole for links in kept] == pytest.approx([1 - rate for rate in RATES], abs=0.1)
    for less, more in zip(kept[1:], kept, strict=False):
        assert all(set(ats) <= set(more.needs[position]) for position, ats in less.needs.items())
    assert declared_links(small, label(small), Noise(missing=1.0)).needs == {}


def test_false_links_point_to_earlier_observations_that_supplied_nothing(made: Recorded) -> None:
    labels = label(made)
    true = declared_links(made, labels).needs
    noisy = declared_links(made, labels, Noise(false=1.0))
    observed = {said.position for said in timeline(made) if said.voice is Voice.OBSERVED}
    assert noisy.false > 0
    for position, ats in noisy.needs.items():
        wrong = set(ats) - set(true[position])
        assert set(true[position]) <= set(ats)
        assert all(at in observed and at < position for at in wrong)


def test_another_seed_makes_other_mistakes_and_the_same_seed_the_same(made: Recorded) -> None:
    labels = label(made)
    first, again, other = (declared_links(made, labels, Noise(false=0.5, missing=0.5, seed=s)) for s in (1, 1, 2))
    assert first == again != other


def test_numbers_drawn_are_spread_evenly_over_the_unit_interval() -> None:
    numbers = [drawn(7, "x", n) for n in range(2_000)]
    assert all(0 <= number < 1 for number in numbers)
    assert sum(number < 0.3 for number in numbers) / 2_000 == pytest.approx(0.3, abs=0.03)


def test_kinds_are_misread_at_the_rate_and_always_as_another_kind() -> None:
    plain = NoisyKinds(Noise())
    noisy = NoisyKinds(Noise(kinds=0.3))
    assert all(plain.of_call(*call) is Kinds().of_call(*call) is Kind.READ for call in CALLS)
    said = [noisy.of_call(*call) for call in CALLS]
    assert sum(kind is not Kind.READ for kind in said) / len(CALLS) == pytest.approx(0.3, abs=0.07)
    assert set(said) <= set(CALL_KINDS)
    assert len(set(said)) == len(CALL_KINDS)
    assert said == [noisy.of_call(*call) for call in CALLS]


def test_a_shell_call_is_misread_once_not_twice() -> None:
    noisy = NoisyKinds(Noise(kinds=0.4))
    shells = [("bash", {"command": f"cat file_{n}.txt"}, "") for n in range(400)]
    wrong = sum(noisy.of_call(name, arguments, f"{arguments}") is not Kind.READ for name, arguments, _ in shells)
    assert wrong / 400 == pytest.approx(0.4, abs=0.08)


def test_declared_only_keeps_value_reuse_out_of_the_graph_and_combined_lets_it_in(made: Recorded) -> None:
    # A declared link takes the place of one inferred for the same pair: some must be missing for both to be there.
    noise = Noise(missing=0.5)
    found = {mode: {link.provenance for link in annotated(made, noise, mode).engine.log.graph.links()} for mode in Mode}
    assert found[Mode.DECLARED] == {Provenance.DECLARED}
    assert found[Mode.INFERRED] == {Provenance.OBSERVED}
    assert found[Mode.COMBINED] == {Provenance.DECLARED, Provenance.OBSERVED}


def test_declared_links_reach_the_items_of_the_suppliers(made: Recorded) -> None:
    session = annotated(made, Noise(), Mode.DECLARED)
    links = declared_links(made, label(made)).needs
    # The answer of the last step never came back as history, so nothing was declared for it.
    last = steps_of(made)[-1].start
    expected = {
        (source, target)
        for position, ats in links.items()
        if position < last
        for source in session.items_of(position)
        for at in ats
        for target in session.items_of(at)
    }
    assert {(link.source, link.target) for link in session.engine.log.graph.links()} == expected
    assert expected


def test_misread_kinds_change_the_items_of_the_session(made: Recorded) -> None:
    true = [item.kind for item in annotated(made, Noise(), Mode.COMBINED).items()]
    noisy = [item.kind for item in annotated(made, Noise(kinds=0.5), Mode.COMBINED).items()]
    assert len(true) == len(noisy)
    assert 0.25 < sum(a is not b for a, b in zip(true, noisy, strict=True)) / 24 < 0.75


def test_a_session_that_takes_no_annotations_is_refused(newest: Callable[..., Any], small: Recorded) -> None:
    links = declared_links(small, label(small))
    make = annotating(links, Noise(), Mode.DECLARED, lambda *_: newest(keep=2))
    with pytest.raises(TypeError, match="takes no annotations"):
        make(small, "newest", 1_000)
    inferred = annotating(links, Noise(), Mode.INFERRED, lambda *_: newest(keep=2))
    assert not isinstance(inferred(small, "newest", 1_000), Annotated)


def test_rates_outside_the_unit_interval_are_refused() -> None:
    with pytest.raises(ValueError, match="kinds"):
        Noise(kinds=1.5)


def test_rows_cover_the_grid_and_a_policy_without_eyes_for_links_stays_as_it_is(made: Recorded) -> None:
    rows = noise_run([made], ["window", "lru"], 1_500, rates=(0.0, 0.5))
    assert len(rows) == 2 * (1 + 2 * 4 * 2)
    window = [row for row in rows if row.policy == "window"]
    assert len({(row.steps, row.bill_share) for row in window if row.mistake in ("", "missing", "false")}) == 1
    assert all(row.failed == 0 and row.steps.total > 0 for row in rows)
    declared = {(row.mistake, row.rate): row for row in window if row.mode == "declared"}
    assert declared["missing", 0.5].true_links < declared["missing", 0.0].true_links
    assert declared["false", 0.5].false_links > declared["false", 0.0].false_links == 0
    assert declared["kinds", 0.5].true_links == declared["kinds", 0.0].true_links


def test_the_same_run_gives_the_same_rows_and_the_table_has_a_line_for_each_mistake(made: Recorded) -> None:
    first, again = (noise_run([made], ["lru"], 1_500, rates=(0.0, 0.3), mistakes=[Mistake.ALL]) for _ in range(2))
    assert first == again
    assert json.loads(json.dumps(noise_rows(first)))[0]["mode"] == "inferred"
    table = noise_table(first).splitlines()
    assert table[0].split() == ["policy", "mode", "wrong", "0", "%", "30", "%"]
    assert [line.split()[1] for line in table[2:5]] == ["inferred", "declared", "combined"]
    assert [rate for rate, _ in noise_series(first)["lru combined all"]] == [0.0, 0.3]
