"""The turn vault: the same in RAM, in PostgreSQL and in Redis."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.ports import TurnVault

MAIL = "ann" + "@" + "example.com"
MARK, OTHER = "<EMAIL:7K2QX3MD>", "<PHONE:AAAAAAAA>"
TTL = 3600
SLACK = 20
"""Seconds that a busy machine may take between two calls, since servers have clocks that go on."""
TEXTS = st.text(st.characters(exclude_categories=()), max_size=40)
"""Any code points, NUL and lone surrogates too."""
FEW = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.fast_cases(2)
async def test_it_is_a_turn_vault_whose_values_live_as_long_as_their_turn(kept):
    vault: TurnVault = kept.vault
    await vault.ahold("1", {MARK: MAIL})
    await vault.ahold("1", {OTHER: "0912345678", "message:m1": "你好, ёлка, Xin chào"})
    assert await kept.other.avalues("1") == {MARK: MAIL, OTHER: "0912345678", "message:m1": "你好, ёлка, Xin chào"}
    await kept.other.adrop("1")
    assert await vault.avalues("1") == {}
    await vault.adrop("1")


@pytest.mark.dialect
async def test_turns_are_kept_apart(kept):
    await kept.vault.ahold("1", {MARK: MAIL})
    await kept.vault.ahold("2", {MARK: "eve"})
    await kept.vault.adrop("2")
    assert await kept.vault.avalues("2") == {}
    assert await kept.vault.avalues("1") == {MARK: MAIL}
    assert await kept.vault.avalues("") == {}


async def test_a_name_keeps_the_value_it_had_first(kept):
    await kept.vault.ahold("1", {MARK: MAIL})
    await kept.other.ahold("1", {MARK: "eve", OTHER: "1"})
    assert await kept.vault.avalues("1") == {MARK: MAIL, OTHER: "1"}


async def test_of_writers_at_once_the_first_wins_for_all_readers(kept):
    for turn in map(str, range(10)):
        writers = [(kept.vault, "a"), (kept.other, "b")] * 3
        await asyncio.gather(*(v.ahold(turn, {MARK: said, f"own:{n}": said}) for n, (v, said) in enumerate(writers)))
        seen = await asyncio.gather(kept.vault.avalues(turn), kept.other.avalues(turn))
        assert seen[0] == seen[1]
        assert seen[0].pop(MARK) in {"a", "b"}
        assert seen[0] == {f"own:{n}": said for n, (_, said) in enumerate(writers)}


async def test_a_turn_ends_an_hour_after_it_was_last_added_to(kept):
    await kept.vault.ahold("1", {MARK: MAIL})
    kept.advance(TTL - SLACK)
    assert await kept.vault.avalues("1") == {MARK: MAIL}
    await kept.vault.ahold("1", {})
    kept.advance(TTL - SLACK)
    await kept.vault.ahold("1", {MARK: "eve", OTHER: "1"})
    kept.advance(TTL - SLACK)
    assert await kept.vault.avalues("1") == {MARK: MAIL, OTHER: "1"}
    kept.advance(SLACK + 1)
    assert await kept.vault.avalues("1") == {}


async def test_a_turn_that_begins_anew_has_nothing_of_the_old_one(kept):
    await kept.vault.ahold("1", {MARK: MAIL, OTHER: "1"})
    kept.advance(TTL + 1)
    await kept.vault.ahold("1", {MARK: "eve"})
    assert await kept.vault.avalues("1") == {MARK: "eve"}


@pytest.mark.fast_cases(2)
async def test_a_turn_lives_as_long_as_it_was_last_given(kept):
    await kept.vault.ahold("1", {MARK: MAIL}, seconds=3 * TTL)
    kept.advance(2 * TTL)
    assert await kept.other.avalues("1") == {MARK: MAIL}
    await kept.other.ahold("1", {}, seconds=2 * SLACK)
    assert await kept.vault.avalues("1") == {MARK: MAIL}
    kept.advance(2 * SLACK + 1)
    assert await kept.vault.avalues("1") == {}
    await asyncio.to_thread(kept.vault.hold, "1", {OTHER: "1"}, seconds=3 * TTL)
    kept.advance(2 * TTL)
    assert await kept.vault.avalues("1") == {OTHER: "1"}


async def test_nothing_is_held_of_nothing(kept):
    await kept.vault.ahold("1", {})
    assert await kept.vault.avalues("1") == {}


async def test_what_is_over_the_bound_of_a_turn_is_left_out_the_largest_first(small):
    await small.vault.ahold("1", {"huge": "x" * 2_100, "large": "x" * 1_200, "middle": "x" * 1_100, MARK: MAIL})
    assert set(await small.vault.avalues("1")) == {"middle", MARK}
    await small.vault.ahold("1", {"more": "x" * 900, OTHER: "1"})
    assert set(await small.vault.avalues("1")) == {"middle", MARK, OTHER}


async def test_what_is_there_already_does_not_count_again(small):
    for _ in range(5):
        await small.vault.ahold("1", {"middle": "x" * 1_100})
    await small.vault.ahold("1", {MARK: MAIL})
    assert set(await small.other.avalues("1")) == {"middle", MARK}


async def test_two_that_fill_a_turn_at_once_stay_below_its_bound(small):
    values = [{f"{n}": "x" * 500} for n in range(10)]
    await asyncio.gather(*([small.vault, small.other][n % 2].ahold("1", each) for n, each in enumerate(values)))
    assert len(await small.vault.avalues("1")) == 3


@pytest.mark.slow
async def test_a_request_with_the_largest_medium_is_held(kept):
    large = "aB3+" * 6_750_000
    await kept.vault.ahold("1", {"request:input": large, MARK: MAIL})
    found = await kept.other.avalues("1")
    assert found[MARK] == MAIL
    assert found["request:input"] == large  # compared before it is shown: 27 MB


@pytest.mark.fast_cases(2)
@FEW
@given(turn=TEXTS, values=st.dictionaries(TEXTS, TEXTS, max_size=4))
async def test_any_names_and_texts_come_back_as_they_were(kept, turn, values):
    await kept.vault.adrop(turn)
    await kept.vault.ahold(turn, values)
    assert await kept.other.avalues(turn) == values


async def test_a_thread_has_a_blocking_face(kept):
    await kept.vault.ahold("1", {MARK: MAIL})
    assert await asyncio.to_thread(kept.vault.values, "1") == {MARK: MAIL}
    await asyncio.to_thread(kept.vault.hold, "1", {OTHER: "1"})
    assert await kept.other.avalues("1") == {MARK: MAIL, OTHER: "1"}
    await asyncio.to_thread(kept.vault.drop, "1")
    assert await kept.other.avalues("1") == {}


async def test_many_threads_and_the_loop_lose_no_value(kept):
    def hold(number):
        kept.vault.hold("1", {f"thread:{number}": MAIL})

    awaited = [kept.vault.ahold("1", {f"loop:{n}": MAIL}) for n in range(16)]
    await asyncio.gather(*(asyncio.to_thread(hold, n) for n in range(16)), *awaited)
    assert len(await kept.vault.avalues("1")) == 32


async def test_it_says_nothing_of_what_it_holds(kept, caplog):
    with caplog.at_level(0):
        await kept.vault.ahold("turn-name", {MARK: MAIL})
        await kept.vault.avalues("turn-name")
        await kept.vault.adrop("turn-name")
    assert not [word for word in (MAIL, MARK, "turn-name") if word in caplog.text]
    await kept.vault.ahold("turn-name", {MARK: MAIL})
    assert MAIL not in repr(kept.vault) + repr(vars(kept.vault))
