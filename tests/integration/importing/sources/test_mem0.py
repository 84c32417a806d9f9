"""Memories of mem0: payloads of its table, results of get_all(), exports of schemas of one's own."""

import json
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow
from discreet.importing.sources.mem0 import open_mem0
from discreet.state.records import MAX_MEMORY_CHARS

AT = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
ITEM = {
    "id": "7c0b6b1e-6a0f-4d34-9d7e-5d3f1e4d2a10",
    "memory": "Keeps bees",
    "hash": "0",
    "created_at": "2025-01-01T19:04:05-08:00",
    "updated_at": None,
    "user_id": "alice",
}


@pytest.fixture
def read_file(tmp_path, read):
    async def read_file(document):
        path = tmp_path / "export.json"
        path.write_text(json.dumps(document))
        async with open_mem0(str(path)) as source:
            assert source.name == "mem0"
            return await read(source)

    return read_file


@pytest.mark.parametrize("wrapped", [lambda item: {"results": [item]}, lambda item: {"memories": [item], "count": 1},
                                     lambda item: [item], lambda item: item])  # fmt: skip
async def test_an_export_may_be_a_list_or_hold_one(read_file, wrapped):
    (row,) = await read_file(wrapped(ITEM))
    assert row.user_id == "alice"
    assert (row.record.text, row.record.entry_id, row.record.created_at) == ("Keeps bees", UUID(ITEM["id"]), AT)


@pytest.mark.parametrize("name", ["memory", "data", "content", "text"])
async def test_the_text_may_have_the_name_of_any_release(read_file, name):
    item = {key: value for key, value in ITEM.items() if key != "memory"} | {name: "Sings"}
    (row,) = await read_file([item])
    assert row.record.text == "Sings"


async def test_what_mem0_knows_beside_the_text_is_kept(read_file):
    metadata = {"type": "preference", "importance": 9, "tags": ["a", "b", "a"], "category": "c"}
    item = ITEM | {"agent_id": "helper", "run_id": 17, "app_id": "shop", "categories": ["d"], "metadata": metadata,
                   "updated_at": "2025-02-01T00:00:00Z", "expiration_date": "2025-03-01"}  # fmt: skip
    (row,) = await read_file([item])
    record = row.record
    assert (record.agent_id, record.thread_id, record.app_name) == ("helper", "17", "shop")
    assert (record.type, record.importance, record.tags) == ("preference", 9, ["d", "c", "a", "b"])
    assert (record.valid_from, record.valid_to) == (datetime(2025, 2, 1, tzinfo=UTC), datetime(2025, 3, 2, tzinfo=UTC))
    assert record.provenance.source is None


@pytest.mark.parametrize(
    "metadata",
    [{"type": "turn"}, {"type": 1}, {"importance": True}, {"importance": 11}, {"tags": [1, "", "x" * 101]}, None],
)
async def test_metadata_that_means_something_else_changes_nothing(read_file, metadata):
    (row,) = await read_file([ITEM | {"metadata": metadata}])
    assert (row.record.type, row.record.importance, row.record.tags) == ("user_fact", 5, [])


@pytest.mark.parametrize(
    "broken",
    [{"memory": None}, {"memory": 1}, {"memory": ""}, {"memory": " "}, {"memory": "a\0b"}, {"memory": "x" * (MAX_MEMORY_CHARS + 1)},
     {"created_at": None}, {"created_at": "soon"}, {"created_at": True}, {"created_at": 1e20}, {"updated_at": "0000-00-00"},
     {"user_id": ["a"]}, {"user_id": "a\nb"}, {"user_id": "x" * 10_000}, {"expiration_date": "never"}, {"run_id": {}}],
)  # fmt: skip
async def test_a_bad_memory_ends_nothing(read_file, broken):
    bad, good = await read_file([ITEM | broken, ITEM])
    assert isinstance(bad, BadRow)
    assert json.loads(bad.raw) == ITEM | broken
    assert good.record.text == "Keeps bees"


@pytest.mark.parametrize("item", [None, 1, "text", []])
async def test_what_is_no_memory_at_all_is_a_bad_row(read_file, item):
    bad, _good = await read_file([item, ITEM])
    assert isinstance(bad, BadRow)


async def test_an_export_without_ids_gets_the_same_ones_each_time(read_file):
    without = {key: value for key, value in ITEM.items() if key != "id"}
    one, two = await read_file([without, without | {"user_id": "bob"}])
    again, _two = await read_file([without, without | {"user_id": "bob"}])
    assert one.record.entry_id == again.record.entry_id != two.record.entry_id


@pytest.mark.parametrize("schema", [None, "of mem0"])
async def test_the_table_is_read(empty_database, connection, read, schema):
    if schema:
        await connection.execute(f'CREATE SCHEMA "{schema}"')
    name = f'"{schema or "public"}"."my memories"'
    await connection.execute(f"CREATE TABLE {name} (id uuid PRIMARY KEY, payload jsonb)")
    good, bad = sorted(uuid4() for _ in range(300)), sorted(uuid4() for _ in range(3))
    payload = {"data": "Keeps bees", "created_at": "2025-01-02T03:04:05+00:00", "user_id": "alice", "category": "pets"}
    rows = [(key, json.dumps(payload)) for key in good]
    rows += zip(bad, [None, "[]", json.dumps({"data": "x" * 5_000, "created_at": 0})], strict=True)
    async with connection.cursor() as cursor:
        await cursor.executemany(f"INSERT INTO {name} VALUES (%s, %s)", rows)
    async with open_mem0(empty_database, table="my memories", schema=schema) as source:
        assert await source.count() == len(rows)
        found = [row async for row in source.rows()]
        half = [row async for row in source.rows(after=found[150].mark)]
    assert half == found[151:]
    assert [row.mark for row in found] == sorted(str(key) for key, _ in rows)
    assert [row.record.entry_id for row in found if not isinstance(row, BadRow)] == good
    assert {row.mark for row in found if isinstance(row, BadRow)} == set(map(str, bad))


async def test_another_table_or_file_is_refused_with_what_to_do(empty_database, connection, tmp_path):
    await connection.execute("CREATE TABLE mem0 (a int)")
    (tmp_path / "history.db").write_bytes(b"SQLite format 3\0")
    for location in (empty_database, str(tmp_path / "history.db")):
        with pytest.raises(ImportSourceError, match="Name"):
            async with open_mem0(location) as source:
                [row async for row in source.rows()]
