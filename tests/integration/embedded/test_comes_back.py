"""Whoever kills the server, those who use it have it back by themselves, and what they were told is stored is there."""

import asyncio
import fcntl
import logging
import random
import time
from contextlib import suppress

import psycopg
import pytest
from testkit.writers import Writers

from discreet.errors import EmbeddedServerError, StorageError, StorageUnavailableError
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.embedded import lease_server, watch
from discreet.testing import StubEmbeddings

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 60


@pytest.fixture
def new_postmaster(postmaster):
    """Return a function that gives the first process of the server that took the place of another."""

    def wait(dsn, old):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with suppress(psycopg.OperationalError, AttributeError):  # None has no parent: it has just ended
                if (found := postmaster(dsn)) and found != old:
                    return found
            assert time.monotonic() < deadline, "it has not come back"
            time.sleep(0.05)

    return wait


async def until(condition):
    for _ in range(PATIENCE_SECONDS * 20):
        if condition():
            return
        await asyncio.sleep(0.05)
    pytest.fail("it has not happened")


async def refused(storage):
    """Return how the database refuses what is asked of it, once it does."""
    while True:
        try:
            await storage.memories.latest("ann")
        except StorageError as error:
            return error.code


async def found(storage, stored):
    """Return the memory as soon as the database answers."""
    for _ in range(PATIENCE_SECONDS * 20):
        with suppress(StorageError):
            return await storage.memories.get("ann", stored.entry_id)
        await asyncio.sleep(0.05)
    return pytest.fail("it has not come back")


def opened(data_dir):
    settings = Settings(_env_file=None, data_dir=data_dir, reembed=False)
    return open_storage(settings=settings, embeddings=StubEmbeddings(dims=64))


@pytest.mark.parametrize("version", [16, 18])
def test_a_killed_server_is_there_again_under_the_same_dsn(data_dir, version, postmaster, new_postmaster, ask):
    with lease_server(data_dir, version=version) as dsn:
        server = postmaster(dsn)
        for answer in range(3):
            with psycopg.connect(dsn) as connection:
                connection.execute("UPDATE kept SET answer = %s", [answer])
            server.kill()
            server = new_postmaster(dsn, server)
            assert ask(dsn, "SELECT answer FROM kept") == answer
    assert not server.is_running()


def test_a_server_that_somebody_stopped_is_there_again(data_dir, postmaster, new_postmaster):
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        server.terminate()
        assert new_postmaster(dsn, server)


def test_leases_of_two_processes_outlive_a_kill(data_dir, start_client, postmaster, new_postmaster, ask):
    client = start_client(data_dir)
    with lease_server(data_dir) as dsn:
        assert client.dsn() == dsn
        old = postmaster(dsn)
        old.kill()
        server = new_postmaster(dsn, old)
    assert server.is_running()  # the other process still needs it
    assert ask(dsn, "SELECT answer FROM kept") == 42
    client.end()
    assert not server.is_running()


def test_the_last_lease_may_end_while_the_server_is_down(data_dir, postmaster, ask):
    with lease_server(data_dir) as dsn:
        postmaster(dsn).kill()
    with lease_server(data_dir) as dsn:
        assert ask(dsn, "SELECT answer FROM kept") == 42


async def test_writers_go_on_and_nothing_acknowledged_is_lost(data_dir, postmaster, new_postmaster):
    async with opened(data_dir) as storage:
        async with Writers(storage.memories).at_work() as writers:
            server = await asyncio.to_thread(postmaster, storage.dsn)
            for _ in range(3):
                await writers.until(2)
                await asyncio.sleep(random.uniform(0, 0.3))
                server.kill()
                server = await asyncio.to_thread(new_postmaster, storage.dsn, server)
            await writers.until(2)
        writers.check(storage.access.owner.dsn)


async def test_server_and_supervisor_killed_together_come_back(data_dir, postmaster, new_postmaster):
    async with opened(data_dir) as storage, opened(data_dir) as other:
        [stored] = await storage.memories.save("ann", [MemoryRecord(text="Keeps two parrots")])
        server = await asyncio.to_thread(postmaster, storage.dsn)
        server.parent().kill()
        server.kill()
        new = await asyncio.to_thread(new_postmaster, storage.dsn, server)
        for each in (storage, other):
            assert (await found(each, stored)).text == "Keeps two parrots"
    assert not new.is_running()


async def test_a_server_that_lost_its_supervisor_alone_gets_another(data_dir, postmaster, alive):
    async with opened(data_dir) as storage:
        server = await asyncio.to_thread(postmaster, storage.dsn)
        supervisor = server.parent()
        supervisor.kill()
        locks = data_dir / "postgres-18" / "supervisor.lock"
        await until(lambda: not alive(supervisor) and is_locked(locks))
        assert await asyncio.to_thread(postmaster, storage.dsn) == server


def is_locked(path):
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def test_a_server_that_hangs_is_not_told_to_be_starting_again(data_dir, postmaster):
    async with opened(data_dir) as storage:
        server = await asyncio.to_thread(postmaster, storage.dsn)
        processes = [server, *server.children()]
        for process in processes:
            process.suspend()
        try:  # more at once than the pool has connections
            waiting = [asyncio.create_task(storage.memories.latest("ann")) for _ in range(storage.pool.max_size)]
            await until(lambda: storage.pool.failure is not None)
            assert not storage.is_restarting
        finally:
            for process in reversed(processes):
                process.resume()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_server_that_can_not_start_again_is_given_up_and_the_logs_say_so(data_dir, postmaster, caplog):
    folder = data_dir / "postgres-18"
    control = folder / "data" / "global" / "pg_control"
    caplog.set_level(logging.WARNING, logger=watch.__name__)
    async with opened(data_dir) as storage:
        [stored] = await storage.memories.save("ann", [MemoryRecord(text="Keeps two parrots")])
        server = await asyncio.to_thread(postmaster, storage.dsn)
        control.rename(control.with_name("elsewhere"))
        server.kill()
        assert await refused(storage) in {
            "storage_unavailable",
            "storage_restarting",
        }  # as the session's end was told, or not
        await until(lambda: storage.is_restarting)
        await until(lambda: any("can't be started, next attempt" in message for message in caplog.messages))
        assert not storage.is_restarting
        log = (folder / "server.log").read_text()
        assert log.count("is started again in") == 5
        assert "ended 6 times within seconds and is not started again" in log
        with pytest.raises(StorageUnavailableError):
            await storage.memories.get("ann", stored.entry_id)
        with pytest.raises(EmbeddedServerError, match=r"server\.log tells why"):
            await asyncio.to_thread(lease_server(data_dir).__enter__)
        control.with_name("elsewhere").rename(control)
        assert await found(storage, stored)
