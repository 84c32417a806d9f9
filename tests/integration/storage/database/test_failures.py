"""What real servers and poolers refuse is told as what it is: nobody hears that a server can't be reached which answered."""

import asyncio
import os
import socket
from contextlib import AsyncExitStack, suppress
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from testkit import pooler

from discreet.driver_errors import storage_errors
from discreet.errors import (
    LockTimeoutError,
    LoginRefusedError,
    PoolerError,
    ReadOnlyServerError,
    ServerRestartingError,
    StatementTimeoutError,
    StorageUnavailableError,
    TooManyConnectionsError,
)
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting import pool as pools
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.database.migrating.migrations import migrate
from discreet.testing import StubEmbeddings

RECORD = MemoryRecord(text="Keeps two African Grey parrots")


def with_options(dsn, **parameters):
    """Return `dsn` with parameters of the server's for each session, as a DBA sets them by ALTER ROLE."""
    return make_conninfo(dsn, options=" ".join(f"-c {name}={value}" for name, value in parameters.items()))


def opened(dsn, **settings):
    quiet = Settings(reembed=False, **settings)
    return open_storage(dsn, settings=quiet, embeddings=StubEmbeddings(dims=16))


async def told(work):
    with pytest.raises(StorageUnavailableError) as caught:
        await work
    assert "can't be reached" not in str(caught.value)
    return type(caught.value), caught.value.code


async def run(pool, statement):
    with storage_errors():
        async with pool.connection() as conn:
            await conn.execute(statement)


@pytest.mark.direct("parameters in the DSN")
async def test_limits_of_the_server(database):
    async with make_pool(with_options(database, statement_timeout="100ms"), max_size=1) as pool:
        assert await told(run(pool, "SELECT pg_sleep(20)")) == (StatementTimeoutError, "storage_timeout")
    async with make_pool(with_options(database, lock_timeout="100ms"), max_size=1) as pool:
        with psycopg.connect(database) as other:
            other.execute("LOCK TABLE discreet.embedding_space")
            assert await told(run(pool, "DELETE FROM discreet.embedding_space")) == (LockTimeoutError, "storage_locked")


@pytest.mark.slow
@pytest.mark.direct("what sessions are told")
async def test_nobody_waits_for_long_for_a_table_that_somebody_alters(database, monkeypatch):
    monkeypatch.setattr(pools, "LOCK_SECONDS", 0.1)
    async with opened(database, pool_size=2) as storage:
        with psycopg.connect(database) as other:
            other.execute("LOCK TABLE discreet.memory")
            for _ in range(3):
                work = storage.memories.latest("ann")
                assert await told(work) == (LockTimeoutError, "storage_locked")
        assert await storage.memories.save("ann", [RECORD])


@pytest.mark.direct("parameters in the DSN")
async def test_how_long_to_wait_for_locks_is_the_roles_to_say(database):
    for said, told_to in (("20min", "20min"), ("0", "5s")):
        async with make_pool(with_options(database, lock_timeout=said), max_size=1) as pool, pool.connection() as conn:
            row = await (await conn.execute("SELECT current_setting('lock_timeout') AS waits")).fetchone()
            assert row == {"waits": told_to}


async def test_a_session_that_an_administrator_ends(database):
    async with make_pool(database, max_size=1) as pool:
        end = "SELECT pg_terminate_backend(pg_backend_pid())"
        assert await told(run(pool, end)) == (ServerRestartingError, "storage_restarting")
        await run(pool, "SELECT 1")


@pytest.mark.slow
@pytest.mark.direct("its own limit")
async def test_a_server_that_takes_no_more_connections(database):
    role = "one_connection"
    with psycopg.connect(database, autocommit=True) as connection:
        with suppress(psycopg.errors.DuplicateObject):
            connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'plain' CONNECTION LIMIT 1")
        connection.execute(f"GRANT ALL ON SCHEMA discreet TO {role}")
        connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA discreet TO {role}")
    dsn = make_conninfo(database, user=role, password="plain")
    async with make_pool(dsn, max_size=2) as pool, AsyncExitStack() as held:
        pool.timeout = 3.0
        await held.enter_async_context(pool.connection())
        work = run(pool, "SELECT 1")
        assert await told(work) == (TooManyConnectionsError, "storage_connections")
        await held.aclose()
        await run(pool, "SELECT 1")


@pytest.mark.one_server("asks whom its server lets in")
@pytest.mark.direct("logins")
async def test_a_login_that_is_refused(database):
    for wrong in ({"password": "wrong"}, {"user": "nobody_of_this_name"}, {"dbname": "no_database_of_this_name"}):
        assert await told(migrate(make_conninfo(database, **wrong))) == (LoginRefusedError, "storage_login")


