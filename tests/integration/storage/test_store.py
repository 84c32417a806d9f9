import asyncio

import psycopg

from discreet.storage import open_storage
from discreet.storage.store import postgres_store
from discreet.testing import StubEmbeddings


async def test_several_servers_may_start_at_once(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=8)) as storage:
        await asyncio.gather(*(storage.pool.resize(min_size=6, max_size=6), storage.pool.wait()))
        stores = await asyncio.gather(*(postgres_store(storage.pool) for _ in range(6)))
        await asyncio.gather(*(s.aput(("notes", "user-7"), str(n), {"n": n}) for n, s in enumerate(stores)))
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM store").fetchone() == (6,)


async def test_values_are_redacted_in_the_table(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=8)) as storage:
        store = await postgres_store(storage.pool)
        await store.aput(("notes", "user-7"), "1", {"text": "write to ann@example.com"})
        assert (await store.aget(("notes", "user-7"), "1")).value == {"text": "write to <EMAIL>"}
    with psycopg.connect(database) as connection:
        (text,) = connection.execute("SELECT store::text FROM store").fetchone()
    assert "ann@" not in text
