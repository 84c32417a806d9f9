"""Facts that are said again, change, or contradict each other; and what goes when there are too many."""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random

import psycopg
import pytest

from discreet.ports import Calibration
from discreet.providers.vectors import unit
from discreet.settings import Settings
from discreet.state.records import MemoryFilters, MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, tzinfo=UTC)


class Scripted:
    """Embeds each text at an angle that the test gives; all others are at right angles to them and far from each other."""

    name = "scripted:angles:64"
    dims = 64
    calibration = Calibration(zero=0.0, one=1.0)

    def __init__(self, cosines):
        self._cosines = cosines

    def embed_query(self, text):
        cosine = self._cosines.get(text)
        if cosine is None:
            random = Random(text)
            return unit([0.0, 0.0, *(random.gauss(0, 1) for _ in range(62))], 64)
        return [cosine, math.sqrt(1 - cosine**2), *[0.0] * 62]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text):
        return self.embed_query(text)

    async def aembed_documents(self, texts):
        return self.embed_documents(texts)


@asynccontextmanager
async def memories_at(database, cosines, **settings):
    async with open_storage(database, embeddings=Scripted(cosines), settings=Settings(**settings)) as storage:
        yield storage.memories


def fact(text, created_at=MARCH, **values):
    return MemoryRecord(text=text, created_at=created_at, **values)


async def texts(memories, query="Hanoi", **options):
    return [hit.record.text for hit in await memories.search("ann", query, **options)]


OLD, PARAPHRASE, NEW = "Lives in Hanoi", "Lives in the city of Hanoi", "Moved to Hue and no longer lives in Hanoi"


@pytest.mark.slow
async def test_a_paraphrase_refreshes_the_fact(database):
    async with memories_at(database, {OLD: 1.0, PARAPHRASE: 0.97}) as memories:
        [first] = await memories.save("ann", [fact(OLD, importance=8)])
        [again] = await memories.save("ann", [fact(PARAPHRASE, JUNE)])
        assert (again.entry_id, again.text, again.importance) == (first.entry_id, OLD, 8)
        assert (again.created_at, again.valid_from) == (JUNE, MARCH)
        assert await memories.latest("ann") == [again]


@pytest.mark.slow
async def test_a_new_state_supersedes_the_fact_and_a_read_as_of_then_sees_the_old_one(database):
    async with memories_at(database, {OLD: 1.0, NEW: 0.9, "home": 0.9}) as memories:
        [old] = await memories.save("ann", [fact(OLD, importance=9)])
        [new] = await memories.save("ann", [fact(NEW, JUNE)])
        assert (new.text, new.importance) == (NEW, 9)
        assert await texts(memories, "home") == [NEW]
        assert [record.text for record in await memories.latest("ann")] == [NEW]
        in_may = MemoryFilters(as_of=JUNE - timedelta(days=30))
        assert await texts(memories, "home", filters=in_may) == [OLD]
        assert [record.text for record in await memories.latest("ann", filters=in_may)] == [OLD]
        before_all = MemoryFilters(as_of=MARCH - timedelta(days=1))
        assert await texts(memories, "home", filters=before_all) == []
        kept = await memories.get("ann", old.entry_id)
        assert (kept.text, kept.valid_to) == (OLD, JUNE)


async def test_a_state_that_is_saved_late_does_not_replace_a_later_one(database):
    async with memories_at(database, {OLD: 1.0, NEW: 0.9}) as memories:
        await memories.save("ann", [fact(NEW, JUNE)])
        [old] = await memories.save("ann", [fact(OLD, MARCH)])
        assert old.valid_to == JUNE
        assert await texts(memories) == [NEW]


async def test_thresholds_are_settings(database):
    async with memories_at(
        database, {OLD: 1.0, PARAPHRASE: 0.7}, dedup_threshold=0.5, update_threshold=0.6
    ) as memories:
        await memories.save("ann", [fact(OLD)])
        [again] = await memories.save("ann", [fact(PARAPHRASE)])
        assert again.text == OLD


async def test_what_may_contradict_is_kept_flagged_and_ranked_below_what_was_said_later(database):
    cosines = {"Drinks coffee": 1.0, "drinks coffee": 1.0, "Does not drink coffee any more": 0.75, "coffee": 1.0}
    async with memories_at(database, cosines) as memories:
        [old] = await memories.save("ann", [fact("Drinks coffee")])
        [new] = await memories.save("ann", [fact("Does not drink coffee any more", JUNE)])
        assert new.conflict_flags == [str(old.entry_id)]
        assert await texts(memories, "coffee") == [new.text, old.text]
        assert await texts(memories, "coffee", limit=1) == [new.text]
        [again] = await memories.save("ann", [fact("drinks coffee", JUNE + timedelta(days=1))])
        assert again.entry_id == old.entry_id
        assert await texts(memories, "coffee") == [old.text, new.text]


