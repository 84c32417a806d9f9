"""A server that nobody watches is killed at random points while 16 writers save, and started again by whoever runs it."""

from __future__ import annotations

import asyncio
import random

import pytest
from testkit.servers import copy_of
from testkit.writers import Writers

from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

KILLS = 10


@pytest.mark.slow
async def test_what_was_acknowledged_is_there_and_the_counts_are_right(database, record_property):
    settings = Settings(reembed=False)
    with copy_of(database) as server:
        async with (
            open_storage(server.dsn, embeddings=StubEmbeddings(dims=64), settings=settings) as storage,
            Writers(storage.memories).at_work() as writers,
        ):
            for _ in range(KILLS):
                await writers.until(2)
                await asyncio.sleep(random.uniform(0, 0.3))
                await asyncio.to_thread(server.kill)
                await asyncio.sleep(random.uniform(0, 1))
                await asyncio.to_thread(server.start)
            await writers.until(2)
        writers.check(server.dsn)
    assert writers.failed
    record_property("figure", f"{KILLS} kills: {len(writers.acknowledged)} saves acknowledged, failed {writers.failed}")
