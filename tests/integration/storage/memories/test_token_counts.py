"""In how many memories each word is: exact for each user, summed for all, and told to nobody without the key."""

from __future__ import annotations

import asyncio
from collections import Counter

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgvector import SparseVector
from testkit.keys import USER_KEYS
from testkit.sums import first_sum

from discreet.retrieval.lexical import CONTEXT, token_id
from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.storage.memories import token_counts
from discreet.storage.memories.token_counts import MOST_CHANGES, TokenSums
from discreet.testing import StubEmbeddings


def quiet():
    return Settings(reembed=False)


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), settings=quiet()) as opened:
        await first_sum(opened)
        yield opened


def key_of(word):
    return token_id(word, USER_KEYS.token_digest)


COUNTS = """
SELECT x.token, sum(x.documents) FROM discreet.user_token t, unnest(t.tokens, t.documents) AS x (token, documents)
WHERE t.user_key = %s GROUP BY x.token
"""


def counts_of(dsn, user_id="ann"):
    with psycopg.connect(dsn) as connection:
        return dict(connection.execute(COUNTS, (USER_KEYS.of_user(user_id),)).fetchall())


def counted(dsn, word, user_id="ann"):
    return counts_of(dsn, user_id).get(key_of(word), 0)


def changes(dsn):
    """Return how many rows there are of each user who has some, fewest first."""
    with psycopg.connect(dsn) as connection:
        found = connection.execute("SELECT count(*) FROM discreet.user_token GROUP BY user_key ORDER BY 1").fetchall()
    return [rows for (rows,) in found]


def summed(dsn, word):
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT documents FROM discreet.token_frequency WHERE token = %s", (key_of(word),)
        ).fetchone()
    return row[0] if row else 0


async def sum_now(storage):
    async with storage.works_pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
        await TokenSums(storage.works_pool).sum(cursor)


@pytest.mark.slow
async def test_ten_memories_of_a_word_count_ten(storage):
    texts = [f"Parrot parrot number{n}" for n in range(10)]
    await storage.memories.save("ann", [MemoryRecord(text=text) for text in texts], dedup=False)
    assert counted(storage.dsn, "parrot") == 10
    await storage.memories.save("bob", [MemoryRecord(text="A parrot")])
    await sum_now(storage)
    assert summed(storage.dsn, "parrot") == 11
    with psycopg.connect(storage.dsn) as connection:
        assert connection.execute("SELECT documents FROM discreet.corpus").fetchone() == (11,)


@pytest.mark.slow
@pytest.mark.dialect
async def test_what_is_deleted_replaced_or_evicted_counts_no_more(storage):
    memories = storage.memories
    [one, _] = await memories.save("ann", [MemoryRecord(text=f"parrot {n}") for n in "ab"], dedup=False)
    await memories.save("ann", [MemoryRecord(text="a zebra", entry_id=one.entry_id)])
    assert (counted(storage.dsn, "parrot"), counted(storage.dsn, "zebra")) == (1, 1)
    await memories.delete("ann", one.entry_id)
    assert counted(storage.dsn, "zebra") == 0
    await sum_now(storage)
    await memories.delete_many("ann", MemoryFilters())
    await sum_now(storage)
    assert summed(storage.dsn, "parrot") == 0
    with psycopg.connect(storage.dsn) as connection:
        assert connection.execute("SELECT count(*) FROM discreet.user_token").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM discreet.token_frequency").fetchone() == (0,)


@pytest.mark.slow
async def test_items_of_the_store_count_until_they_are_deleted(storage):
    space = ("notes", "ann")
    await storage.store.aput(space, "1", {"text": "parrot"}, index=["text"])
    await storage.store.aput(space, "1", {"text": "zebra"}, index=["text"])
    await sum_now(storage)
    assert (summed(storage.dsn, "parrot"), summed(storage.dsn, "zebra")) == (0, 1)
    await storage.store.adelete(space, "1")
    await sum_now(storage)
    assert summed(storage.dsn, "zebra") == 0


async def test_sums_are_made_once_a_period_by_whichever_process(storage):
    await storage.memories.save("ann", [MemoryRecord(text="parrot")])
    await TokenSums(storage.works_pool).keep()
    assert summed(storage.dsn, "parrot") == 0
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("UPDATE discreet.corpus SET counted_at = counted_at - interval '1 minute'")
    await TokenSums(storage.works_pool).keep()
    assert summed(storage.dsn, "parrot") == 1
    await storage.memories.save("ann", [MemoryRecord(text="zebra")])
    await TokenSums(storage.works_pool).keep()
    assert summed(storage.dsn, "zebra") == 0


