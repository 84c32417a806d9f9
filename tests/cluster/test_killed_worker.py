"""A worker is killed while 16 writers save: what was acknowledged is there when it is back, and the counts are right."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest
from testkit.citus import KILLS
from testkit.writers import Writers

from discreet.settings import Settings
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

ROUNDS = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KILLS, reason="DISCREET_TEST_CITUS_KILLS=true lets it kill a worker of this machine"),
]


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
    settings = Settings(reembed=False, pool_size=8)
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
    writers.check(database)
    record_property(
        "figure", f"killed worker: {len(writers.acknowledged)} saves acknowledged, failed {dict(writers.failed)}"
    )
