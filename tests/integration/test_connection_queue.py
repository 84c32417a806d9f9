"""Many callers of a small pool: all get their turn, in order, and nobody's place is lost."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import REGISTRY
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from discreet import connection_queue
from discreet.connection_queue import async_queue, sync_queue
from discreet.errors import StorageBusyError
from discreet.leases import QueuedPool, lease, sync_lease

CALLERS = 200
SLOW = "SELECT pg_sleep(0.02)"


@pytest.fixture
async def pool(database):
    """Return a pool of six whose time-out is far shorter than what all callers take together."""
    async with AsyncConnectionPool(database, min_size=6, max_size=6, timeout=0.3, open=False) as opened:
        await opened.wait(30)
        yield opened


@pytest.mark.slow
async def test_all_of_many_callers_are_served(pool):
    async def alone():
        async with pool.connection() as conn:
            await conn.execute(SLOW)

    async def in_line():
        async with lease(pool) as conn:
            await conn.execute(SLOW)

    bare = await asyncio.gather(*(alone() for _ in range(CALLERS)), return_exceptions=True)
    assert any(isinstance(each, PoolTimeout) for each in bare), "the pool by itself fails some of them"
    before = REGISTRY.get_sample_value("discreet_pool_wait_seconds_count")
    queued = await asyncio.gather(*(in_line() for _ in range(CALLERS)), return_exceptions=True)
    assert [each for each in queued if each is not None] == []
    assert REGISTRY.get_sample_value("discreet_pool_wait_seconds_count") == before + CALLERS - 6
    assert REGISTRY.get_sample_value("discreet_pool_waiting") == 0


@pytest.mark.slow
def test_all_of_many_threads_are_served(database):
    with ConnectionPool(database, min_size=6, max_size=6, timeout=0.3, open=True) as pool:
        pool.wait(30)

        def in_line(_):
            with sync_lease(pool) as conn:
                conn.execute(SLOW)

        with ThreadPoolExecutor(60) as threads:
            assert list(threads.map(in_line, range(CALLERS))) == [None] * CALLERS


@pytest.mark.slow
async def test_callers_are_served_in_their_order(pool):
    order = []

    async def call(number):
        async with async_queue(pool).place():
            order.append(number)
            await asyncio.sleep(0.001)

    await asyncio.gather(*map(call, range(50)))
    assert order == [*range(50)]


async def test_a_cancelled_caller_takes_no_place_with_it(pool):
    queue, free = async_queue(pool), asyncio.Event()

    async def hold():
        async with queue.place():
            await free.wait()

    inside = [asyncio.create_task(hold()) for _ in range(6)]
    await asyncio.sleep(0)
    for _ in range(3):
        waiting = [asyncio.create_task(hold()) for _ in range(4)]
        await asyncio.sleep(0)
        for task in waiting[:2]:
            task.cancel()
        await asyncio.sleep(0)
        for task in waiting[2:]:
            task.cancel()
        free.set()  # a place is given in the same moment
        await asyncio.gather(*waiting, return_exceptions=True)
    await asyncio.gather(*inside)
    waiting = [asyncio.create_task(hold()) for _ in range(6)]
    await asyncio.wait_for(asyncio.gather(*waiting), 30)
    assert (queue._inside, len(queue._waiting)) == (0, 0)


async def test_a_place_given_to_a_caller_who_is_cancelled_in_that_moment_is_handed_on(pool):
    queue = async_queue(pool)
    held = [queue.place() for _ in range(6)]
    for place in held:
        await place.__aenter__()
    reached = []

    async def call(name):
        async with queue.place():
            reached.append(name)

    first, second = asyncio.create_task(call("first")), asyncio.create_task(call("second"))
    await asyncio.sleep(0)
    await held[0].__aexit__(None, None, None)  # gives the place to the first, which has not run yet
    first.cancel()
    await asyncio.wait_for(second, 30)
    for place in held[1:]:
        await place.__aexit__(None, None, None)
    assert (reached, queue._inside) == (["second"], 0)


async def test_a_line_that_is_full_refuses_at_once(pool, monkeypatch):
    monkeypatch.setenv("DISCREET_MAX_WAITING", "2")
    queue, free = async_queue(pool), asyncio.Event()

    async def hold():
        async with queue.place():
            await free.wait()

    tasks = [asyncio.create_task(hold()) for _ in range(8)]
    await asyncio.sleep(0)
    with pytest.raises(StorageBusyError, match="DISCREET_MAX_WAITING") as caught:
        await hold()
    assert caught.value.waiting == 2
    free.set()
    await asyncio.gather(*tasks)


async def test_who_waited_as_long_as_those_before_fails_with_them(database):
    async with AsyncConnectionPool(database, min_size=1, max_size=1, timeout=0.2, open=False) as pool:
        taken = await pool.getconn(30)  # by somebody who does not stand in line

        async def call():
            async with lease(pool):
                pass

        results = await asyncio.wait_for(asyncio.gather(*(call() for _ in range(50)), return_exceptions=True), 5)
        assert {type(each) for each in results} == {PoolTimeout}
        await pool.putconn(taken)
        await call()
        assert async_queue(pool)._inside == 0


def test_threads_that_waited_as_long_as_those_before_fail_with_them(database):
    with ConnectionPool(database, min_size=1, max_size=1, timeout=0.2, open=True) as pool:
        taken = pool.getconn(30)

        def call(_):
            with pytest.raises(PoolTimeout), sync_lease(pool):
                pass

        with ThreadPoolExecutor(20) as threads:
            list(threads.map(call, range(20)))
        pool.putconn(taken)
        with sync_lease(pool):
            assert sync_queue(pool)._inside == 1
        assert sync_queue(pool)._inside == 0


@pytest.mark.slow
def test_a_queue_goes_with_its_pool(database):
    pool = ConnectionPool(database, open=False)
    queue = weakref.ref(sync_queue(pool))
    del pool
    gc.collect()
    assert queue() is None


def test_threads_share_one_queue(database):
    pool = ConnectionPool(database, open=False)
    found = []
    threads = [threading.Thread(target=lambda: found.append(sync_queue(pool))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(each) for each in found}) == 1
    assert connection_queue._queues[pool] is found[0]


async def test_the_connection_that_was_used_last_is_lent_next(database):
    """So statements are prepared on as few connections as are needed at a time."""
    async with QueuedPool(database, min_size=4, max_size=4, open=False) as pool:
        await pool.wait(30)

        async def process():
            async with pool.connection() as conn:
                return conn.info.backend_pid

        assert len({await process() for _ in range(8)}) == 1
        async with pool.connection() as one, pool.connection() as other:
            assert one is not other
        assert len({await process() for _ in range(8)}) == 1
