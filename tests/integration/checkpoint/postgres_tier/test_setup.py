"""Creating the tables: at once, again, over a stock database, after an interruption; and the guard that comes along."""

from __future__ import annotations

import asyncio
import logging
import traceback

import psycopg
import pytest
from kit.places import files, folder_of
from kit.search import Words, search
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.types import Send

from discreet import locks
from discreet.checkpoint.postgres import CONNECTION, schema
from discreet.checkpoint.postgres.guard import FRAMES
from discreet.errors import LeakBlockedError, MigrationError

GUARDS = "SELECT conname::text, convalidated FROM pg_constraint WHERE conname LIKE '%guard' ORDER BY 1"
BOTH = [("checkpoint_blobs_guard", True), ("checkpoint_writes_guard", True)]
INDEX = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('checkpoints_run_id_idx')"
REFUSED = {"tool": ToolMessage("x", tool_call_id="1"), "system": SystemMessage("x"), "send": Send("node", {"a": 1})}


@pytest.fixture
def dsn(empty_database):
    """Return a database of its own for each test, without any table."""
    return empty_database


@pytest.fixture
def stock(dsn):
    """Create LangGraph's own tables, as LangGraph does."""
    with psycopg.connect(dsn, **CONNECTION) as connection:
        PostgresSaver(connection).setup()


@pytest.fixture(params=["async pool", "sync pool"])
async def guarded(request, open_tier):
    """Return a tier over tables that it has created."""
    tier = await open_tier(request.param)
    await tier.setup()
    return tier


async def test_several_processes_may_start_at_once(open_tier, rows):
    tiers = [await open_tier(kind) for kind in ("async pool", "sync pool", "async connection", "sync connection")]
    await asyncio.gather(*(tier.setup() for tier in tiers))
    assert rows("SELECT v FROM checkpoint_migrations ORDER BY v") == [*range(len(PostgresSaver.MIGRATIONS))]
    assert (rows(GUARDS), rows(INDEX)) == (BOTH, [True])


async def test_setup_looks_at_the_database_every_time(open_tier, start, say, rows):
    tier = await open_tier()
    await tier.setup()
    for table in (
        "checkpoints",
        "checkpoint_blobs",
        "checkpoint_writes",
        "checkpoint_messages",
        "checkpoint_migrations",
    ):
        rows(f"DROP TABLE {table}")
    await tier.setup()
    await tier.setup()
    await (thread := start(tier)).put(value := say("a"))
    assert await thread.read() == value
    assert rows(GUARDS) == BOTH


async def test_whoever_finds_tables_after_an_interrupted_start_finds_them_guarded(open_tier, rows, dsn):
    nothing = schema.Found("public", here=True, tables=frozenset(), indexes={}, guards=frozenset())
    with psycopg.connect(dsn, **CONNECTION) as connection, connection.transaction():
        for statement in schema.missing(nothing)[0].statements:
            connection.execute(statement.sql, statement.params)
    await (await open_tier()).setup()
    assert (rows(GUARDS), rows(INDEX)) == (BOTH, [True])


INVALID = "SELECT relname::text FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisvalid"


