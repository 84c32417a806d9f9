"""What the planner keeps of tables: nothing that anybody said, before an erasure and after it."""

from __future__ import annotations

import psycopg
import pytest
from kit.places import files, folder_of
from kit.search import Words, search
from langgraph.checkpoint.postgres import PostgresSaver
from testkit.erasing import a_house

from discreet.checkpoint import RedactingSyncSaver
from discreet.checkpoint.postgres import CONNECTION
from discreet.encryption import Keyring, make_key
from discreet.rights.erasure import Scope
from discreet.state.records import MemoryRecord

pytestmark = pytest.mark.own_database("statistics of emptied tables stay")

SAMPLED = """
SELECT c.relname::text, a.attname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relkind IN ('r', 'p', 'm') AND NOT a.attisdropped AND (a.attlen = -1 OR a.atttypid = 'uuid'::regtype) AND coalesce(a.attstattarget, -1) <> 0
  AND (n.nspname = 'discreet' OR c.relname LIKE 'checkpoint%')
UNION ALL
SELECT c.relname::text, a.attname::text
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND i.indkey[a.attnum - 1] = 0
WHERE (a.attlen = -1 OR a.atttypid = 'uuid'::regtype) AND coalesce(a.attstattarget, -1) <> 0 AND (n.nspname = 'discreet' OR c.relname LIKE 'checkpoint%')
"""
"""Columns and expressions of indexes that words, ids or keys of people are kept of."""

KEPT = "SELECT s.starelid::regclass::text, s::text FROM pg_statistic s"


def kept(dsn):
    """Yield all statistics, as the superuser reads them."""
    with psycopg.connect(dsn) as connection:
        for table, row in connection.execute(KEPT).fetchall():
            yield f"statistics of {table}", row.encode()


def sampled(dsn):
    with psycopg.connect(dsn) as connection:
        return set(connection.execute(SAMPLED).fetchall())


async def full(house):
    """Have a word of Ann's go through everything, often enough to be worth a statistic."""
    for number in range(8):
        await house.say(f"I heard a zebrafinch at {number % 3}", thread=f"anns-{number % 2}")
        await house.storage.store.aput(
            ("users", "ann", "notes"), f"zebrafinch {number}", {"text": "A zebrafinch is here"}
        )
    await house.say("ask: may the zebrafinch sing?", thread="anns-paused")
    facts = [
        MemoryRecord(text=f"A zebrafinch sang {number}", tags=["zebrafinch"], reasoning="It said zebrafinch")
        for number in range(6)
    ]
    await house.storage.memories.save("ann", facts, dedup=False)


def analyze(dsn):
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ANALYZE")


@pytest.mark.slow
@pytest.mark.parametrize("keys", [None, Keyring([make_key()])], ids=["plain", "sealed"])
async def test_no_word_is_in_the_statistics_and_none_stays_in_files(database, keys):
    async with a_house(database, keys=keys) as house:
        await full(house)
        analyze(database)
        assert search(kept(database), Words("zebrafinch")).leaks == {}
        await house.erasures.erase("ann", Scope.everything([("users", "ann")]))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        name = connection.info.dbname
        [oid] = connection.execute("SELECT oid FROM pg_database WHERE datname = %s", (name,)).fetchone()
    folder = folder_of(database)
    of_tables = sorted(folder.glob(f"*/base/{oid}/*"))
    assert search(files(folder, of_tables), Words("zebrafinch")).leaks == {}


@pytest.mark.dialect
def test_of_no_column_that_may_hold_words_the_planner_keeps_values(database):
    assert sampled(database) == set()


STOCK = (
    """INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint, metadata)
    SELECT 't', n, '{"said": "a zebrafinch"}', '{"said": "a zebrafinch"}' FROM generate_series(1, 9) n""",
    """INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT 't', '', 'said', n, 'bytes', 'a zebrafinch' FROM generate_series(1, 9) n""",
)
OPERATORS = (
    "CREATE INDEX said_words ON checkpoints ((metadata ->> 'said'))",
    "CREATE STATISTICS said_and_thread (mcv) ON thread_id, (metadata ->> 'said') FROM checkpoints",
)
FILES = """
SELECT relname::text, pg_relation_filenode(oid) FROM pg_class WHERE relname ~ '^checkpoint(s|_blobs|_writes)' AND relname <> 'checkpoints_run_id_idx'
ORDER BY 1
"""


@pytest.mark.dialect
@pytest.mark.parametrize("seen", [False, True], ids=["", "a view reads it"])
def test_what_was_kept_of_tables_that_are_taken_over_goes_and_no_row_is_rewritten(empty_database, seen):
    with psycopg.connect(empty_database, **CONNECTION) as connection:
        PostgresSaver(connection).setup()
        for statement in (*STOCK, *OPERATORS):
            connection.execute(statement)
        connection.execute("ANALYZE")
        before = connection.execute(FILES).fetchall()
        assert search(kept(empty_database), Words("zebrafinch")).leaks != {}
        if seen:
            connection.execute("CREATE VIEW public.steps AS SELECT checkpoint_id, metadata FROM checkpoints")
        with RedactingSyncSaver.from_conn_string(empty_database) as saver:
            saver.setup()
        connection.execute("ANALYZE")
        assert connection.execute(FILES).fetchall() == before
    assert sampled(empty_database) == set()
    left = search(kept(empty_database), Words("zebrafinch")).leaks
    assert left == ({"zebrafinch": {"statistics of checkpoints", "statistics of said_words"}} if seen else {})