async def test_facts_in_one_batch_are_consolidated_with_each_other(database):
    async with memories_at(database, {OLD: 1.0, PARAPHRASE: 0.97, NEW: 0.9}) as memories:
        stored = await memories.save("ann", [fact(OLD), fact(PARAPHRASE), fact(NEW, JUNE)])
        assert stored[0].entry_id == stored[1].entry_id
        assert await texts(memories) == [NEW]
        assert [record.valid_to for record in stored] == [JUNE, JUNE, None]


@pytest.mark.parametrize("others", [3, 40], ids=["a few at once", "many at once"])
async def test_a_batch_meets_what_is_stored_whatever_its_size(database, others):
    async with memories_at(database, {OLD: 1.0, NEW: 0.9}) as memories:
        [old] = await memories.save("ann", [fact(OLD)])
        unrelated = [fact(f"Owns item{n} from shop{n}", type="turn", thread_id="t", position=n) for n in range(others)]
        noted = [fact(f"word{n} thing{n}", JUNE, app_name="other") for n in range(others)]
        await memories.save("ann", [*unrelated, *noted, fact(NEW, JUNE)])
        assert (await memories.get("ann", old.entry_id)).valid_to == JUNE


async def test_two_applications_do_not_replace_each_others_facts(database):
    async with memories_at(database, {OLD: 1.0, NEW: 0.9}) as memories:
        await memories.save("ann", [fact(OLD, app_name="one")])
        await memories.save("ann", [fact(NEW, JUNE, app_name="two")])
        assert len(await memories.latest("ann")) == 2


@pytest.mark.slow
async def test_sixteen_writers_of_five_facts_leave_five(database):
    facts = [f"Fact about {word}" for word in ("tea", "cats", "rain", "rock", "snow")]
    async with open_storage(database, embeddings=StubEmbeddings(dims=256)) as storage:
        await asyncio.gather(*(storage.memories.save("ann", [fact(text) for text in facts]) for _ in range(16)))
        assert sorted(record.text for record in await storage.memories.latest("ann")) == sorted(facts)


@pytest.mark.slow
async def test_sixteen_writers_of_changing_facts_leave_one_current_each(database):
    cosines = {f"Moved, now lives in {place}": 1 - n / 1_000 for n, place in enumerate("ABCDEFGHIJKLMNOP")}
    async with memories_at(database, cosines, dedup_threshold=0.8, update_threshold=1.0) as memories:
        when = {text: MARCH + timedelta(days=n) for n, text in enumerate(cosines)}
        await asyncio.gather(*(memories.save("ann", [fact(text, when[text])]) for text in cosines))
        assert [record.text for record in await memories.latest("ann")] == [list(cosines)[-1]]


# Too many memories.


async def test_with_a_fact_that_is_forgotten_goes_what_it_superseded_also_once_it_was_said_again(database):
    async with memories_at(database, {OLD: 1.0, NEW: 0.9}) as memories:
        await memories.save("ann", [fact(OLD)])
        [new] = await memories.save("ann", [fact(NEW, JUNE)])
        await memories.save("ann", [fact(NEW, JUNE + timedelta(days=9))])
        gone = await memories.forget("ann", new.entry_id)
        assert [record.text for record in gone.facts] == [NEW, OLD]
        assert await memories.latest("ann", held=False) == []


async def test_over_the_limit_superseded_ones_go_first_then_the_least_useful_and_never_moments(database):
    now = datetime.now(UTC)
    async with memories_at(database, {}, max_memories_per_user=5) as memories:
        given = [
            fact("superseded", now, importance=10, valid_to=now - timedelta(days=1)),
            fact("moment of long ago", MARCH - timedelta(days=3_000), type="important_moment", importance=1),
            fact("old and trivial", now - timedelta(days=900), importance=1),
            fact("old and vital", now - timedelta(days=400), importance=10),
            fact("new and trivial", now, importance=2),
        ]
        await memories.save("ann", given)
        for text, gone in [
            ("one", "superseded"),
            ("two", "old and trivial"),
            ("three", "new and trivial"),
            ("four", "old and vital"),
        ]:
            before = {record.entry_id for record in given}
            [saved] = await memories.save("ann", [fact(text, now, importance=5)])
            given.append(saved)
            left = [record for record in given if await memories.get("ann", record.entry_id)]
            assert {record.text for record in given if record not in left} == {gone}
            assert len(left) == 5
            assert saved.entry_id not in before
            given = left
        assert "moment of long ago" in {record.text for record in given}


