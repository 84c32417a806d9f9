"""Spill stores: one suite for those in RAM and in PostgreSQL, then what the database adds."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from kit.compressed import inflated
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from discreet import metrics
from discreet.checkpoint import RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.late_writes import NO_DELETION
from discreet.checkpoint.postgres import CONNECTION
from discreet.checkpoint.postgres.threads import BURY
from discreet.checkpoint.postgres_spill import OVERDUE, SWEEP_LIMIT, PostgresSpill, SyncPostgresSpill
from discreet.checkpoint.serialization import deserialize, serialize
from discreet.checkpoint.spill import BlockingSpill, Spilled, SpillStore
from discreet.checkpoint.thread_scratch import ThreadScratch
from discreet.errors import StorageError, StorageUnavailableError
from discreet.testing import InMemoryKeys, InMemorySpill, InMemorySyncSpill

SERDE = JsonPlusSerializer()
OpenStore = Callable[..., SpillStore]


class Awaited:
    """A sync store, called as an async one."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            return await asyncio.to_thread(getattr(self._store, name), *args, **options)

        return call


@asynccontextmanager
async def pools(dsn: str, **options: Any) -> AsyncIterator[Any]:
    """An async pool as our savers want it, and a sync one with the driver's defaults: rows as tuples, transactions."""
    async with AsyncConnectionPool(dsn, min_size=1, max_size=4, kwargs=CONNECTION, open=False, **options) as pool:
        with ConnectionPool(dsn, min_size=1, max_size=4, open=False, **options) as sync_pool:
            yield SimpleNamespace(main=pool, sync=sync_pool)


@pytest.fixture
def keys():
    return InMemoryKeys()


@pytest.fixture(params=["memory", "memory-sync", "postgres", "postgres-sync", "postgres-from-threads"])
async def open_store(request, keys) -> AsyncIterator[OpenStore]:
    """Return what makes stores over the same rows; each is like another process."""
    if request.param.startswith("memory"):
        rows = {}

        def make(**options):
            made = InMemorySyncSpill(**options)
            made._kept = rows
            return InMemorySpill(made) if request.param == "memory" else Awaited(made)

        yield make
        return
    async with pools(request.getfixturevalue("database")) as opened:
        loop = asyncio.get_running_loop()
        makers = {
            "postgres": lambda **options: PostgresSpill(opened.main, keys, **options),
            "postgres-sync": lambda **options: Awaited(SyncPostgresSpill(opened.sync, keys, **options)),
            "postgres-from-threads": lambda **options: Awaited(
                BlockingSpill(PostgresSpill(opened.main, keys, **options), loop)
            ),
        }
        await makers[request.param]().setup()
        yield makers[request.param]


@pytest.fixture
async def spill(database, keys):
    async with pools(database) as opened:
        made = PostgresSpill(opened.main, keys)
        await made.setup()
        yield made


@pytest.fixture
def execute(database):
    def run(query, *params):
        with psycopg.connect(database, autocommit=True) as connection:
            cursor = connection.execute(query, params)
            return cursor.fetchall() if cursor.description else None

    return run


async def test_a_paused_turn_is_found_by_another_process(open_store):
    store = open_store()
    await store.setup()
    await store.setup()
    spilled = Spilled.now("head", b"\x00payload")
    assert await store.save("1", spilled)
    assert await open_store().load("1") == spilled
    assert await open_store().generation("1") == spilled.version
    assert await store.load("2") is None
    assert await store.generation("2") is None


async def test_a_newer_version_replaces_an_older_one_and_never_the_other_way_round(open_store):
    store = open_store()
    first, second = Spilled.now("b", b"one question"), Spilled.now("b", b"both questions")
    assert await store.save("1", second)
    assert not await store.save("1", first)
    assert not await store.save("1", Spilled.now("a", b"an older head"))
    assert await store.load("1") == second
    assert await store.save("1", second)
    third = Spilled.now("c", b"a newer head")
    assert await store.save("1", third)
    assert await store.load("1") == third


