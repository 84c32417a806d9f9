"""`discreet migrate --distribute` at a cluster: from nothing, with rows there, again, and where it can't be done."""

from __future__ import annotations

import json
from dataclasses import replace

import psycopg
import pytest
from testkit.roles import role
from typer.testing import CliRunner

from discreet.checkpoint.migrating import THREAD_TABLES
from discreet.cli import app
from discreet.errors import MigrationError
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.migrating.distribute import GROUPS, distribute
from discreet.storage.database.migrating.migrations import migrate
from discreet.testing import StubEmbeddings

TABLES = {
    *(f"discreet.{table}" for group in GROUPS for table in group.tables),
    *(f"public.{table}" for table in THREAD_TABLES),
}
UP_TO_DATE = "All tables are up to date and spread.\n"
PLACES = """
SELECT logicalrelid::text, partmethod, repmodel, column_to_column_name(logicalrelid, partkey) FROM pg_dist_partition
"""
FOREIGN_KEYS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE contype = 'f' AND connamespace = 'discreet'::regnamespace ORDER BY 1, 2
"""


def command(*arguments, code=0):
    result = CliRunner().invoke(app, ["migrate", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def asked(dsn, query, given=None):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query, given).fetchall()


def test_it_says_of_each_table_where_it_went_and_nothing_is_left(empty_cluster_database):
    lines = command("--dsn", empty_cluster_database, "--distribute").splitlines()
    assert "spread discreet.memory by user_key: 0 rows moved along" in lines
    assert "spread discreet.vault_value by turn_key: 0 rows moved along" in lines
    assert "spread discreet.embedding_space to every node: 0 rows moved along" in lines
    assert {line.split()[1] for line in lines if line.startswith("spread ")} == TABLES
    assert command("--dsn", empty_cluster_database, "--distribute") == UP_TO_DATE
    places = {table: place for table, *place in asked(empty_cluster_database, PLACES)}
    assert set(places) == {table.removeprefix("public.") for table in TABLES}
    assert {table for table, (*_, column) in places.items() if column == "thread_id"} == set(THREAD_TABLES)
    assert {table for table, (*_, column) in places.items() if column == "user_key"} == {
        f"discreet.{table}" for table in GROUPS[1].tables
    }


def test_as_json_it_says_the_same_and_a_check_says_it_before(empty_cluster_database):
    before = json.loads(command("--dsn", empty_cluster_database, "--distribute", "--check", "--json", code=1))
    assert {one["table"] for one in before["spread"]} == TABLES
    assert asked(empty_cluster_database, PLACES) == []
    told = json.loads(command("--dsn", empty_cluster_database, "--distribute", "--json"))
    assert told["spread"] == before["spread"]
    assert json.loads(command("--dsn", empty_cluster_database, "--distribute", "--json"))["spread"] == []
    assert json.loads(command("--dsn", empty_cluster_database, "--distribute", "--check", "--json"))["spread"] == []
    assert "spread" not in json.loads(command("--dsn", empty_cluster_database, "--json"))


async def test_rows_move_along_and_none_stays_where_it_was(empty_cluster_database, cluster):
    async with open_storage(empty_cluster_database, embeddings=StubEmbeddings(dims=16)) as storage:
        for person in range(8):
            await storage.memories.save(
                f"p{person}", [MemoryRecord(text="Keeps parrots"), MemoryRecord(text="Likes tea")]
            )
    foreign_keys = asked(empty_cluster_database, FOREIGN_KEYS)
    moved = {done.table: done for done in await distribute(empty_cluster_database)}
    assert moved["discreet.memory"].rows == 16
    assert moved["discreet.users"].rows == 8
    assert asked(empty_cluster_database, FOREIGN_KEYS) == foreign_keys
    left = "SELECT sum(pg_relation_size(t)) FROM unnest(%s::regclass[]) t"
    assert asked(empty_cluster_database, left, [[*moved]]) == [(0,)]
    async with open_storage(empty_cluster_database, embeddings=StubEmbeddings(dims=16)) as storage:
        for person in range(8):
            assert (await storage.memories.search(f"p{person}", "parrots"))[0].record.text == "Keeps parrots"
        await storage.memories.save("p0", [MemoryRecord(text="Has moved")])


async def test_a_table_that_came_later_is_spread_by_the_next_run(database):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE discreet.later (user_key uuid PRIMARY KEY REFERENCES discreet.users)")
    groups = [*GROUPS, replace(GROUPS[1], tables=(*GROUPS[1].tables, "later"))]
    assert [(done.table, done.how) for done in await distribute(database, groups=groups)] == [
        ("discreet.later", "by user_key")
    ]
    assert await distribute(database, groups=groups) == []


async def test_a_worker_says_that_it_is_one(cluster, empty_database):
    name = empty_database.rpartition("/")[2]
    with pytest.raises(MigrationError, match="worker of a Citus cluster"):
        await distribute(cluster.dsn_of(name, cluster.workers[0]))


def test_a_database_without_citus_is_left_as_it_is(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("DROP EXTENSION citus CASCADE")
    result = CliRunner().invoke(app, ["migrate", "--dsn", empty_database, "--distribute"])
    assert "no extension citus" in str(result.exception)
    assert asked(empty_database, "SELECT FROM pg_namespace WHERE nspname = 'discreet'") == []


async def test_a_role_that_owns_nothing_changes_nothing(empty_cluster_database):
    await migrate(empty_cluster_database)
    with (
        role(empty_cluster_database, "USAGE ON SCHEMA discreet", "SELECT ON ALL TABLES IN SCHEMA discreet") as (_, dsn),
        pytest.raises(MigrationError, match="This role may not spread"),
    ):
        await distribute(dsn)
    assert asked(empty_cluster_database, PLACES) == []


async def test_what_citus_refuses_leaves_all_as_it_was(empty_cluster_database):
    await migrate(empty_cluster_database)
    with psycopg.connect(empty_cluster_database, autocommit=True) as connection:
        connection.execute(
            "CREATE TRIGGER theirs BEFORE UPDATE ON discreet.store_item "
            "FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"
        )
    foreign_keys = asked(empty_cluster_database, FOREIGN_KEYS)
    with pytest.raises(MigrationError, match=r"Citus refused .* nothing was"):
        await distribute(empty_cluster_database)
    assert asked(empty_cluster_database, PLACES) == []
    assert asked(empty_cluster_database, FOREIGN_KEYS) == foreign_keys
