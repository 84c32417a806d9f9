"""Turns that are found by search go with text and vector after their time, reasoning after its own; everything else stays."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testkit.keys import USER_KEYS

from discreet.state.records import MemoryRecord
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.memories.rows import tokens_of

ANN = USER_KEYS.of_user("ann")
SECOND = timedelta(seconds=1)
COUNTED = """
SELECT t.token, sum(t.documents)::int
FROM (SELECT unnest(tokens) AS token, unnest(documents) AS documents FROM discreet.user_token WHERE user_key = %s) t
GROUP BY t.token HAVING sum(t.documents) <> 0
"""


def turn(position, created_at, text="Say hello", thread="t"):
    return MemoryRecord(type="turn", text=text, thread_id=thread, position=position, created_at=created_at)


async def texts(storage, user="ann"):
    return {each.text for each in await storage.memories.latest(user, limit=100)}


async def check_counts(storage, rows):
    """Check that the numbers which are kept beside a user's memories are those of the rows there are."""
    async with storage.pool.connection() as conn, conn.cursor(binary=True) as cursor:
        query = "SELECT lexical FROM discreet.memory WHERE user_key = %(user_key)s"
        left = await (await cursor.execute(query, {"user_key": ANN})).fetchall()
    documents = Counter(token for row in left for token in tokens_of(row))
    assert dict(rows(COUNTED, ANN)) == dict(documents)
    assert rows("SELECT memories FROM discreet.user_memories WHERE user_key = %s", ANN) == [(len(left),)]


@pytest.mark.parametrize("days", [180, 365])
async def test_a_turn_is_found_for_its_days_and_not_a_second_longer(storage, clock, rows, days):
    await storage.memory_settings.change({"retention_turn_days": days}, by="u_admin")
    ages = {"day before": days - 1, "to the second": days, "day after": days + 1}
    for number, (text, age) in enumerate(ages.items()):
        await storage.memories.save("ann", [turn(number, clock.ago(days=age), text=text)])
    await storage.memories.save("ann", [turn(9, clock.ago(days=days) - SECOND, text="a second more")])
    assert (await storage.retention.sweep())["turns"] == 2
    assert await texts(storage) == {"day before", "to the second"}
    await check_counts(storage, rows)


@pytest.mark.dialect
async def test_words_of_a_turn_that_went_are_found_nowhere(storage, clock):
    old, young = clock.ago(days=181), clock.ago(days=179)
    await storage.memories.save("ann", [turn(0, old, text="The quokka was there"), turn(1, young, text="Really")])
    assert {hit.record.text for hit in await storage.memories.search("ann", "quokka")} >= {"Really"}
    await storage.retention.sweep()
    assert await storage.memories.search("ann", "quokka", threshold=1.0) == []
    assert await texts(storage) == {"Really"}


async def test_facts_summaries_and_moments_stay(storage, clock):
    long_ago = clock.ago(days=20 * 365)
    kinds = ["user_fact", "preference", "event", "conversation_insight", "conversation_summary", "important_moment"]
    records = [MemoryRecord(text=f"It is {kind}", type=kind, created_at=long_ago) for kind in kinds]
    await storage.memories.save("ann", records, dedup=False)
    await storage.retention.sweep()
    assert len(await texts(storage)) == len(kinds)


@pytest.mark.dialect
@pytest.mark.parametrize(("days", "stays"), [(1_094, True), (1_095, True), (1_096, False)])
async def test_reasoning_goes_after_three_years(storage, clock, days, stays):
    at = clock.ago(days=days)
    by_itself = MemoryRecord(type="reasoning", text="Asked for shoes", reasoning="They need some", created_at=at)
    fact = MemoryRecord(text="Wears size 43", reasoning="They said so", created_at=at)
    moment = MemoryRecord(type="important_moment", text="Has moved", reasoning="They said so", created_at=at)
    await storage.memories.save("ann", [by_itself, fact, moment], dedup=False)
    gone = await storage.retention.sweep()
    found = {each.text: each.reasoning for each in await storage.memories.latest("ann", limit=10)}
    assert gone.get("reasoning", 0) == (0 if stays else 2)
    assert ("Asked for shoes" in found) is stays
    assert (found["Wears size 43"] is not None) is stays
    assert found["Has moved"] is not None


@pytest.mark.slow
async def test_whatever_the_ages_just_the_older_turns_go(storage, clock, rows):
    drawn = []

    @settings(max_examples=4, database=None)
    @given(st.lists(st.integers(0, 300 * 86_400), min_size=2, max_size=15, unique=True))
    def draw(seconds):
        drawn.append(seconds)

    draw()
    for number, ages in enumerate(drawn):
        records = [
            turn(n, clock.ago(seconds=age), text=f"word{age}", thread=f"t{number}") for n, age in enumerate(ages)
        ]
        await storage.memories.save("ann", records)
        storage.retention._batch = 1 + number
        await storage.retention.sweep()
        expected = {f"word{age}" for ages in drawn[: number + 1] for age in ages if age <= 180 * 86_400}
        assert await texts(storage) == expected
        await check_counts(storage, rows)


async def test_who_is_being_written_for_is_swept_the_next_time(storage, clock):
    for user in ("ann", "bob"):
        await storage.memories.save(user, [turn(0, clock.ago(days=181))])
    async with UserLocks(storage.pool).locked([ANN]):
        assert (await storage.retention.sweep())["turns"] == 1
    assert (await storage.retention.sweep())["turns"] == 1
