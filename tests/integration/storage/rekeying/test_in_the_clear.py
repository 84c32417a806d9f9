"""The threat model lists every column that is in the clear and could hold a word: the database's own catalog is what it is compared with."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg

from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.checkpoint.postgres_spill import SPILLED, PostgresSpill
from discreet.storage.database.connecting.pool import make_pool
from discreet.storage.database.sealed_columns import ROUND_INPUT, ROUND_OUTPUT, SEALED_TABLES, VAULT_VALUE, WORK_ANSWER
from discreet.testing import InMemoryKeys

THREAT_MODEL = Path(__file__).resolve().parents[4] / "THREAT_MODEL.md"
_ROW = re.compile(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)

_COLUMNS = """
SELECT c.relname, a.attname
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
  AND coalesce(e.typcategory, t.typcategory) IN ('S', 'U', 'X', 'Z')
  AND coalesce(e.typname, t.typname) !~ '(^uuid$|vec)'
"""
"""Texts, JSON, XML, bytes and arrays of them: what is no number, time, uuid or list of fixed words, and no vector."""


def listed():
    """Return the columns that the table of the threat model has."""
    _, _, section = THREAT_MODEL.read_text(encoding="utf-8").partition("\n## In the clear\n")
    section, _, _ = section.partition("\n## ")
    rows = [(table, name) for table, names in _ROW.findall(section) for name in re.findall(r"\w+", names)]
    assert len(rows) == len(set(rows)), "a column is listed twice"
    return set(rows)


def sealed():
    """Return the columns that are sealed where there is a key, and their plain twins."""
    short_lived = (ROUND_INPUT, ROUND_OUTPUT, WORK_ANSWER)
    pairs = [*short_lived, *(column for table in SEALED_TABLES for column in table.columns)]
    twins = {(column.table, name) for column in pairs for name in (column.name, column.plain)}
    return twins | {(column.table, column.name) for column in (VAULT_VALUE, SPILLED)}


async def test_what_is_in_the_clear_is_listed_and_nothing_else(database):
    await migrate_checkpoints(database)
    async with make_pool(database, max_size=1) as pool:
        await PostgresSpill(pool, InMemoryKeys()).setup()
    with psycopg.connect(database) as connection:
        columns = set(connection.execute(_COLUMNS).fetchall())
    assert sealed() <= columns
    in_the_clear = columns - sealed()
    assert in_the_clear - listed() == set(), "neither sealed nor listed in THREAT_MODEL.md, In the clear"
    assert listed() - in_the_clear == set(), "listed, and not there"