@pytest.mark.slow
async def test_over_the_limit_so_many_are_evicted_that_the_next_saves_need_not(database):
    now = datetime.now(UTC)
    async with memories_at(database, {}, max_memories_per_user=40) as memories:
        await memories.save("ann", [fact(f"fact {n} of old", now - timedelta(days=n)) for n in range(40)])
        left = []
        for n in range(4):
            await memories.save("ann", [fact(f"new fact {n}", now)])
            left.append(len(await memories.latest("ann", limit=50)))
        assert left == [38, 39, 40, 38]  # 95 % of 40 is 38


async def test_what_was_just_saved_is_not_evicted_for_the_room_of_the_next(database):
    now = datetime.now(UTC)
    async with memories_at(database, {}, max_memories_per_user=40) as memories:
        await memories.save("ann", [fact(f"moment {n}", now, type="important_moment") for n in range(34)])
        left = []
        for n in range(8):
            [saved] = await memories.save("ann", [fact(f"new fact {n}", now)])
            assert await memories.get("ann", saved.entry_id)
            left.append(len(await memories.latest("ann", limit=50)))
        assert left == [35, 36, 37, 38, 39, 40, 40, 40]  # 95 % of the six is six
        assert await memories.save("ann", [fact(f"fact {n} of many", now) for n in range(9)])
        assert len(await memories.latest("ann", limit=50)) == 40


async def test_what_was_just_said_again_is_not_evicted_for_what_is_older(database):
    now = datetime.now(UTC)
    async with memories_at(database, {}, max_memories_per_user=3) as memories:
        await memories.save("ann", [fact(f"fact {n}", now, importance=10) for n in range(2)])
        [known] = await memories.save("ann", [fact("said twice", now, importance=1)])
        [again, _] = await memories.save("ann", [fact("said twice", now, importance=1), fact("new", now, importance=1)])
        assert again.entry_id == known.entry_id
        assert await memories.get("ann", known.entry_id)


async def test_beside_as_many_moments_as_the_limit_a_tenth_is_left_for_all_others(database):
    now = datetime.now(UTC)
    async with memories_at(database, {}, max_memories_per_user=30) as memories:
        await memories.save("ann", [fact(f"moment {n}", now, type="important_moment") for n in range(30)])
        for n in range(6):
            await memories.save("ann", [fact(f"fact {n}", now + timedelta(seconds=n))])
        kept = [record.text for record in await memories.latest("ann", limit=3)]
        assert kept == ["fact 5", "fact 4", "fact 3"]
        assert len(await memories.latest("ann", limit=50)) == 33


async def test_turns_and_reasoning_are_outside_the_limit(database):
    async with memories_at(database, {}, max_memories_per_user=2) as memories:
        turns = [fact(f"turn {n}", type="turn", thread_id="t", position=n) for n in range(6)]
        reasoning = [fact(f"reasoning {n}", type="reasoning") for n in range(6)]
        await memories.save("ann", [*turns, *reasoning, fact("one"), fact("two")])
        await memories.save("ann", [fact("three")])
        kept = [record.text for record in await memories.latest("ann")]
        assert len(kept) == 14
        assert "three" in kept


async def test_a_memory_that_is_found_lives_longer(database):
    old = datetime.now(UTC) - timedelta(days=300)
    async with memories_at(database, {}, max_memories_per_user=2) as memories:
        [asked, never_asked] = await memories.save("ann", [fact("about parrots", old), fact("about tea", old)])
        assert await texts(memories, "parrots", limit=1) == ["about parrots"]
        await memories.close()
        await memories.save("ann", [fact("about rain", datetime.now(UTC))])
        assert await memories.get("ann", asked.entry_id)
        assert await memories.get("ann", never_asked.entry_id) is None


async def test_the_count_of_a_persons_memories_is_kept(database):
    async with memories_at(database, {OLD: 1.0, NEW: 0.9}, max_memories_per_user=3) as memories:
        [first, *_] = await memories.save("ann", [fact(f"fact {n} of {n}") for n in "abc"])
        await memories.save("ann", [fact("one more"), fact(OLD), fact(NEW, JUNE)])
        await memories.save("bob", [fact("of another")])
        await memories.delete("ann", first.entry_id)
        [newest] = await memories.latest("ann", limit=1)
        assert await memories.delete("ann", newest.entry_id)
        await memories.delete_many("ann", MemoryFilters(types=["preference"]))
        with psycopg.connect(database) as connection:
            counts = connection.execute(
                "SELECT memories, (SELECT count(*) FROM discreet.memory m WHERE m.user_key = p.user_key) FROM discreet.user_memories p"
            ).fetchall()
        assert len(counts) == 2
        assert all(counted == rows for counted, rows in counts)