async def test_heads_are_compared_byte_by_byte(open_store):
    """As LangGraph compares them. A database's own order may put "a" before "B"."""
    store = open_store()
    await store.save("1", Spilled.now("B", b""))
    assert await store.save("1", Spilled.now("a", b""))
    await store.drop(["1"], upto="Z")
    assert (await store.generation("1")).head == "a"


async def test_after_its_time_a_turn_is_gone_and_in_nobodys_way(open_store):
    store = open_store(ttl_seconds=0)
    older = Spilled.now("a", b"")
    assert await store.save("1", Spilled.now("b", b""))
    assert await store.load("1") is None
    assert await store.generation("1") is None
    assert await open_store().save("1", older)
    assert await open_store().load("1") == older


async def test_dropping_takes_the_named_threads_only(open_store):
    store = open_store()
    for thread_id in "123":
        await store.save(thread_id, Spilled.now("head", b""))
    await store.drop(["1", "2", "unknown"])
    await store.drop([])
    assert [bool(await store.load(thread_id)) for thread_id in "123"] == [False, False, True]


async def test_the_end_of_a_turn_does_not_drop_the_next_ones_pause(open_store):
    store = open_store()
    await store.save("1", Spilled.now("b", b""))
    await store.drop(["1"], upto="a")
    assert await store.load("1")
    await store.drop(["1"], upto="b")
    assert await store.load("1") is None


async def test_several_processes_may_start_at_once(database, keys):
    async with pools(database) as opened:
        stores = [PostgresSpill(opened.main, keys), Awaited(SyncPostgresSpill(opened.sync, keys))] * 3
        await asyncio.gather(*(store.setup() for store in stores))
        assert await stores[0].save("1", Spilled.now("head", b""))


async def test_the_table_is_not_written_to_the_wal(spill, execute):
    kinds = "SELECT relname, relpersistence FROM pg_class WHERE relname LIKE 'checkpoint_spill%%' ORDER BY 1"
    assert execute(kinds) == [
        ("checkpoint_spill", "u"),
        ("checkpoint_spill_expires_at", "u"),
        ("checkpoint_spill_pkey", "u"),
    ]


EXPIRED = """
INSERT INTO checkpoint_spill (thread_id, head, generation, expires_at, sealed, saved_at)
SELECT 'old' || n, 'head', gen_random_uuid(), now() - make_interval(secs => n), 'x', now()
FROM generate_series(1, %s) n
"""


async def test_a_turn_whose_time_is_over_is_gone_before_anybody_deletes_it(spill, execute):
    await spill.save("1", Spilled.now("head", b""))
    execute("UPDATE checkpoint_spill SET expires_at = now()")
    assert await spill.generation("1") is None
    assert await spill.load("1") is None
    assert execute("SELECT count(*) FROM checkpoint_spill") == [(1,)]


async def test_each_save_deletes_some_expired_rows(spill, execute):
    execute(EXPIRED, SWEEP_LIMIT + 50)
    await spill.save("1", Spilled.now("head", b""))
    assert execute("SELECT count(*) FROM checkpoint_spill WHERE expires_at <= now()") == [(50,)]
    await spill.save("1", Spilled.now("head", b""))
    assert execute("SELECT thread_id FROM checkpoint_spill") == [("1",)]


@pytest.mark.slow
async def test_expired_rows_are_found_by_an_index(spill, execute):
    execute(EXPIRED, 20_000)
    execute("UPDATE checkpoint_spill SET expires_at = now() + interval '1 hour' WHERE thread_id > 'old2'")
    execute("VACUUM ANALYZE checkpoint_spill")
    plan = "\n".join(line for (line,) in execute("EXPLAIN " + OVERDUE % {"limit": SWEEP_LIMIT}))
    assert "Index Scan using checkpoint_spill_expires_at" in plan
    assert "Seq Scan" not in plan


