"""What a memory says of itself in the clear is bound to its sealed text: a row that somebody changed is no memory any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import sql

from discreet.errors import EncryptionError
from discreet.state.records import MemoryFilters, MemoryRecord, Provenance
from discreet.storage import open_storage
from discreet.storage.rekeying import Rekeying
from discreet.testing import InMemoryKeys, StubEmbeddings

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
CHANGES = {
    "app_name": "'bank'",
    "type": "'important_moment'",
    "created_at": "created_at - interval '1 microsecond'",
    "valid_from": "now()",
    "valid_to": "now() + interval '1 year'",
    "request_id": "'another'",
    "thread_id": "NULL",
    "position": "position + 1",
    "agent_id": "'agent'",
    "importance": "10",
    "confidence": "0.30000000000000004",
    "loop_flag": "true",
    "tags": "array_append(tags, 'trusted')",
    "conflict_flags": "ARRAY['x']",
    "turns": "ARRAY['r2', 'r1']",
}


def opened(dsn, keys):
    return open_storage(dsn, embeddings=StubEmbeddings(dims=32), keys=keys, maintained=False)


def record(text="Nuôi hai con vẹt xám", **values):
    given = {"tags": ["thú cưng", "животные"], "thread_id": "t", "position": 3, "request_id": "r2", "confidence": 0.3}
    provenance = Provenance(source="extraction", turns=["r1", "r2"])
    return MemoryRecord(text=text, created_at=NOW, provenance=provenance, **given, **values)


def change(dsn, column, value):
    with psycopg.connect(dsn) as connection:
        connection.execute(sql.SQL("UPDATE discreet.memory SET {} = {}").format(sql.Identifier(column), sql.SQL(value)))


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("column", CHANGES)
async def test_a_row_of_which_something_was_changed_is_left_out_and_named(database, caplog, column):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        [saved] = await storage.memories.save("ann", [record()])
        assert await storage.memories.get("ann", saved.entry_id) == saved == record(entry_id=saved.entry_id)
        change(database, column, CHANGES[column])
        assert await storage.memories.latest("ann", filters=MemoryFilters(as_of=NOW + timedelta(days=1))) == []
        with pytest.raises(EncryptionError):
            await storage.memories.get("ann", saved.entry_id)
        assert f"storage.unreadable kind=memory rows=1 ids={saved.entry_id}" in caplog.text
        counts = {
            count.table: count.lost for count in await Rekeying(storage.works_pool, keys=keys).counts() if count.lost
        }
        assert counts == {"memory": 1}
        keys.rotate()
        assert (await Rekeying(storage.works_pool, keys=keys).run()).lost["memory"] == 1
        assert await storage.memories.delete("ann", saved.entry_id)


@pytest.mark.parametrize(
    "values",
    [
        {
            "created_at": datetime(1, 1, 1, tzinfo=UTC),
            "valid_to": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        },
        {"created_at": datetime(2026, 3, 29, 3, tzinfo=UTC).astimezone(), "valid_from": NOW},
        {"importance": 10, "confidence": 1, "loop_flag": True, "conflict_flags": ["ё", '"', "\\"]},
        {"thread_id": "線", "position": 2**62, "agent_id": "агент", "app_name": "ứng dụng", "request_id": "\U0001f600"},
    ],
    ids=["ends of time", "time zones", "numbers", "ids"],
)
async def test_what_was_stored_is_read_as_it_was_whatever_it_says(database, values):
    async with opened(database, InMemoryKeys()) as storage:
        [saved] = await storage.memories.save("ann", [MemoryRecord(text="Has a parrot", **values)], dedup=False)
        assert await storage.memories.get("ann", saved.entry_id) == saved


@pytest.mark.parametrize("keep", ["older", "newer", "both"])
async def test_a_pair_that_is_settled_is_read_afterwards(database, keep):
    async with opened(database, InMemoryKeys()) as storage:
        [older] = await storage.memories.save("ann", [MemoryRecord(text="Lives in Huế", created_at=NOW)])
        flagged = MemoryRecord(
            text="Lives in Москва", created_at=NOW + timedelta(days=1), conflict_flags=[str(older.entry_id), "mine"]
        )
        [newer] = await storage.memories.save("ann", [flagged], dedup=False)
        user_key = storage.background.key_of("ann")
        with psycopg.connect(database) as connection:
            connection.execute(
                "INSERT INTO discreet.memory_conflict VALUES (%s, %s, %s)", [user_key, older.entry_id, newer.entry_id]
            )
        assert await storage.people.settle(user_key, older.entry_id, newer.entry_id, keep)
        kept, said_later = [await storage.memories.get("ann", each.entry_id) for each in (older, newer)]
        assert said_later.conflict_flags == ["mine"]
        assert (kept.valid_to is None, said_later.valid_to is None) == (keep != "newer", keep != "older")
        if keep == "newer":
            assert kept.valid_to == newer.created_at


async def test_facts_that_are_said_again_superseded_and_rated_stay_readable(database):
    async with opened(database, InMemoryKeys()) as storage:
        [first] = await storage.memories.save("ann", [MemoryRecord(text="Lives in Oslo", created_at=NOW)])
        await storage.memories.save(
            "ann", [MemoryRecord(text="lives in Oslo", importance=8, created_at=NOW + timedelta(days=1))]
        )
        rated = await storage.memories.add_feedback("ann", first.entry_id, {"rating": 1})
        assert (rated.importance, rated.feedback) == (8, [{"rating": 1}])
        await storage.memories.save("ann", [MemoryRecord(text="Lives in Rome", created_at=NOW + timedelta(days=2))])
        assert {each.text for each in await storage.memories.latest("ann", held=False)} >= {"Lives in Rome"}
        assert await storage.memories.get("ann", first.entry_id) is not None
