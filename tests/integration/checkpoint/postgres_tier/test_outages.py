"""A database that goes away, comes back, or never answers."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from psycopg import errors

from discreet.checkpoint.postgres import failures
from discreet.errors import DiscreetError, StorageError, StorageUnavailableError

KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["async pool", "sync pool"])
async def test_a_restart_of_the_server_goes_unnoticed_over_a_pool(open_tier, start, say, rows, kind):
    tier = await open_tier(kind, pool={"min_size": 4, "max_size": 4})
    thread = start(tier)
    await thread.put(value := say("a"))
    rows(KILL)
    await thread.put(longer := [*value, *say("b")])
    rows(KILL)
    assert await thread.read() == longer
    rows(KILL)
    await tier.aput_writes(thread.config, [("note", 1)], "task")
    rows(KILL)
    assert [len(item.pending_writes) async for item in tier.alist(thread.latest)] == [1, 0]


@pytest.mark.parametrize("kind", ["async connection", "sync connection"])
async def test_a_single_connection_that_is_lost_is_lost(open_tier, start, say, rows, kind):
    tier = await open_tier(kind)
    thread = start(tier)
    await thread.put(say("a"))
    rows(KILL)
    for told in ("storage_restarting", "storage_unavailable"):  # the server's last word, then no answer
        with pytest.raises(StorageUnavailableError) as caught:
            await thread.read()
        assert caught.value.code == told


@pytest.mark.parametrize("error", [errors.SerializationFailure, errors.DeadlockDetected, errors.AdminShutdown])
async def test_a_put_whose_answer_is_lost_is_repeated(another, start, say, monkeypatch, error):
    thread, execute, calls = start(another), another._execute, []

    async def failing_once(statement):
        calls.append(statement)
        answer = await execute(statement)  # it may have taken effect, and the answer got lost
        if len(calls) == 2:
            raise error
        return answer

    monkeypatch.setattr(another, "_execute", failing_once)
    await thread.put(value := say("a", "b"))
    assert await thread.read() == value
    assert len(calls) == 5, "guard, put, put that is refused as its rows are there, read, put"


@pytest.mark.slow
async def test_what_does_not_pass_is_given_up(another, start, say, monkeypatch):
    monkeypatch.setattr(failures, "RETRY_SECONDS", 1)
    calls = []

    async def failing(statement):
        calls.append(statement)
        raise errors.SerializationFailure

    tier = type(another)(another)
    monkeypatch.setattr(tier, "_execute", failing)
    with pytest.raises(StorageUnavailableError, match="SerializationFailure, SQLSTATE 40001"):
        await start(tier).put(say("a"))
    assert len(calls) > 1


@pytest.mark.parametrize("kind", ["async pool", "sync pool"])
async def test_a_pool_without_a_free_connection_says_so(open_tier, start, kind):
    tier = await open_tier(kind, pool={"min_size": 1, "max_size": 1, "timeout": 0.1})
    pool = tier.conn if kind == "async pool" else tier.tier.conn
    taken = await pool.getconn(60) if kind == "async pool" else pool.getconn(60)
    try:
        with pytest.raises(StorageUnavailableError, match="came free in time"):
            await start(tier).load()
    finally:
        await pool.putconn(taken) if kind == "async pool" else pool.putconn(taken)


async def test_a_closed_pool_says_so(open_tier, start, say):
    tier = await open_tier()
    await tier.conn.close()
    for call in (
        start(tier).load(),
        start(tier).put(say("a")),
        tier.adelete_thread("1"),
        tier.aprune(["1"]),
    ):
        with pytest.raises(StorageUnavailableError):
            await call
    with pytest.raises(StorageUnavailableError, match="closed"):
        [item async for item in tier.alist(None)]


@pytest.mark.parametrize("kind", ["async pool", "sync pool"])
async def test_tables_that_were_never_created_are_named(dsn, open_tier, start, kind):
    tier = await open_tier(kind)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ALTER TABLE checkpoint_messages RENAME TO elsewhere")
        try:
            with pytest.raises(StorageError, match=r"setup\(\)") as caught:
                await start(tier).load()
        finally:
            connection.execute("ALTER TABLE elsewhere RENAME TO checkpoint_messages")
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_refused_work_is_reported_without_what_was_in_it(another, start, token):
    thread = start(another)
    with pytest.raises(DiscreetError) as caught:
        await thread.put(None, note=f"{token}\0")
    assert type(caught.value) is StorageError
    assert token not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_calls_do_not_wait_for_each_other(open_tier):
    """Upstream's saver lets one call in at a time, even over a pool: here both connections are in use at once."""
    tier = await open_tier(pool={"min_size": 2, "max_size": 2})
    meeting = asyncio.Barrier(2)

    async def call():
        async with tier._cursor():
            await meeting.wait()

    await asyncio.wait_for(asyncio.gather(call(), call()), timeout=60)


async def test_the_async_tier_can_be_called_from_threads(another, start, say):
    thread = start(another)
    await thread.put(value := say("a"), run_id="run")
    await asyncio.to_thread(another.copy_thread, "1", "2")
    copy = await asyncio.to_thread(another.get_tuple, start(another, "2").latest)
    assert copy.checkpoint["channel_values"]["messages"] == value
    assert len(await asyncio.to_thread(lambda: [*another.list(None)])) == 2
    await asyncio.to_thread(another.delete_for_runs, ["run"])
    assert await another.aget_tuple(thread.latest) is None
    with pytest.raises(asyncio.InvalidStateError):
        another.delete_for_runs(["run"])