@pytest.mark.parametrize(
    "change",
    [
        "thread_id = '2'",
        "head = 'other'",
        "generation = gen_random_uuid()",
        "sealed = set_byte(sealed, 0, 2)",
        "sealed = set_byte(sealed, length(sealed) - 1, get_byte(sealed, length(sealed) - 1) # 1)",
        "sealed = ''",
    ],
)
async def test_a_row_that_somebody_changed_counts_as_none(spill, execute, caplog, change):
    counter = metrics.spill_unreadable.labels(cause="key")
    before = counter._value.get()
    await spill.save("1", Spilled.now("head", b"payload"))
    execute(f"UPDATE checkpoint_spill SET {change}")
    thread_id = "2" if "thread_id" in change else "1"
    assert await spill.load(thread_id) is None
    assert counter._value.get() == before + 1
    assert [(record.message, record.thread_id) for record in caplog.records] == [("spill_unreadable", thread_id)]


async def test_a_rotated_key_opens_old_rows_until_it_is_gone(spill, execute, keys):
    old = keys.current()
    await spill.save("old", Spilled.now("head", b"before"))
    new = keys.rotate()
    await spill.save("new", Spilled.now("head", b"after"))
    used = dict(execute("SELECT thread_id, convert_from(substr(sealed, 3, 8), 'UTF8') FROM checkpoint_spill"))
    assert used == {"old": old.id, "new": new.id}
    assert (await spill.load("old")).payload == b"before"
    keys.forget(old.id)
    assert await spill.load("old") is None
    assert (await spill.load("new")).payload == b"after"
    assert await spill.save("old", Spilled.now("head", b"again"))  # an unreadable row is in nobody's way


@contextmanager
def hidden_from(caplog, keys, *planted):
    """Check that an error says nothing of a turn or a key."""
    with pytest.raises(StorageError) as caught:
        yield caught
    said = f"{caught.value!r} {caplog.text}"
    assert caught.value.__cause__ is None
    for secret in (*planted, base64.b64encode(keys.current().secret).decode()):
        assert secret not in said


@pytest.mark.slow
@pytest.mark.parametrize("face", ["async", "sync"])
async def test_a_database_that_is_not_there_is_named_as_such(keys, caplog, face, token):
    options = {"min_size": 0, "max_size": 1, "timeout": 0.2, "open": False}
    dsn = "postgresql://nobody@127.0.0.1:1/none"
    async with AsyncConnectionPool(dsn, **options) as pool:
        with ConnectionPool(dsn, **options) as sync_pool:
            store = PostgresSpill(pool, keys) if face == "async" else Awaited(SyncPostgresSpill(sync_pool, keys))
            for call in (
                store.setup,
                lambda: store.save("1", Spilled.now("head", token.encode())),
                lambda: store.load("1"),
                lambda: store.generation("1"),
                lambda: store.drop(["1"]),
            ):
                with hidden_from(caplog, keys, token) as caught:
                    await call()
                assert isinstance(caught.value, StorageUnavailableError)


async def test_work_that_the_database_refuses_is_not_called_an_outage(empty_database, keys, caplog, token):
    async with pools(empty_database) as opened:
        with hidden_from(caplog, keys, token) as caught:  # `setup` was not called
            await PostgresSpill(opened.main, keys).save("1", Spilled.now("head", token.encode()))
    assert not isinstance(caught.value, StorageUnavailableError)
    assert "SQLSTATE 42P01" in str(caught.value)


@pytest.mark.slow
async def test_a_turn_shows_in_no_row_and_no_file_of_the_server(spill, execute, keys, on_disk, token):
    thread_id = f"thread{token}"
    await spill.save(thread_id, Spilled.now("head", f"raw{token}".encode() * 1_000))
    assert token.encode() in (await spill.load(thread_id)).payload
    execute("ALTER TABLE checkpoint_spill SET LOGGED")  # so that heap and WAL hold all of it
    secret = keys.current().secret
    words = {
        "thread": thread_id,
        "said": f"raw{token}",
        "key": secret,
        "key in base64": base64.b64encode(secret).decode(),
    }
    assert on_disk(**words, **{"key in hex": secret.hex()}) == {"thread"}


