"""Where there is a key, a value without its seal is no value: left out, counted, and named once."""

from __future__ import annotations

import psycopg
import pytest
from prometheus_client import REGISTRY
from psycopg import sql
from testkit.sealed import WORD, fill, told

from discreet.encryption import Keyring, make_key
from discreet.errors import EncryptionError
from discreet.rights.exporting import begin, lines
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.sealed_columns import SEALED_TABLES
from discreet.storage.rekeying import Rekeying
from discreet.testing import InMemoryKeys, StubEmbeddings

FORGED = "owlbear"
SUMMARY = f'{{"summary": "{FORGED}", "topics": [], "key_facts": []}}'
PLAIN = {
    "feedback": f'[{{"said": "{FORGED}"}}]',
    "provenance": f'{{"source": "{FORGED}"}}',
    "media": f'[{{"modality": "image", "tags": ["{FORGED}"]}}]',
    "said": SUMMARY,
    "record": f'{{"text": "{FORGED}"}}',
    "value": f'{{"said": "{FORGED}"}}',
}
COLUMNS = [column for table in SEALED_TABLES for column in table.columns]


def opened(dsn, keys):
    return open_storage(dsn, embeddings=StubEmbeddings(dims=16), keys=keys, maintained=False)


def unreadable():
    return REGISTRY.get_sample_value("discreet_unreadable_rows_total")


def forge(dsn, column, *, beside=False):
    """Put a value of somebody's own in the place of the sealed one, or beside it."""
    statement = sql.SQL("UPDATE discreet.{} SET {} = {}::{}, {} = " + ("{}" if beside else "NULL")).format(
        *map(sql.Identifier, (column.table, column.plain)),
        sql.Literal(PLAIN.get(column.plain, FORGED)),
        sql.SQL(column.plain_type),
        *[sql.Identifier(column.name)] * 2,
    )
    with psycopg.connect(dsn) as connection:
        assert connection.execute(statement).rowcount == 1


async def read(storage, user):
    """Return all that is read of a person, by us and by who exports it."""
    user_key = storage.background.key_of(user)
    timeline = await storage.people.timeline(user_key, limit=100)
    hits = await storage.memories.search(user, f"{WORD} {FORGED}")
    items = await storage.store.asearch((user,), filter={"said": FORGED})
    exported = [piece.decode() async for piece in lines(begin(storage, user))]
    return str([await told(storage, user), timeline, hits, items, exported])


@pytest.mark.fast_cases(4)
@pytest.mark.one_server("changes rows by hand")
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column.table}.{column.plain}")
async def test_a_sealed_value_that_is_replaced_by_a_plain_one_is_not_read(database, caplog, column):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        await fill(storage, keys, "ann")
        assert FORGED not in await read(storage, "ann")
        assert "storage.unreadable" not in caplog.text
        forge(database, column)
        before = unreadable()
        try:
            found = await read(storage, "ann")
        except EncryptionError:  # one item that is asked for by its key
            assert column.table == "store_item"
            found = ""
        assert FORGED not in found
        assert FORGED not in caplog.text
        assert unreadable() > before
        assert "storage.unreadable" in caplog.text


@pytest.mark.one_server("changes rows by hand")
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column.table}.{column.plain}")
async def test_a_plain_value_beside_a_sealed_one_is_refused_by_the_database(database, column):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        await fill(storage, keys, "ann")
    with pytest.raises(psycopg.errors.CheckViolation):
        forge(database, column, beside=True)


async def test_one_reading_names_rows_that_lost_their_seal_in_one_event(database, caplog):
    async with opened(database, InMemoryKeys()) as storage:
        for text in ("Keeps parrots", "Nuôi hai con vẹt", "Держит попугаев", "养鹦鹉"):
            await storage.memories.save("ann", [MemoryRecord(text=text)], dedup=False)
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE discreet.memory SET text = 'Owes me money', sealed_text = NULL")
        before = unreadable()
        caplog.clear()
        assert await storage.memories.latest("ann") == []
        [event] = [each.getMessage() for each in caplog.records if "storage.unreadable" in each.getMessage()]
        assert "kind=memory rows=4" in event
        assert unreadable() == before + 4


async def test_what_was_stored_before_there_was_a_key_is_read_once_it_is_sealed(database, caplog):
    keys = Keyring([make_key()])
    async with opened(database, None) as storage:
        await fill(storage, None, "ann")
        before = await told(storage, "ann")
    caplog.clear()
    async with opened(database, keys) as storage:
        [event] = [each.getMessage() for each in caplog.records if "storage.plain_rows" in each.getMessage()]
        assert "tables=memory,conversation_log" in event
        assert "stored before the key, or written past Discreet" in event
        assert (await storage.memories.latest("ann"), await storage.log.read("ann")) == ([], [])
        assert (await Rekeying(storage.works_pool, keys=keys).run(seal_plain=True)).finished
        assert await told(storage, "ann") == before
    caplog.clear()
    async with opened(database, keys):
        assert "storage.plain_rows" not in caplog.text


async def test_an_empty_value_of_the_store_is_sealed_too(database):
    async with opened(database, InMemoryKeys()) as storage:
        await storage.store.aput(("ann",), "notes", {}, index=False)
        assert (await storage.store.aget(("ann",), "notes")).value == {}
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE discreet.store_item SET value = '{}', sealed_value = NULL")
        with pytest.raises(EncryptionError):
            await storage.store.aget(("ann",), "notes")