async def test_a_long_sum_is_made_more_seldom(storage):
    times = iter([0.0, 10.0, 10.0, 10.0])
    sums = TokenSums(storage.works_pool, clock=lambda: next(times))
    ago = "UPDATE discreet.corpus SET counted_at = now() - interval '500 seconds'"
    for text, expected in (("parrot", 1), ("zebra", 0)):
        await storage.memories.save("ann", [MemoryRecord(text=text)])
        with psycopg.connect(storage.dsn) as connection:
            connection.execute(ago)
        await sums.keep()
        assert summed(storage.dsn, text) == expected
    assert 10.0 / token_counts.SHARE == 1_000


async def keep_now(storage):
    """Sum as a process does now and then."""
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("UPDATE discreet.corpus SET counted_at = 'epoch'")
    await TokenSums(storage.works_pool).keep()


async def save(storage, user_id, numbers):
    for number in numbers:
        await storage.memories.save(user_id, [MemoryRecord(text=f"Parrot {number}")], dedup=False)


@pytest.mark.slow
@pytest.mark.dialect
async def test_many_changes_of_a_user_become_one(storage):
    await save(storage, "ann", range(MOST_CHANGES + 1))
    await save(storage, "bob", range(2))
    assert changes(storage.dsn) == [2, MOST_CHANGES + 1]
    await keep_now(storage)
    assert changes(storage.dsn) == [1, 2]
    assert (counted(storage.dsn, "parrot"), summed(storage.dsn, "parrot")) == (MOST_CHANGES + 1, MOST_CHANGES + 3)


@pytest.mark.slow
async def test_what_is_saved_and_deleted_while_changes_are_merged_is_counted(storage):
    await save(storage, "ann", range(MOST_CHANGES + 1))
    found = await storage.memories.latest("ann", limit=10)
    await asyncio.gather(
        save(storage, "ann", range(100, 140)),
        *(storage.memories.delete("ann", record.entry_id) for record in found),
        *(keep_now(storage) for _ in range(5)),
    )
    await keep_now(storage)
    assert (counted(storage.dsn, "parrot"), summed(storage.dsn, "parrot")) == (MOST_CHANGES + 31, MOST_CHANGES + 31)


async def test_a_deleted_memory_leaves_no_digest_of_a_word(storage):
    [one, _] = await storage.memories.save("ann", [MemoryRecord(text=f"{x} parrot") for x in ("tea", "zebra")])
    await storage.memories.delete("ann", one.entry_id)
    assert changes(storage.dsn) == [1]
    assert counts_of(storage.dsn).keys() == {key_of("zebra"), key_of("parrot")}


@pytest.mark.slow
async def test_hundreds_of_turns_that_come_at_once_and_again_are_stored_and_counted(storage):
    turns = [
        MemoryRecord(text=f"Parrot number {n} of {7 * n}", type="turn", thread_id=f"t{n % 10}", position=n // 10)
        for n in range(1_200)
    ]
    for times in (1, 2):
        stored = await storage.memories.save("ann", turns)
        assert [record.text for record in stored] == [record.text for record in turns]
        assert (times, counted(storage.dsn, "parrot"), counted(storage.dsn, "number")) == (times, 1_200, 1_200)


async def test_an_erased_users_counts_go_with_them(storage):
    await save(storage, "ann", range(2))
    await save(storage, "bob", range(1))
    with psycopg.connect(storage.dsn) as connection:
        connection.execute("DELETE FROM discreet.users WHERE user_key = %s", (USER_KEYS.of_user("ann"),))
    await keep_now(storage)
    assert summed(storage.dsn, "parrot") == 1


TEXTS = st.lists(
    st.sampled_from(["a parrot", "parrot and zebra", "green tea", "tea", "茶 và trà"]), min_size=1, max_size=4
)
STEPS = st.lists(st.one_of(TEXTS, st.integers(0, 5)), max_size=6)


@pytest.mark.slow
@settings(max_examples=15)
@given(STEPS)
async def test_counts_are_those_of_the_rows_whatever_was_saved_and_deleted(make_database, migrated_template, steps):
    with make_database(template=migrated_template) as dsn:
        async with open_storage(dsn, embeddings=StubEmbeddings(dims=64), settings=quiet()) as storage:
            for step in steps:
                if isinstance(step, list):
                    await storage.memories.save("ann", [MemoryRecord(text=text) for text in step])
                elif (found := await storage.memories.latest("ann", held=False)) and step < len(found):
                    await storage.memories.delete("ann", found[step].entry_id)
        counted = counts_of(dsn)
        with psycopg.connect(dsn) as connection:
            rows = connection.execute("SELECT lexical::text FROM discreet.memory WHERE lexical IS NOT NULL").fetchall()
            own = Counter(
                place for (text,) in rows for place in SparseVector.from_text(text).indices() if place < CONTEXT
            )
            assert counted == own
