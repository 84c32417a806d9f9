"""One table says of everything how long it is kept: nothing that holds rows of people is missing in it."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from discreet.checkpoint import RedactingSaver
from discreet.encryption import Keyring, make_key
from discreet.state.memory_settings import MemorySettings
from discreet.storage.database.migrating.distribute import GROUPS
from discreet.storage.retention import KINDS, UNTIL_ERASED
from discreet.storage.retention.table import BY_NAME

OF_PEOPLE = """
SELECT DISTINCT c.relname::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND a.attname = 'user_key'
"""


@pytest.fixture
async def tables(database):
    """Return the names of all tables with rows of people, those of the checkpointer included."""
    async with RedactingSaver.from_conn_string(database, keys=Keyring([make_key()])) as saver:
        await saver.setup()
    with psycopg.connect(database) as connection:
        found = {name for (name,) in connection.execute(OF_PEOPLE)}
    return (
        found | {table for group in GROUPS if group.key and not group.schema for table in group.tables} | {"batch_jobs"}
    )


async def test_every_table_with_rows_of_people_goes_by_itself_or_is_said_to_stay(tables):
    unsaid = tables - {table for kind in KINDS for table in kind.tables} - UNTIL_ERASED.keys()
    assert not unsaid, f"say in storage/retention/table.py how long these are kept: {unsaid}"


async def test_no_table_is_named_that_is_not_there(database, tables):
    with psycopg.connect(database) as connection:
        there = {
            name for (name,) in connection.execute("SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p')")
        }
    assert {table for kind in KINDS for table in kind.tables} | UNTIL_ERASED.keys() <= there


def test_every_setting_of_retention_is_in_the_table_and_the_other_way_round():
    named = {name for name in MemorySettings.model_fields if name.startswith("retention_")}
    assert {kind.setting for kind in KINDS} - {None} == named
    assert len(BY_NAME) == len(KINDS)


def test_times_are_those_that_were_promised():
    kept = {kind.name: kind.kept(MemorySettings()) for kind in KINDS}
    without_end = {name for name, time in kept.items() if time == timedelta.max}
    assert without_end == {"log", "sessions", "summaries", "turns", "threads", "checkpoints", "messages"}
    days = {name: time.total_seconds() / 86_400 for name, time in kept.items() if time is not None}
    assert days.pop("active") * 24 * 60 == pytest.approx(5)
    assert days.pop("history") == 1
    assert (days["prompts"], days["proposals"], days["anonymous"]) == (30, 30, 30)
    assert (days["reasoning"], days["audit"]) == (3 * 365, 3 * 365)


async def test_every_kind_that_goes_is_swept(storage):
    swept = {name for sweeper in storage.retention._sweepers for name in sweeper.kinds}
    assert swept == {kind.name for kind in KINDS} - {"active"}
