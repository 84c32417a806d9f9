"""Several hosts, service files and passwords that change."""

from __future__ import annotations

import asyncio
import secrets
import sys
import threading
from contextlib import suppress
from types import ModuleType
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from testkit.ports import free_port
from testkit.servers import copy_of

from discreet.driver_errors import storage_errors
from discreet.errors import ConfigurationError, LoginRefusedError, ReadOnlyServerError, ServerRestartingError
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.connecting import target
from discreet.storage.database.connecting.connection import connect
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.database.connecting.target import Target
from discreet.storage.database.migrating.migrations import migrate
from discreet.testing import StubEmbeddings

RECORD = MemoryRecord(text="Keeps two African Grey parrots")
QUIET = Settings(reembed=False)


def opened(dsn, **options):
    return open_storage(dsn, embeddings=StubEmbeddings(dims=16), **options)


async def texts(storage, user_id="ann"):
    return [hit.record.text for hit in await storage.memories.search(user_id, "parrots")]


async def test_a_host_that_does_not_answer_is_passed_over(database):
    given = conninfo_to_dict(database)
    several = make_conninfo(database, host=f"127.0.0.1,{given['host']}", port=f"{free_port()},{given['port']}")
    async with opened(several) as storage:
        await storage.memories.save("ann", [RECORD])
        assert await texts(storage) == [RECORD.text]


async def test_a_service_file_says_where_the_database_is(database, tmp_path, monkeypatch):
    given = conninfo_to_dict(database)
    lines = [f"{name}={value}" for name, value in given.items()]
    (tmp_path / "services").write_text("\n".join(["[memory]", *lines, ""]))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    async with opened("service=memory") as storage:
        await storage.memories.save("ann", [RECORD])
        assert await texts(storage) == [RECORD.text]


@pytest.fixture
def rotating(database):
    """Return a role's DSN without a password, and what gives the role a new one and returns what asks for it."""
    role = f"rotating_{secrets.token_hex(4)}"
    current: dict[str, str] = {}
    asked: list[str] = []

    def rotate() -> None:
        current["word"] = secrets.token_hex(8)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(f"ALTER ROLE {role} PASSWORD '{current['word']}'")

    def provide() -> str:
        asked.append(current["word"])
        return current["word"]

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN SUPERUSER")
    rotate()
    where = {name: value for name, value in conninfo_to_dict(database).items() if name != "password"}
    yield make_conninfo(**where | {"user": role}), provide, rotate, asked
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,))
        connection.execute(f"DROP ROLE {role}")


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_each_new_connection_asks_for_the_password(rotating, asynchronous):
    dsn, provide, rotate, asked = rotating

    async def provide_later() -> str:
        await asyncio.sleep(0)
        return provide()

    async with opened(dsn, password=provide_later if asynchronous else provide, settings=QUIET) as storage:
        await storage.memories.save("ann", [RECORD])
        rotate()
        await storage.pool.drain()
        assert await texts(storage) == [RECORD.text]
        async with await connect(storage.pool.target) as beside:
            await beside.execute("SELECT 1")
    assert len(set(asked)) == 2


async def test_the_setting_names_the_function(rotating, monkeypatch):
    dsn, provide, _, asked = rotating
    module = ModuleType("tokens_of_a_cloud")
    module.provide = provide
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("DISCREET_POSTGRES_PASSWORD_PROVIDER", "tokens_of_a_cloud:provide")
    assert await migrate(dsn) == []
    async with make_pool(dsn, max_size=1) as pool, pool.connection() as conn:
        await conn.execute("SELECT 1")
    assert len(asked) == 2
    for unknown in ("tokens_of_a_cloud:other", "no_module_of_this_name:provide", "tokens_of_a_cloud"):
        monkeypatch.setenv("DISCREET_POSTGRES_PASSWORD_PROVIDER", unknown)
        with pytest.raises(ConfigurationError, match="module:function"):
            await migrate(dsn)


