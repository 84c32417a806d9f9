"""A server that refuses connections costs a caller half a second, not ten."""

import asyncio

import pytest
from psycopg_pool import PoolTimeout

from discreet.storage.pool import RememberedConnection, make_pool


async def use(pool):
    async with pool.connection() as conn:
        return (await (await conn.execute("SELECT 1 AS one")).fetchone())["one"]


async def test_while_the_server_refuses_callers_are_told_soon_and_later_served(migrated_relay):
    pool = make_pool(migrated_relay.dsn, max_size=1)
    async with pool:
        assert await use(pool) == 1
        migrated_relay.down()
        for _ in range(2):
            async with asyncio.timeout(pool.timeout / 2):
                with pytest.raises(PoolTimeout):
                    await use(pool)
        assert RememberedConnection.refused[pool.conninfo]
        migrated_relay.up()
        async with asyncio.timeout(30):
            while True:
                try:
                    assert await use(pool) == 1
                    break
                except PoolTimeout:
                    continue
        assert pool.conninfo not in RememberedConnection.refused


async def test_while_the_server_is_up_a_caller_waits_its_turn(database):
    async with make_pool(database, max_size=1) as pool:
        async with pool.connection():
            waiting = asyncio.create_task(use(pool))
            await asyncio.sleep(1.2)  # longer than a caller waits for a server that refuses
            assert not waiting.done()
        assert await waiting == 1
