"""A server that refuses connections costs a caller half a second, not ten."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from psycopg_pool import PoolTimeout

from discreet.leases import lease
from discreet.storage.database.connecting.pool import make_pool


async def use(pool):
    async with pool.connection() as conn:
        return (await (await conn.execute("SELECT 1 AS one")).fetchone())["one"]


async def served_again(pool):
    """Use it as soon as it has a new connection: an attempt that failed is repeated after a moment."""
    async with asyncio.timeout(30):
        while True:
            try:
                assert await use(pool) == 1
                break
            except PoolTimeout:
                continue


@pytest.mark.slow
async def test_while_the_server_refuses_callers_are_told_soon_and_later_served(migrated_relay):
    pool = make_pool(migrated_relay.dsn, max_size=1)
    async with pool:
        assert await use(pool) == 1
        migrated_relay.down()
        for _ in range(2):
            async with asyncio.timeout(pool.timeout / 2):
                with pytest.raises(PoolTimeout):
                    await use(pool)
        assert pool.failure is not None
        migrated_relay.up()
        await served_again(pool)
        assert pool.failure is None


@pytest.mark.slow
async def test_while_the_server_is_up_a_caller_waits_its_turn(database):
    async with make_pool(database, max_size=1) as pool:
        async with pool.connection():
            waiting = asyncio.create_task(use(pool))
            await asyncio.sleep(1.2)  # longer than a caller waits for a server that refuses
            assert not waiting.done()
        assert await waiting == 1


@pytest.mark.slow
async def test_all_of_many_callers_are_served_in_their_turn(database):
    async with make_pool(database, max_size=2) as pool:
        pool.timeout = 0.5  # far less than all take together
        order = []

        async def call(number):
            async with pool.connection() as conn:
                order.append(number)
                await conn.execute("SELECT pg_sleep(0.02)")

        await asyncio.gather(*map(call, range(100)))
        assert order == [*range(100)]
        async with lease(pool) as conn, pool.connection() as other:  # each has one place, whoever lends it
            assert conn is not other


@pytest.mark.slow
async def test_who_gives_up_on_a_server_that_hangs_need_not_wait_for_it(migrated_relay):
    async with make_pool(migrated_relay.dsn, max_size=1) as pool:
        assert await use(pool) == 1
        migrated_relay.hang()
        async with asyncio.timeout(pool.timeout / 2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await use(pool)
        migrated_relay.down()
        migrated_relay.up()
        await served_again(pool)


async def test_a_connection_whose_borrower_is_cancelled_while_it_is_returned_is_lent_again(database):
    async with make_pool(database, max_size=1) as pool:
        pool.timeout = 1
        held, done = asyncio.Event(), asyncio.Event()

        async def borrow():
            async with pool.connection():
                held.set()
                await done.wait()

        borrowing = asyncio.create_task(borrow())
        await held.wait()
        async with pool._lock:  # as of others who are given one, so that the return has to wait
            done.set()
            await asyncio.sleep(0.1)
            borrowing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await borrowing
        assert await use(pool) == 1


@pytest.mark.slow
async def test_no_place_is_lost_to_callers_who_give_up_at_any_moment(database):
    async with make_pool(database, max_size=4) as pool:
        for number in range(2_000):
            callers = [asyncio.create_task(use(pool)) for _ in range(6)]
            for _ in range(number % 40):
                await asyncio.sleep(0)
            for caller in callers:
                caller.cancel()
            await asyncio.gather(*callers, return_exceptions=True)
        async with asyncio.timeout(30), AsyncExitStack() as stack:
            for _ in range(4):
                await stack.enter_async_context(pool.connection())
