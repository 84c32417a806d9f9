"""Work in the background begins at once, survives its errors, and ends with the block."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from discreet.access.actor import Actor, acting, current_actor
from discreet.errors import StorageUnavailableError
from discreet.storage.maintenance import maintenance


async def test_work_is_repeated_and_its_errors_are_logged_by_their_cause(caplog):
    rounds = asyncio.Semaphore(0)

    async def work():
        rounds.release()
        raise [StorageUnavailableError, ValueError]["ValueError" not in caplog.text]("the value of a row")

    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(10), maintenance({"counting": work}, period=0.0):
            for _ in range(3):
                await rounds.acquire()
    assert "work=counting cause=ValueError" in caplog.text
    assert "work=counting cause=storage_unavailable" in caplog.text
    assert "row" not in caplog.text


async def test_work_with_a_delay_does_not_begin_at_once():
    begun = asyncio.Event()

    async def work():
        begun.set()

    async with asyncio.timeout(10):
        async with maintenance({"later": work}, delay=3_600.0):
            for _ in range(10):
                await asyncio.sleep(0)
            assert not begun.is_set()
        async with maintenance({"later": work}, delay=0.01):
            await begun.wait()


@pytest.mark.slow
@pytest.mark.parametrize("swallowed", [0, 1])
async def test_the_end_of_the_block_awaits_the_end_of_the_work_even_if_it_misses_being_told(swallowed):
    begun, ended = asyncio.Event(), []

    async def work():
        begun.set()
        try:
            for _ in range(swallowed):
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async with asyncio.timeout(10):
        async with maintenance({"waiting": work}):
            await begun.wait()
        assert ended == [True]


async def test_work_is_the_workers_whoever_opened_the_storage():
    actors: asyncio.Queue[Actor] = asyncio.Queue()

    async def work():
        actors.put_nowait(current_actor())

    with acting(Actor(kind="operator")):
        async with maintenance({"looking": work}):
            assert (await actors.get()).kind == "worker"
