"""A worker is killed while 16 writers save: what was acknowledged is there when it is back, and the counts are right."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from pgvector.psycopg import register_vector
from testkit.citus import KILLS
from testkit.keys import USER_KEYS

from discreet.errors import DiscreetError
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.memories.rows import tokens_of
from discreet.testing import StubEmbeddings

WRITERS = 16
ROUNDS = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KILLS, reason="DISCREET_TEST_CITUS_KILLS=true lets it kill a worker of this machine"),
]


class Writers:
    """Save for a user each, over and over, whatever fails; know what was acknowledged."""

    def __init__(self, memories):
        self._memories = memories
        self.acknowledged = set()
        """Writer and batch."""
        self.failed = Counter()
        """By code."""

    @asynccontextmanager
    async def at_work(self):
        tasks = [asyncio.create_task(self._write(n)) for n in range(WRITERS)]
        try:
            yield self
        finally:
            self._memories = None
            await asyncio.gather(*tasks)

    async def _write(self, writer):
        number = 0
        while (memories := self._memories) is not None:
            number += 1
            batch = [
                MemoryRecord(text=f"w{writer} b{number} n{n}", type="event", tags=[f"b{number}"]) for n in range(4)
            ]
            try:
                await memories.save(f"w{writer}", batch, dedup=False)
            except DiscreetError as error:
                self.failed[error.code] += 1
                await asyncio.sleep(0.05)
            else:
                self.acknowledged.add((f"w{writer}", f"b{number}"))

    async def until(self, more):
        """Wait until so many more batches are acknowledged of every writer."""
        aim = {writer: self._saves()[writer] + more for writer in (f"w{n}" for n in range(WRITERS))}
        async with asyncio.timeout(120):
            while True:
                if self._saves() >= Counter(aim):
                    return
                await asyncio.sleep(0.05)

    def _saves(self):
        return Counter(writer for writer, _ in self.acknowledged)


class Worker:
    """A server of this machine, to be killed and started again as whoever owns its files."""

    def __init__(self, dsn):
        self._dsn = dsn
        with psycopg.connect(dsn) as connection:
            self._folder = Path(self._shown(connection, "SHOW data_directory"))
            self._bin = Path(self._shown(connection, "SELECT setting FROM pg_config WHERE name = 'BINDIR'"))

    @staticmethod
    def _shown(connection, query):
        return connection.execute(query).fetchone()[0]

    def kill(self):
        os.kill(int((self._folder / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def start(self):
        owner = self._folder.stat()
        command = [self._bin / "pg_ctl", "-D", self._folder, "-w", "-l", "/dev/null", "start"]
        clean = {"HOME": str(self._folder), "PATH": os.defpath}  # its own driver looks for certificates at home
        for _ in range(50):  # until the last process of the killed server is gone
            done = subprocess.run(
                command, user=owner.st_uid, group=owner.st_gid, capture_output=True, cwd="/", env=clean, check=False
            )
            if done.returncode == 0:
                return
        raise RuntimeError(done.stdout.decode() + done.stderr.decode())


async def test_what_was_acknowledged_is_there_and_the_counts_are_right(database, cluster, record_property):
    assert all(host in ("127.0.0.1", "localhost") for host, _ in cluster.workers)
    settings = Settings(reembed=False, large_user_memories=0, pool_size=8)
    name = database.rpartition("/")[2]
    async with (
        open_storage(database, embeddings=StubEmbeddings(dims=64), settings=settings) as storage,
        Writers(storage.memories).at_work() as writers,
    ):
        for turn in range(ROUNDS):
            await writers.until(3)
            worker = Worker(cluster.dsn_of(name, cluster.workers[turn % len(cluster.workers)]))
            await asyncio.to_thread(worker.kill)
            await asyncio.sleep(1)
            await asyncio.to_thread(worker.start)
        await writers.until(3)
    _check(database, writers.acknowledged)
    record_property(
        "figure", f"killed worker: {len(writers.acknowledged)} saves acknowledged, failed {dict(writers.failed)}"
    )


def _check(dsn, acknowledged):
    with psycopg.connect(dsn) as connection:
        register_vector(connection)
        for writer in range(WRITERS):
            user_key = USER_KEYS.of_user(f"w{writer}")
            rows = connection.execute(
                "SELECT tags[1], lexical FROM discreet.memory WHERE user_key = %s", (user_key,)
            ).fetchall()
            batches = Counter(tag for tag, _ in rows)
            assert set(batches.values()) == {4}
            assert {tag for user, tag in acknowledged if user == f"w{writer}"} <= batches.keys()
            counted = "SELECT memories FROM discreet.user_memories WHERE user_key = %s"
            assert connection.execute(counted, (user_key,)).fetchone() == (len(rows),)
            tokens = Counter(
                token for _, lexical in rows for token in USER_KEYS.tokens(tokens_of({"lexical": lexical}))
            )
            found = connection.execute(
                "SELECT token, documents FROM discreet.user_token WHERE user_key = %s", (user_key,)
            )
            assert dict(found.fetchall()) == tokens
