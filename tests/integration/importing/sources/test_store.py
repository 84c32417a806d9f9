"""Items of LangGraph stores: as the stores themselves write them, and as they must not end an import."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow, LeftOutRow, SourceRow, StoreItem
from discreet.importing.sources.store import open_store

ITEMS = {
    (("memories", "alice"), "a"): {"content": "keeps bees"},
    (("memories", "alice", "work"), "b"): {"content": "welds", "since": 2019, "tools": [{"name": "TIG"}]},
    (("memories", "bob"), "c"): {"content": "năm mươi 🐝"},
    (("prompts",), "d"): {"text": "Be brief."},
}
USERS = {"a": "alice", "b": "alice", "c": "bob", "d": None}


async def fill(store):
    for (namespace, key), value in ITEMS.items():
        await store.aput(namespace, key, value)
    return {key: await store.aget(namespace, key) for namespace, key in ITEMS}


def assert_same(rows, items):
    assert {row.record.key: row.user_id for row in rows} == USERS
    for row in rows:
        item = items[row.record.key]
        assert row.record.namespace == item.namespace
        assert row.record.value == item.value
        assert (row.record.created_at, row.record.updated_at) == (utc(item.created_at), utc(item.updated_at))
    assert len(rows) == len(items)


def utc(at):
    at = datetime.fromisoformat(at) if isinstance(at, str) else at
    return at if at.tzinfo else at.replace(tzinfo=UTC)


@pytest.mark.dialect
async def test_the_tables_in_postgresql_are_read(empty_database, read):
    async with AsyncPostgresStore.from_conn_string(empty_database) as store:
        await store.setup()
        items = await fill(store)
    async with open_store(empty_database) as source:
        assert await source.count() == len(ITEMS)
        assert_same(await read(source), items)


async def test_tables_in_another_schema_are_read(empty_database, connection, read):
    await connection.execute("CREATE SCHEMA other")
    async with AsyncPostgresStore.from_conn_string(f"{empty_database}&options=-csearch_path%3Dother") as store:
        await store.setup()
        items = await fill(store)
    async with open_store(empty_database, schema="other") as source:
        assert_same(await read(source), items)
    async with open_store(f"{empty_database}&options=-csearch_path%3Dother") as source:
        assert_same(await read(source), items)


@pytest.fixture(params=["delete", "wal"])
async def sqlite_path(request, tmp_path):
    """Return where a new store is to be, in a file with a write-ahead log or without."""
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA journal_mode = {request.param}")
        file.execute("CREATE TABLE beside (a)")
    return path


async def test_a_file_of_the_sqlite_store_is_read_and_nothing_appears_beside_it(sqlite_path, read):
    async with AsyncSqliteStore.from_conn_string(str(sqlite_path)) as store:
        await store.setup()
        items = await fill(store)
        async with open_store(str(sqlite_path)) as source:  # while its application has it open
            assert_same(await read(source), items)
    before = sqlite_path.read_bytes()
    assert list(sqlite_path.parent.iterdir()) == [sqlite_path]
    async with open_store(str(sqlite_path)) as source:
        assert await source.count() == len(ITEMS)
        assert_same(await read(source), items)
        assert list(sqlite_path.parent.iterdir()) == [sqlite_path]
    assert sqlite_path.read_bytes() == before


async def test_an_application_goes_on_writing_its_sqlite_file_while_it_is_read(sqlite_path):
    async with AsyncSqliteStore.from_conn_string(str(sqlite_path)) as store:
        await store.setup()
        for number in range(450):
            await store.aput(("memories", "alice"), f"{number:04}", {"content": "x"})
        async with open_store(str(sqlite_path)) as source:
            keys = []
            async for row in source.rows():
                if row.record.key == "0100":
                    await store.aput(("memories", "alice"), "0000", {"content": "changed"})
                keys.append(row.record.key)
    assert keys == [f"{number:04}" for number in range(450)]


@pytest.mark.parametrize("lines", [True, False])
async def test_a_dump_of_the_store_in_memory_is_read(tmp_path, read, lines):
    store = InMemoryStore()
    items = await fill(store)
    dumped = [item.dict() for item in items.values()]
    path = tmp_path / "dump"
    path.write_text("\n".join(map(json.dumps, dumped)) if lines else json.dumps(dumped, indent=1))
    async with open_store(str(path)) as source:
        assert await source.count() == len(ITEMS)
        assert_same(await read(source), items)


@pytest.mark.slow
async def test_one_snapshot_is_read_however_long_it_takes(empty_database):
    async with AsyncPostgresStore.from_conn_string(empty_database) as store:
        await store.setup()
        for number in range(500):
            await store.aput(("memories", "alice"), f"{number:04}", {"content": "x"})
        async with open_store(empty_database) as source:
            keys = []
            async for row in source.rows():
                if not keys:
                    await store.adelete(("memories", "alice"), "0499")
                    await store.aput(("memories", "alice"), "9999", {"content": "late"})
                keys.append(row.record.key)
            assert keys == [f"{number:04}" for number in range(500)]
            assert await source.count() == 500


async def test_a_role_that_may_only_read_is_enough_and_nothing_could_be_written(empty_database, connection):
    async with AsyncPostgresStore.from_conn_string(empty_database) as store:
        await store.setup()
        await fill(store)
    await connection.execute("DROP ROLE IF EXISTS only_reads")
    await connection.execute("CREATE ROLE only_reads")
    await connection.execute("GRANT SELECT ON store TO only_reads")
    try:
        async with open_store(f"{empty_database}&options=-crole%3Donly_reads") as source:
            assert len([row async for row in source.rows()]) == len(ITEMS)
    finally:
        await connection.execute("DROP OWNED BY only_reads")
        await connection.execute("DROP ROLE only_reads")


async def test_time_to_live_is_kept_and_what_is_over_is_left_out(empty_database, connection, read):
    async with AsyncPostgresStore.from_conn_string(empty_database) as store:
        await store.setup()
        await store.aput(("memories", "a"), "kept", {"content": "x"}, ttl=30)
        await store.aput(("memories", "a"), "over", {"content": "x"}, ttl=30)
    await connection.execute("UPDATE store SET expires_at = now() - interval '1 minute' WHERE key = 'over'")
    async with open_store(empty_database) as source:
        kept, over = await read(source)
    assert kept.record.ttl_minutes == 30
    assert isinstance(over, LeftOutRow)


async def test_a_store_from_before_there_were_times_to_live_is_read(empty_database, connection, read):
    await connection.execute(
        "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value jsonb NOT NULL, created_at timestamptz DEFAULT"
        " now(), updated_at timestamptz DEFAULT now(), PRIMARY KEY (prefix, key))"
    )
    await connection.execute("INSERT INTO store (prefix, key, value) VALUES ('memories.a', 'k', '{}')")
    async with open_store(empty_database) as source:
        (row,) = await read(source)
    assert row.record.ttl_minutes is None


async def test_rows_that_no_store_would_write_are_bad_rows_and_end_nothing(empty_database, connection, read):
    async with AsyncPostgresStore.from_conn_string(empty_database) as store:
        await store.setup()
    rows = [
        ("a..b", "1", "{}", "now"),
        ("memories.a", "2", "[]", "now"),
        ("memories.a", "3", '{"n": 1e5000}', "now"),
        ("memories.a", "4", "{}", "infinity"),
        ("memories.a", "5", "{}", "20000-01-01"),
        ("memories.a", "6", "{}", "0044-03-15 BC"),
        ("memories.a", "7", "[" * 200 + "]" * 200, "now"),
        ("memories." + "x" * 2_000, "8", "{}", "now"),
        ("memories.a", "9", "{}", "now"),
    ]
    for prefix, key, value, at in rows:
        await connection.execute(
            "INSERT INTO store (prefix, key, value, created_at) VALUES (%s, %s, %s, %s)", (prefix, key, value, at)
        )
    async with open_store(empty_database) as source:
        found = await read(source)
    bad = [row for row in found if isinstance(row, BadRow)]
    assert len(found) == len(rows)
    assert len(bad) == len(rows) - 1
    assert all(row.raw for row in bad)
    assert {type(row) for row in found} == {BadRow, SourceRow}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "The row is not JSON."),
        (b"[]", "It is no object."),
        (b"\xff\xfe", "The row is not UTF-8: convert the file (iconv -t UTF-8)."),
        (b'{"namespace": [], "key": "k", "value": {}}', "The namespace is missing, or no list."),
        (b'{"namespace": ["a.b"], "key": "k", "value": {}}', None),
        (b'{"namespace": ["a"], "key": 1, "value": {}, "created_at": 0}', "The key is no text."),
        (b'{"namespace": ["a"], "key": "k", "value": "x"}', "The value is not JSON."),
        (b'{"namespace": ["a"], "key": "k", "value": {"x": "\\u0000"}}', "The row has a NUL or a lone surrogate."),
        (b'{"namespace": ["a"], "key": "k", "value": {"\\ud800": 1}}', "The row has a NUL or a lone surrogate."),
        (b'{"namespace": ["a"], "key": "k", "value": {"x": NaN}}', "It has a number that is not finite."),
        (b'{"namespace": ["a"], "key": "k", "value": {}}', "The time of creation is missing."),
        (b'{"namespace": ["a"], "key": "k", "value": {}, "created_at": "soon"}', "The time of creation is no time, or out of range."),
        (b'{"namespace": ["a"], "key": "k", "value": {}, "created_at": 1e300}', "The time of creation is out of range."),
        (b'{"namespace": ["memories", "\\u0001"], "key": "k", "value": {}, "created_at": 1}', None),
    ],
)  # fmt: skip
async def test_a_bad_line_of_a_dump_says_why_without_its_text(tmp_path, read, line, reason):
    path = tmp_path / "dump.jsonl"
    good = b'{"namespace": ["a"], "key": "k", "value": {}, "created_at": "2025-01-02T03:04:05"}'
    path.write_bytes(line + b"\n\n" + good + b"\n")
    async with open_store(str(path)) as source:
        bad, row = await read(source)
    assert isinstance(bad, BadRow)
    assert bad.raw == line
    if reason is not None:
        assert bad.reason == reason
    assert row.record.created_at == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


async def test_times_may_be_seconds_or_milliseconds(tmp_path, read):
    at = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    path = tmp_path / "dump.json"
    item = {"namespace": ["a"], "key": "k", "value": {}}
    times = {"created_at": at.timestamp(), "updated_at": int((at + timedelta(days=1)).timestamp() * 1000)}
    path.write_text(json.dumps([item | times]))
    async with open_store(str(path)) as source:
        (row,) = await read(source)
    assert row.record == StoreItem(
        namespace=("a",), key="k", value={}, created_at=at, updated_at=at + timedelta(days=1)
    )


@pytest.mark.parametrize(
    ("template", "namespace", "user"),
    [
        ("memories.{user_id}.*", ["memories", "alice"], "alice"),
        ("memories.{user_id}.*", ["memories", "alice", "x", "y"], "alice"),
        ("memories.{user_id}.*", ["memories"], None),
        ("memories.{user_id}.*", ["other", "alice"], None),
        ("memories.{user_id}", ["memories", "alice", "x"], None),
        ("*.{user_id}", ["anything", "alice"], "alice"),
        ("org.*.user-{user_id}.*", ["org", "acme", "user-alice", "notes"], "alice"),
        ("{user_id}.*", ["a:b@c"], "a:b@c"),
    ],
)
async def test_a_template_says_which_label_is_the_user(tmp_path, template, namespace, user):
    path = tmp_path / "dump.json"
    path.write_text(json.dumps([{"namespace": namespace, "key": "k", "value": {}, "created_at": 0}]))
    async with open_store(str(path), user_from=template) as source:
        (row,) = [row async for row in source.rows()]
    assert row.user_id == user


@pytest.mark.parametrize("template", ["memories", "{user_id}.{user_id}", ""])
async def test_a_template_without_one_user_is_refused(tmp_path, template):
    with pytest.raises(ImportSourceError, match="user_id"):
        async with open_store(str(tmp_path), user_from=template):
            pass


async def test_what_is_no_source_is_refused_without_the_location(tmp_path, empty_database, token):
    (tmp_path / "cut.json").write_text('[{"namespace"')
    (tmp_path / "number.json").write_text("17")
    (tmp_path / "bad.db").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    secret = f"postgresql://postgres:{token}@127.0.0.1:1/x"
    for location in (str(tmp_path / f"none-{token}"), str(tmp_path), secret, f"host=127.0.0.1 port=1 password={token}",
                     f"{tmp_path}/cut.json", f"{tmp_path}/number.json", f"{tmp_path}/bad.db", empty_database):  # fmt: skip
        with pytest.raises(ImportSourceError) as caught:
            async with open_store(location) as source:
                [row async for row in source.rows()]
        assert token not in str(caught.value)
        assert caught.value.__cause__ is None


async def test_errors_of_whoever_reads_are_theirs(empty_database):
    with pytest.raises(psycopg.OperationalError):
        async with open_store(empty_database):
            raise psycopg.OperationalError("mine")


@pytest.mark.slow
async def test_reading_may_end_anywhere(empty_database, tmp_path):
    path = tmp_path / "store.db"
    async with (
        AsyncPostgresStore.from_conn_string(empty_database) as store,
        AsyncSqliteStore.from_conn_string(str(path)) as file,
    ):
        for each in (store, file):
            await each.setup()
            for number in range(450):
                await each.aput(("memories", "alice"), f"{number:04}", {"content": "x"})
    for location in (empty_database, str(path)):
        async with open_store(location) as source:
            async for row in source.rows():
                if row.record.key == "0210":
                    break
            assert await source.count() == 450
            assert len([row async for row in source.rows()]) == 450


@pytest.mark.parametrize("sqlite_path", ["wal"], indirect=True)
async def test_a_file_that_somebody_opens_and_writes_to_meanwhile_is_not_believed(sqlite_path):
    async with AsyncSqliteStore.from_conn_string(str(sqlite_path)) as store:
        await store.setup()
        await fill(store)

    async def read_while_somebody_writes():
        async with open_store(str(sqlite_path)) as source:
            async with AsyncSqliteStore.from_conn_string(str(sqlite_path)) as store:
                await store.aput(("memories", "a"), "new", {"content": "x" * 10_000})
            [row async for row in source.rows()]

    with pytest.raises(ImportSourceError, match="again"):
        await read_while_somebody_writes()