@pytest.mark.slow
async def test_a_paused_graph_is_resumed_from_the_database_and_never_shows_in_it(agent, spill, execute, on_disk):
    thread = ThreadScratch("1")
    graph = agent.compile(thread.saver(SERDE))
    await graph.ainvoke(agent.say("tool pause"), agent.config("1"))
    payload = serialize(thread, SERDE)
    assert {f"raw {place}" for place in ("args", "interrupt", "memory", "request")} <= agent.planted.within(
        inflated(payload)
    )
    await spill.save("1", Spilled.now(thread.head(""), payload))
    execute("ALTER TABLE checkpoint_spill SET LOGGED")

    loaded = await spill.load("1")
    other = agent.compile(deserialize(loaded.payload, "1", SERDE).saver(SERDE))
    assert loaded.head == thread.head("")
    result = await other.ainvoke(Command(resume="yes"), agent.config("1"))
    assert isinstance(result["messages"][-1], AIMessage)
    assert agent.tool_runs == 1
    assert on_disk(agent.planted) == set()


async def test_saves_at_the_same_time_leave_the_newest(spill):
    versions = [Spilled.now("head", str(number).encode()) for number in range(20)]
    saved = await asyncio.gather(*(spill.save("1", version) for version in reversed(versions)))
    assert any(saved)
    assert await spill.load("1") == versions[-1]


async def test_a_save_waits_for_nobody_who_works_on_expired_rows(spill, execute, database):
    execute(EXPIRED, 3)
    with psycopg.connect(database) as other:
        other.execute("SELECT FROM checkpoint_spill WHERE thread_id = 'old2' FOR UPDATE")
        assert await asyncio.wait_for(spill.save("1", Spilled.now("head", b"")), timeout=30)
    assert execute("SELECT thread_id FROM checkpoint_spill ORDER BY 1") == [("1",), ("old2",)]


DELETED = f"{BURY} RETURNING deleted_at"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


async def test_what_an_older_run_saves_of_a_deleted_thread_is_not_kept(spill, execute, database):
    await spill.save("1", Spilled.now("head", b"before"))
    with psycopg.connect(database) as deleting:
        [first] = deleting.execute(DELETED, {"thread_id": "1"}).fetchone()
        waits = asyncio.create_task(spill.save("1", Spilled.now("head2", b"too late"), since=NO_DELETION))
        async with asyncio.timeout(10):
            while execute(WAITING) == [(0,)]:  # another process's state
                await asyncio.sleep(0.01)
        deleting.execute("DELETE FROM checkpoint_spill WHERE thread_id = '1'")
        deleting.commit()
    assert not await waits
    assert not await spill.save("1", Spilled.now("head3", b"later still", ended=True), since=NO_DELETION)
    assert execute("SELECT count(*) FROM checkpoint_spill") == [(0,)]
    assert await spill.save("1", Spilled.now("head4", b"of a new run"), since=first)
    assert await spill.save("1", Spilled.now("head5", b"of no run"))


def asking(saver: Any) -> Any:
    """Return a graph that asks a person."""
    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda _: {"messages": [("ai", interrupt("May I?"))]})
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


async def test_a_spill_switched_on_later_says_what_to_run(empty_database, keys):
    thread: Any = {"configurable": {"thread_id": "1"}}
    async with RedactingSaver.from_conn_string(empty_database) as saver:
        await saver.setup()
        await asking(saver).ainvoke({"messages": [("user", "one")]}, thread)
    async with RedactingSaver.from_conn_string(empty_database, keys=keys) as saver:
        with pytest.raises(StorageError, match=r"setup\(\) once more"):
            await asking(saver).ainvoke({"messages": [("user", "two")]}, thread)
        await saver.setup()
        await asking(saver).ainvoke({"messages": [("user", "three")]}, thread)
    async with RedactingSaver.from_conn_string(empty_database, keys=keys) as saver:
        found = await asking(saver).ainvoke(Command(resume="yes"), thread)
        assert [message.text for message in found["messages"]][-2:] == ["three", "yes"]


def test_a_blocking_saver_says_the_same(empty_database, keys):
    thread: Any = {"configurable": {"thread_id": "1"}}
    with RedactingSyncSaver.from_conn_string(empty_database) as saver:
        saver.setup()
    with RedactingSyncSaver.from_conn_string(empty_database, keys=keys) as saver:
        with pytest.raises(StorageError, match=r"setup\(\) once more"):
            asking(saver).invoke({"messages": [("user", "two")]}, thread)
        saver.setup()
        asking(saver).invoke({"messages": [("user", "three")]}, thread)
