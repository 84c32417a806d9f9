"""A sealed value opens where it was sealed for, and nowhere else."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql
from testkit.sealed import WORD, cells, fill, holds, told

from discreet.encryption import unseal
from discreet.errors import EncryptionError
from discreet.storage import open_storage
from discreet.storage.database.sealed_columns import ROUND_INPUT, ROUND_OUTPUT, SEALED_TABLES, VAULT_VALUE, WORK_ANSWER
from discreet.testing import InMemoryKeys, StubEmbeddings

_SEALED_COLUMNS = """
SELECT c.relname, a.attname
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'discreet'::regnamespace AND c.relkind = 'r' AND a.atttypid = 'bytea'::regtype
  AND a.attname LIKE 'sealed%' AND c.relname NOT LIKE 'checkpoint%'
"""
_KEY = """
SELECT array_agg(a.attname::text ORDER BY array_position(i.indkey::int2[], a.attnum))
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
WHERE i.indrelid = '{}'::regclass AND i.indisprimary
"""


@pytest.fixture(scope="module")
def keys():
    return InMemoryKeys()


@pytest.fixture(scope="module")
def filled(make_database, migrated_template, keys):
    """Return all sealed values of two people, two rows each."""

    async def make(dsn):
        async with open_storage(dsn, embeddings=StubEmbeddings(dims=16), keys=keys) as storage:
            for user_id in ("ann", "bob"):
                for name in ("1", "2"):
                    await fill(storage, keys, user_id, name=name)

    with make_database(template=migrated_template) as dsn:
        asyncio.run(make(dsn))
        assert not holds(dsn)
        found = cells(dsn)
    assert {cell.column for cell in found} == {column for table in SEALED_TABLES for column in table.columns}
    return found


@pytest.mark.slow
def test_every_value_opens_in_its_own_place(filled, keys):
    assert all(WORD.encode() in unseal(cell.value, cell.aad, keys) for cell in filled)


@pytest.mark.slow
@given(data=st.data())
def test_a_value_that_is_moved_to_any_other_place_can_not_be_opened(filled, keys, data):
    moved, there = data.draw(st.sampled_from(filled)), data.draw(st.sampled_from(filled))
    if moved is not there:
        with pytest.raises(EncryptionError):
            unseal(moved.value, there.aad, keys)


def test_every_sealed_column_is_known_and_bound_to_the_primary_key_of_its_table(database):
    short_lived = {(column.table, column.name) for column in (ROUND_INPUT, ROUND_OUTPUT, WORK_ANSWER, VAULT_VALUE)}
    lasting = {(table.name, column.name) for table in SEALED_TABLES for column in table.columns}
    with psycopg.connect(database) as connection:
        assert set(connection.execute(_SEALED_COLUMNS).fetchall()) == lasting | short_lived
        for table in SEALED_TABLES:
            assert all(column.table == table.name for column in table.columns)
            (key,) = connection.execute(_KEY.format(f"discreet.{table.name}")).fetchone()
            assert key == ["user_key", table.key]


@pytest.mark.slow
@pytest.mark.one_server("moves values between rows that are on several nodes")
async def test_the_product_reads_nothing_of_values_that_were_moved(database, keys):
    async with open_storage(database, embeddings=StubEmbeddings(dims=16), keys=keys) as storage:
        for user_id in ("ann", "bob"):
            await fill(storage, keys, user_id)
        before = await told(storage, "ann")
        for table in SEALED_TABLES:
            swap = sql.SQL("UPDATE discreet.{} t SET {} FROM discreet.{} o WHERE o.user_key <> t.user_key").format(
                sql.Identifier(table.name),
                sql.SQL(", ").join(
                    sql.SQL("{0} = o.{0}").format(sql.Identifier(column.name)) for column in table.columns
                ),
                sql.Identifier(table.name),
            )
            with psycopg.connect(database) as connection:
                connection.execute(swap)
        with pytest.raises(EncryptionError):
            await told(storage, "ann")
        assert WORD in str(before)
        assert await storage.memories.latest("ann") == []
        assert await storage.log.read("ann", thread_id="1") == []
        assert not (await storage.summaries.get("ann", "1")).is_readable
        assert await storage.background.proposals.waiting("ann") == []


@pytest.mark.parametrize(
    "swap",
    [
        "UPDATE discreet.conversation_log SET sealed_input = sealed_output",
        "UPDATE discreet.conversation_log SET sealed_media = sealed_provenance",
        "UPDATE discreet.conversation_log SET sealed_provenance = sealed_media",
    ],
)
async def test_a_value_of_another_column_of_the_row_is_not_read_either(database, keys, swap):
    async with open_storage(database, embeddings=StubEmbeddings(dims=16), keys=keys) as storage:
        await fill(storage, keys, "ann")
        [turn] = await storage.log.read("ann")
        assert (turn.provenance.source, turn.media) == (WORD, [{"modality": "image", "tags": [WORD]}])
        with psycopg.connect(database) as connection:
            connection.execute(swap)
        assert await storage.log.read("ann") == []
