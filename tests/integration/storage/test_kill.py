"""A process that is killed while it saves leaves whole batches only, and the next goes on."""

from __future__ import annotations

import asyncio
import signal
import sys

import psycopg
import pytest

from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

SAVE_FOR_EVER = """
import asyncio, sys
from itertools import count
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

def batch(number):
    facts = [MemoryRecord(text=f"batch{number} fact{number}x{n} thing{n}", tags=[f"batch{number}"]) for n in range(20)]
    turns = [
        MemoryRecord(text=f"turn {n}", type="turn", thread_id="t", position=20 * number + n, tags=[f"batch{number}"])
        for n in range(20)
    ]
    return [*facts, *turns]

async def main():
    async with open_storage(sys.argv[1], embeddings=StubEmbeddings(dims=64)) as storage:
        for number in count():
            await storage.memories.save("ann", batch(number))
            print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_batches_are_whole_after_a_kill(database):
    for kills in range(3):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SAVE_FOR_EVER, database, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(2 + kills):
            assert await asyncio.wait_for(process.stdout.readline(), 60)
        await asyncio.sleep(0.004 * kills)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        await _no_session_left(database)
        with psycopg.connect(database) as connection:
            batches = connection.execute("SELECT count(*) FROM discreet.memory GROUP BY tags").fetchall()
            [(counted, rows)] = connection.execute(
                "SELECT memories, (SELECT count(*) FROM discreet.memory) FROM discreet.user_memories"
            ).fetchall()
        assert set(batches) == {(40,)}
        assert counted == rows
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
        assert (await storage.memories.search("ann", "parrots"))[0].record.text == "Keeps parrots"


async def _no_session_left(database):
    """Wait until the server has noticed that the client is gone."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        while True:
            cursor = await connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            if await cursor.fetchone() == (0,):
                return
            await asyncio.sleep(0.05)