async def test_a_provider_that_fails_is_told_without_its_words(rotating):
    dsn, *_ = rotating

    def broken() -> str:
        raise RuntimeError("token of ann")

    with pytest.raises(LoginRefusedError, match="RuntimeError") as caught:
        await migrate(Target(dsn=dsn, password=broken))
    assert "ann" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_provider_that_never_answers_is_not_waited_for(rotating, monkeypatch, asynchronous):
    dsn, *_ = rotating
    monkeypatch.setattr(target, "CONNECT_SECONDS", 0.2)
    end = threading.Event()
    provider = asyncio.Event().wait if asynchronous else end.wait
    try:
        with pytest.raises(LoginRefusedError, match=r"for 0\.2 seconds"):
            await migrate(Target(dsn=dsn, password=provider))
        async with make_pool(Target(dsn=dsn, password=provider), max_size=1) as pool:
            with pytest.raises(LoginRefusedError, match=r"for 0\.2 seconds"), storage_errors():
                await pool.getconn(1)
    finally:
        end.set()


@pytest.mark.parametrize("returned", [None, 5, b"word", "two\0words"])
async def test_a_provider_that_returns_no_password(rotating, returned):
    dsn, *_ = rotating
    with pytest.raises(LoginRefusedError, match="password provider"):
        await migrate(Target(dsn=dsn, password=lambda: returned))


def test_no_password_is_shown():
    assert "tops" + "ecret" not in repr(Target(dsn="postgresql://ann:" + "tops" + "ecret@127.0.0.1/x"))


@pytest.mark.slow
@pytest.mark.one_server("makes a standby of the tests' own server")
@pytest.mark.direct("a DSN of several servers")
async def test_after_a_failover_the_new_primary_is_written_to(database):
    with copy_of(database, follows=True) as standby:
        given, there = conninfo_to_dict(database), conninfo_to_dict(standby.dsn)
        hosts = {"host": f"{there['host']},{given['host']}", "port": f"{there['port']},{given['port']}"}
        dsn = make_conninfo(database, **hosts, target_session_attrs="read-write")
        async with opened(dsn, settings=QUIET) as storage:
            await storage.memories.save("ann", [RECORD])
            standby.catch_up(database)
            standby.promote()
            with psycopg.connect(database, autocommit=True) as connection:  # the old one takes no writes from here on
                name = urlsplit(database).path.removeprefix("/")
                connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                    (name,),
                )
            with suppress(ServerRestartingError):  # who meets a session in the moment in which it ends is told so
                await storage.memories.save("bob", [RECORD])
            await storage.memories.save("bob", [RECORD])
            assert await texts(storage, "bob") == [RECORD.text]
        with psycopg.connect(standby.dsn) as connection:
            assert connection.execute("SELECT count(*) FROM discreet.memory").fetchone() == (2,)


@pytest.mark.slow
@pytest.mark.one_server("makes a standby of the tests' own server")
@pytest.mark.direct("a DSN of several servers")
async def test_a_pool_leaves_a_server_that_was_demoted(database):
    with copy_of(database, follows=True) as standby:
        given, there = conninfo_to_dict(database), conninfo_to_dict(standby.dsn)
        hosts = {"host": f"{there['host']},{given['host']}", "port": f"{there['port']},{given['port']}"}
        dsn = make_conninfo(database, **hosts, target_session_attrs="read-write")
        async with make_pool(dsn, max_size=1) as pool:
            async with pool.connection() as conn:
                await conn.execute("SET default_transaction_read_only = on")  # a connection that outlives the demotion
            standby.promote()
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(f"ALTER DATABASE {given['dbname']} SET default_transaction_read_only = on")
            with pytest.raises(ReadOnlyServerError):
                await write(pool)
            await write(pool)
            async with pool.connection() as conn:
                assert conn.info.host == there["host"]


async def write(pool):
    with storage_errors():
        async with pool.connection() as conn:
            await conn.execute("DELETE FROM discreet.memory")
