from __future__ import annotations

from typing import Any

import pytest

from foldaway import Prices, Session, SettingsError
from foldaway.engine.benefit import benefit, future_calls, moment, pace
from foldaway.engine.planner import Planned
from foldaway.engine.triggers import Triggers
from foldaway.model.plan import Benefit
from foldaway.model.prices import ANTHROPIC, NO_CACHE, OPENAI, PLAIN, PriceList, price_list
from foldaway.testing.histories import working_session


def session(steps: int = 41, **settings: Any) -> Session:
    made = Session(**{"budget": 4_000, "policy": "window", **settings})
    made.append(working_session("openai_chat", steps, words=100))
    return made


def planned(made: Session) -> Planned:
    found = made.engine.preview()
    assert found is not None
    return found


def priced(made: Session, prices: PriceList = PLAIN, **fields: object) -> Benefit:
    engine, found = made.engine, planned(made)
    return benefit(
        log=engine.log, shown=engine.shown, view=engine.view_cache, fixed_tokens=engine.fixed_tokens,
        commit=found.commit, after=found.shown, prices=prices, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def kept_and_fresh(made: Session) -> tuple[int, int]:
    """Tokens of the messages that a commit leaves in front, and of those that no prompt held yet."""
    before, per_turn = made.engine.view_cache.messages, made.engine.view_cache.per_turn
    twin = session()
    after = twin.view().messages
    same = next(n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    kept = made.engine.fixed_tokens + sum(made.engine.log.counter.message(m) for m in before[:same])
    return kept, per_turn[max(per_turn)]


def test_the_terms_are_those_of_the_formula() -> None:
    made = session()
    found, commit = priced(made), planned(made).commit
    freed = commit.tokens_before - commit.tokens_after
    assert found.saved_per_call == pytest.approx(0.1 * freed, abs=0.01)
    assert found.total == found.future_calls * found.saved_per_call - found.cache_break
    # The break: what is behind the goal is written anew at 1.25 instead of read at 0.1; the last turn is new anyway.
    kept, fresh = kept_and_fresh(made)
    assert found.cache_break == pytest.approx(1.15 * (commit.tokens_after - kept - fresh), abs=0.02)


def test_what_a_call_really_costs_more_or_less_is_the_formula_at_one_call() -> None:
    made = session()
    found, commit = priced(made), planned(made).commit
    kept, fresh = kept_and_fresh(made)
    without = PLAIN.cost(commit.tokens_before - fresh, commit.tokens_before)
    with_it = PLAIN.cost(kept, commit.tokens_after)
    assert found.saved_per_call - found.cache_break == pytest.approx(without - with_it, abs=0.02)


def test_a_cold_cache_turns_the_break_into_a_gain() -> None:
    made = session()
    assert priced(made).cache_break > 0 > priced(made, cold=True).cache_break
    assert priced(made, cold=True).total > priced(made).total


def test_without_a_cache_every_freed_token_counts_and_nothing_breaks() -> None:
    made = session()
    found, commit = priced(made, NO_CACHE), planned(made).commit
    assert found.cache_break == 0
    assert found.saved_per_call == commit.tokens_before - commit.tokens_after


def test_a_view_that_falls_below_the_smallest_cached_prompt_loses_its_cache() -> None:
    # 900 tokens at the base price cost more than 3,000 read at a tenth.
    assert OPENAI.cost(900, 900) == 900 > OPENAI.cost(3_000, 3_000)
    made = session(budget=1_000)
    assert planned(made).commit.tokens_after < OPENAI.minimum_tokens
    assert priced(made, OPENAI).saved_per_call < priced(made, PLAIN).saved_per_call


def test_future_calls_follow_the_pace_of_the_session_and_its_age() -> None:
    made = session()
    step = made.engine.log.step
    assert future_calls(made.engine.log, 0) == 1
    assert future_calls(made.engine.log, 10**9) == step
    per_step = pace(made.engine.log)
    assert future_calls(made.engine.log, int(20 * per_step)) == pytest.approx(10, abs=1)
    assert pace(Session(budget=100).engine.log) == 1.0


def test_the_moment_is_now_for_large_gains_and_else_a_cold_cache_or_a_boundary() -> None:
    def worth(share: float, *, cold: bool = False, cache_break: float = 0.0) -> Benefit:
        return Benefit(future_calls=5, saved_per_call=10, cache_break=cache_break, freed_share=share, cold=cold)

    assert moment(worth(0.31), boundary="") == "large gain"
    assert moment(worth(0.3), boundary="") == ""
    assert moment(worth(0.1, cold=True), boundary="") == "the cache is cold"
    assert moment(worth(0.1), boundary="task boundary, user-turn") == "task boundary, user-turn"
    assert moment(worth(0.9, cold=True, cache_break=50), boundary="user-turn") == ""
    assert moment(worth(0.2), boundary="", at_once_share=0.1) == "large gain"


def test_a_commit_that_nobody_forces_waits_until_it_pays() -> None:
    cheap, dear = Prices(read=0.1, write=0.1, name="free break"), Prices(read=0.0, write=5.0, name="dear break")
    eager: dict[str, Any] = {"budget": 20_000, "high_share": 0.2, "low_share": 0.1}
    assert session(prices=cheap, **eager).view().commit is not None
    assert session(prices=dear, **eager).view().commit is None


def test_every_commit_records_what_it_was_expected_to_earn_and_why_it_was_made() -> None:
    with session() as made:
        commit = made.view().commit
        assert commit is not None
        assert commit.benefit is not None
        assert commit.benefit.why == "forced"
        told = made.ledger[-1]["benefit"]
        assert told["saved_per_call"] == commit.benefit.saved_per_call
        assert told["why"] == "forced"


def test_a_small_gain_waits_for_the_cache_to_be_cold_and_the_ledger_says_so() -> None:
    triggers = Triggers(window_share=0.1, at_once_share=1.0)
    with session(budget=20_000, low_share=0.1, triggers=triggers, prices="anthropic") as made:
        assert made.view().commit is None
        assert made.view(idle_seconds=299).commit is None
        commit = made.view(idle_seconds=301).commit
        assert commit is not None
        assert commit.trigger == "window-share 0.1"
        assert commit.benefit is not None
        assert commit.benefit.why == "the cache is cold"
        assert [e["type"] for e in made.ledger] == ["cold-cache", "commit"]
    with session(budget=20_000, low_share=0.1, triggers=triggers) as made:
        # This list's cache lasts for ever, so only the caller can know.
        assert made.view(idle_seconds=10**6).commit is None
        assert made.view(cache_cold=True).commit is not None


def test_prices_are_named_given_or_refused_with_what_there_is() -> None:
    assert price_list(None) is PLAIN
    assert price_list("anthropic") is price_list("anthropic-5m") is ANTHROPIC
    own = price_list(Prices(read=0.2, write=1.5, name="own"))
    assert (own.cost(100, 200), own.minimum_tokens) == (170.0, 0)
    with pytest.raises(SettingsError, match=r"known: .*anthropic-1h.*openai"):
        Session(prices="acme")