@pytest.mark.direct("parameters in the DSN")
async def test_a_server_that_only_reads_serves_searches_and_refuses_saves(database):
    async with opened(database) as storage:
        await storage.memories.save("ann", [RECORD])
        async with make_pool(with_options(database, default_transaction_read_only="on"), max_size=1) as pool:
            write = "DELETE FROM discreet.memory"
            assert await told(run(pool, write)) == (ReadOnlyServerError, "storage_read_only")
        assert [hit.record.text for hit in await storage.memories.search("ann", "parrots")] == [RECORD.text]


@pytest.fixture
def through(database):
    """Return what puts a PgBouncer with settings of its own before a migrated database."""
    if not pooler.installed():
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    return lambda **settings: pooler.pooled(database, **settings)


@pytest.mark.slow
async def test_a_pooler_without_a_free_server(through):
    with through(default_pool_size=1, query_wait_timeout=1) as dsn:
        async with make_pool(dsn, max_size=2) as pool, pool.connection() as holds, holds.transaction():
            await holds.execute("SELECT 1")
            assert await told(run(pool, "SELECT 1")) == (PoolerError, "storage_pooler")


async def nothing(conn, end):
    await end()


async def a_statement(conn, end):
    await end()
    await conn.execute("SELECT 1")


async def a_copy(conn, end):
    await conn.execute("CREATE TEMPORARY TABLE words (word text) ON COMMIT DROP")
    await end()
    async with conn.cursor().copy("COPY words FROM STDIN") as copy:
        await copy.write_row(("parrots",))


async def the_end_of_a_copy(conn, end):
    await conn.execute("CREATE TEMPORARY TABLE words (word text) ON COMMIT DROP")
    async with conn.cursor().copy("COPY words FROM STDIN") as copy:
        await copy.write_row(("parrots",))
        await end()


async def many_statements(conn, end):
    await end()
    await conn.cursor().executemany("SELECT %s::int8", [(1,), (2,)])


@pytest.mark.fast_cases(2)
@pytest.mark.dialect
@pytest.mark.parametrize("before", [nothing, a_statement, a_copy, the_end_of_a_copy, many_statements])
async def test_a_pooler_whose_server_ends_within_a_transaction(database, through, before):
    async def work(pool):
        with storage_errors():
            async with pool.connection() as conn, conn.transaction():
                row = await (await conn.execute("SELECT pg_backend_pid() AS server")).fetchone()

                async def end():
                    with psycopg.connect(database, autocommit=True) as other:
                        other.execute("SELECT pg_terminate_backend(%s::int, 10000)", (row["server"],))
                    await until_said(conn, b"08P01")  # by the pooler, after what the server has said

                await before(conn, end)

    with through() as dsn:
        async with make_pool(dsn, max_size=1) as pool:
            assert await told(work(pool)) in {
                (PoolerError, "storage_pooler"),
                (ServerRestartingError, "storage_restarting"),
            }
            await run(pool, "SELECT 1")


async def until_said(conn, what):
    """Wait until `what` has come and nobody has read it."""
    with socket.socket(fileno=os.dup(conn.fileno())) as waiting:
        for _ in range(1_000):
            with suppress(BlockingIOError):
                if what in waiting.recv(65_536, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    return
            await asyncio.sleep(0.01)
    raise AssertionError("It never came.")


async def test_a_pooler_without_transactions(through):
    with through(pool_mode="statement") as dsn:
        async with opened(dsn) as storage:
            with pytest.raises(PoolerError, match="pool_mode"):
                await storage.memories.delete("ann", RECORD.entry_id)


async def test_a_pooler_that_refuses_options_or_has_no_such_database(through):
    with through() as dsn:
        assert await told(migrate(with_options(dsn, work_mem="8MB"))) == (PoolerError, "storage_pooler")
        elsewhere = urlsplit(dsn)._replace(path="/no_database_of_this_name").geturl()
        assert (await told(migrate(elsewhere)))[0] in {LoginRefusedError, PoolerError}


async def test_a_pooler_that_is_said_to_be_none(through, monkeypatch):
    monkeypatch.setenv("DISCREET_POOLER", "false")
    with through() as dsn:
        async with make_pool(dsn, max_size=6) as pool, AsyncExitStack() as held:
            pooled = [await held.enter_async_context(pool.connection()) for _ in range(6)]

            async def ask_all():
                with storage_errors():
                    for turn in range(20):
                        for conn in pooled:
                            async with conn.transaction():
                                await conn.execute(f"SELECT {turn % 2}::int8, %s::int8", (turn,))

            with pytest.raises(PoolerError, match="DISCREET_POOLER=true"):
                await ask_all()