@pytest.mark.fast_cases(2)
@pytest.mark.dialect
@pytest.mark.parametrize("kind", ["async pool", "sync pool"])
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("index", ["checkpoints_run_id_idx", "checkpoint_writes_thread_id_idx"])
async def test_an_index_whose_building_was_broken_off_is_built_again(open_tier, rows, index, recorded, kind):
    tier = await open_tier(kind)
    await tier.setup()
    rows(f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('{index}')")
    if not recorded:
        rows("DELETE FROM checkpoint_migrations WHERE v >= 8")
    assert rows(INVALID) == [index]
    await tier.setup()
    assert rows(INVALID) == []
    assert rows(f"SELECT to_regclass('{index}') IS NOT NULL") == [True]


@pytest.mark.parametrize("kind", ["async pool", "sync pool"])
async def test_a_stock_database_stays_as_open_as_it_was(open_tier, start, rows, stock, kind):
    tier = await open_tier(kind)
    await tier.setup()
    await (thread := start(tier)).put(None, other=[REFUSED["tool"]])
    assert (await thread.load()).checkpoint["channel_values"]["other"] == [REFUSED["tool"]]
    assert (rows(GUARDS), rows(INDEX)) == ([], [True])


@pytest.mark.parametrize("kind", ["async pool", "sync pool"])
async def test_a_guard_on_a_stock_database_leaves_old_rows_and_refuses_new_ones(open_tier, start, rows, stock, kind):
    tier = await open_tier(kind)
    await tier.setup()
    await (thread := start(tier)).put(None, other=[REFUSED["tool"]])
    for _ in range(2):
        await tier.setup(guard=True)
    assert rows(GUARDS) == [(name, False) for name, _ in BOTH]
    assert (await thread.load()).checkpoint["channel_values"]["other"] == [REFUSED["tool"]]
    with pytest.raises(LeakBlockedError):
        await thread.put(None, other=[REFUSED["tool"]])
    with pytest.raises(LeakBlockedError):
        await tier.acopy_thread("1", "2")
    for _ in range(2):
        await tier.setup(guard=False)
    await tier.setup()
    assert rows(GUARDS) == []
    await thread.put(None, other=[REFUSED["tool"]])


@pytest.mark.slow
@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("kind", ["async pool", "sync pool"])
async def test_a_guard_does_not_wait_behind_a_long_backup(open_tier, rows, dsn, kind, monkeypatch):
    monkeypatch.setattr(locks, "TIMEOUT_SECONDS", 0.1)
    tier = await open_tier(kind)
    await tier.setup()
    with psycopg.connect(dsn) as backup:
        backup.execute("SELECT FROM checkpoint_blobs")
        with pytest.raises(MigrationError, match=r"the guards.*pg_blocking_pids"):
            await tier.setup(guard=True)
    assert rows(GUARDS) == []
    await tier.setup(guard=True)
    assert len(rows(GUARDS)) == 2


async def test_new_tables_come_without_a_guard_on_request(open_tier, rows):
    tier = await open_tier()
    await tier.setup(guard=False)
    await tier.setup()
    assert rows(GUARDS) == []


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("name", REFUSED)
async def test_a_guarded_database_refuses_whole_calls(guarded, start, say, rows, name):
    thread = start(guarded)
    with pytest.raises(LeakBlockedError):
        await thread.put(say("a"), harmless=["b"], other={"deep": [REFUSED[name]]})
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_messages"):
        assert rows(f"SELECT * FROM {table}") == []
    await thread.put(value := say("a"))
    with pytest.raises(LeakBlockedError):
        await guarded.aput_writes(thread.config, [("harmless", "b"), ("other", REFUSED[name])], "task")
    assert rows("SELECT * FROM checkpoint_writes") == []
    assert await thread.read() == value


async def test_text_that_quotes_what_is_refused_is_taken(guarded, start):
    quoted = [*(frame.decode("latin-1") for frame in FRAMES), *map(repr, FRAMES), repr(REFUSED)]
    await (thread := start(guarded)).put([HumanMessage(text) for text in quoted], other=quoted)
    await guarded.aput_writes(thread.config, [("other", quoted)], "task")
    found = await thread.load()
    assert [message.content for message in found.checkpoint["channel_values"]["messages"]] == quoted
    assert found.checkpoint["channel_values"]["other"] == found.pending_writes[0][2] == quoted


@pytest.mark.slow
async def test_nothing_of_what_was_refused_is_in_the_error_a_log_or_a_file(guarded, start, token, caplog, server_dsn):
    caplog.set_level(logging.DEBUG)
    thread, message = start(guarded), ToolMessage(token, tool_call_id=token)
    with pytest.raises(LeakBlockedError) as put:
        await thread.put(None, other=[message])
    await thread.put(None, count=1)
    with pytest.raises(LeakBlockedError) as writes:
        await guarded.aput_writes(thread.config, [("other", message)], "task")
    for caught in (put, writes):
        assert caught.value.__cause__ is caught.value.__context__ is None
        assert token not in "".join(traceback.format_exception(caught.value))
    assert token not in caplog.text
    found = search(files(folder_of(server_dsn)), Words("ready to accept connections", word=token))
    assert found.leaks.keys() == {"ready to accept connections"}, "its log is among them"
