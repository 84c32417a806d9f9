"""Rolling summaries: swapped only for what they were made from, in RAM and in PostgreSQL."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kit.search import in_rows

from discreet.errors import InvalidUserError, StorageUnavailableError
from discreet.ports import RollingSummary
from discreet.storage import open_storage
from discreet.testing import InMemoryKeys, InMemoryRollingSummaries, StubEmbeddings

EMPTY = RollingSummary()
FIVE = RollingSummary(text="Ann hat zwei Papageien. 她喜欢鹦鹉", rounds=5, last_message_id="a-5")
TEN = RollingSummary(text="Ann hat zwei Papageien; lebt in Hà Nội", rounds=10, last_message_id="a-10")
MAIL = "ann" + "@" + "example.com"


@pytest.fixture(params=["memory", "postgres"])
def summaries(request):
    if request.param == "memory":
        return InMemoryRollingSummaries()
    return request.getfixturevalue("storage").summaries


@pytest.mark.slow
async def test_a_thread_has_an_empty_summary_at_first(summaries):
    assert await summaries.get("ann", "1") == await summaries.get(None, "1") == EMPTY


async def test_a_summary_replaces_the_one_it_was_made_from(summaries):
    assert await summaries.commit("ann", "1", expected=EMPTY, new=FIVE)
    assert await summaries.get("ann", "1") == FIVE
    assert await summaries.commit("ann", "1", expected=FIVE, new=TEN)
    assert await summaries.get("ann", "1") == TEN


@pytest.mark.parametrize(
    "expected",
    [
        EMPTY,
        TEN,
        RollingSummary(rounds=5, last_message_id="other"),
        RollingSummary(rounds=5),
        RollingSummary(rounds=4, last_message_id="a-5"),
    ],
)
async def test_a_summary_made_from_another_one_is_refused(summaries, expected):
    await summaries.commit("ann", "1", expected=EMPTY, new=FIVE)
    assert not await summaries.commit("ann", "1", expected=expected, new=TEN)
    assert await summaries.get("ann", "1") == FIVE


async def test_the_text_is_not_compared(summaries):
    await summaries.commit("ann", "1", expected=EMPTY, new=FIVE)
    assert await summaries.commit("ann", "1", expected=RollingSummary(rounds=5, last_message_id="a-5"), new=TEN)


async def test_a_summary_may_begin_anew(summaries):
    await summaries.commit("ann", "1", expected=EMPTY, new=FIVE)
    assert await summaries.commit("ann", "1", expected=FIVE, new=EMPTY)
    assert await summaries.commit("ann", "1", expected=EMPTY, new=TEN)
    assert await summaries.get("ann", "1") == TEN


async def test_nothing_is_made_of_a_summary_that_is_gone(summaries):
    assert not await summaries.commit("ann", "1", expected=FIVE, new=TEN)
    assert await summaries.get("ann", "1") == EMPTY


@pytest.mark.dialect
async def test_users_and_threads_are_apart_and_a_thread_may_have_no_user(summaries):
    places = [("ann", "1"), ("ann", "2"), ("bob", "1"), (None, "1"), ("ann", "x" * 9_000), ("ann", "a:#*%{} \0张")]
    for number, (user_id, thread_id) in enumerate(places, start=1):
        new = RollingSummary(text=f"{number}", rounds=number)
        assert await summaries.commit(user_id, thread_id, expected=EMPTY, new=new)
    for number, (user_id, thread_id) in enumerate(places, start=1):
        assert (await summaries.get(user_id, thread_id)).text == f"{number}"
    assert await summaries.forget("ann", "1")
    assert not await summaries.forget("ann", "1")
    assert (await summaries.get(None, "1")).rounds == 4


async def test_a_user_id_that_cannot_be_used_is_refused(summaries):
    for call in (
        summaries.get("", "1"),
        summaries.commit("", "1", expected=EMPTY, new=FIVE),
        summaries.forget("", "1"),
    ):
        with pytest.raises(InvalidUserError):
            await call


async def test_a_text_is_redacted_and_keeps_the_tags_of_its_thread(summaries):
    new = RollingSummary(text=f"Ann writes to <EMAIL:7K2QX3MD> and {MAIL}\0", rounds=5)
    await summaries.commit("ann", "1", expected=EMPTY, new=new)
    stored = (await summaries.get("ann", "1")).text
    assert stored.startswith("Ann writes to <EMAIL:7K2QX3MD> and <EMAIL")
    assert MAIL not in stored


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(plans=st.lists(st.lists(st.integers(1, 7), min_size=1, max_size=4), min_size=8, max_size=8), known=st.booleans())
async def test_of_eight_that_commit_at_once_no_round_is_lost_or_doubled(summaries, plans, known):
    user_id = "ann" if known else None
    await summaries.forget(user_id, "1")

    async def commit(chunk):
        """Add the next `chunk` rounds to whatever summary stands there, as often as it takes."""
        while True:
            before = await summaries.get(user_id, "1")
            rounds = before.rounds + chunk
            names = [f"N{number}" for number in range(before.rounds + 1, rounds + 1)]
            new = RollingSummary(
                text=" ".join([before.text, *names]).strip(), rounds=rounds, last_message_id=f"a-{rounds}"
            )
            if await summaries.commit(user_id, "1", expected=before, new=new):
                return

    async def committer(chunks):
        for chunk in chunks:
            await commit(chunk)

    await asyncio.gather(*map(committer, plans))
    total = sum(map(sum, plans))
    ends = await summaries.get(user_id, "1")
    assert ends.text.split() == [f"N{number}" for number in range(1, total + 1)]
    assert (ends.rounds, ends.last_message_id) == (total, f"a-{total}")


@pytest.mark.slow
async def test_a_summary_lies_sealed_and_outlives_the_process(database, token, caplog):
    keys = InMemoryKeys()
    new = RollingSummary(text=f"Ann likes {token}", rounds=5, last_message_id="a-5")
    async with open_storage(database, embeddings=StubEmbeddings(dims=16), keys=keys) as storage:
        await storage.summaries.commit("ann", "1", expected=EMPTY, new=new)
    assert in_rows(database, word=token) == {}
    with psycopg.connect(database) as connection:
        assert connection.execute(
            "SELECT relpersistence::text FROM pg_class WHERE relname = 'rolling_summary'"
        ).fetchone() == ("p",)
    async with open_storage(database, embeddings=StubEmbeddings(dims=16), keys=keys) as storage:
        assert await storage.summaries.get("ann", "1") == new
    async with open_storage(database, embeddings=StubEmbeddings(dims=16), keys=InMemoryKeys()) as storage:
        lost = await storage.summaries.get("ann", "1")
        assert lost == RollingSummary(rounds=5, last_message_id="a-5", is_readable=False)
        assert "storage.unreadable kind=summary rows=1" in caplog.text
        assert await storage.summaries.commit("ann", "1", expected=lost, new=FIVE)
        assert await storage.summaries.get("ann", "1") == FIVE


@pytest.mark.one_server("moves values between rows that are on several nodes")
async def test_a_sealed_summary_that_was_moved_to_another_thread_is_not_opened(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=16), keys=InMemoryKeys()) as storage:
        for thread_id in ("1", "2"):
            await storage.summaries.commit("ann", thread_id, expected=EMPTY, new=FIVE)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "UPDATE discreet.rolling_summary SET sealed_text = (SELECT sealed_text FROM discreet.rolling_summary "
                "WHERE thread_id = '1')"
            )
        assert await storage.summaries.get("ann", "1") == FIVE
        assert (await storage.summaries.get("ann", "2")).text == ""


async def test_summaries_go_with_their_user(storage):
    await storage.summaries.commit("ann", "1", expected=EMPTY, new=FIVE)
    with psycopg.connect(storage.dsn, autocommit=True) as connection:
        connection.execute("DELETE FROM discreet.users")
    assert await storage.summaries.get("ann", "1") == EMPTY


async def test_a_closed_pool_is_unavailable(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=16)) as storage:
        pass
    with pytest.raises(StorageUnavailableError):
        await storage.summaries.get("ann", "1")
