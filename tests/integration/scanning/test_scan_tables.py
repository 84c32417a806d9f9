"""Which tables a scan reads, in which form they come, and what it says where it can't read them."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from testkit.roles import role
from testkit.scanning import scan, scrub

from discreet.errors import ScanError, StorageError
from discreet.scanning import open_database

MAIL = "ann@example.com"
STORE = "CREATE TABLE store (prefix text, key text, value jsonb, PRIMARY KEY (prefix, key))"
ITEM = "INSERT INTO {} (prefix, key, value) VALUES ('a', 'b', %s)"


@pytest.fixture
def execute(empty_database):
    """Return what runs statements in an empty database."""

    def execute(*statements):
        with psycopg.connect(empty_database) as connection:
            for statement in statements:
                connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)

    return execute


def item(table="store"):
    return sql.SQL(ITEM).format(sql.SQL(table)), [Jsonb({"text": MAIL})]


def found(dsn, **options):
    """Return the values in each table, and the tables that were left out."""
    report = scan(dsn, **options)
    tables = {
        f"{table.schema_name}.{table.table}": sum(count.values for count in table.types.values())
        for table in report.tables
    }
    return tables, set(report.not_scanned)


def test_other_tables_are_read_if_one_asks_for_them(execute, empty_database):
    execute(STORE, item(), "CREATE TABLE orders (id int PRIMARY KEY, mail text)")
    execute("CREATE TABLE letters (id int PRIMARY KEY, mail text, num bigint, tags text[], data json)")
    execute(("INSERT INTO orders VALUES (1, %s)", [MAIL]))
    execute(("INSERT INTO letters VALUES (1, %s, 5, %s, %s)", [MAIL, [MAIL], Jsonb([MAIL])]))
    assert found(empty_database) == ({"public.store": 1}, {"public.orders", "public.letters"})
    assert found(empty_database, every=True) == (
        {"public.store": 1, "public.orders": 1, "public.letters": 3},
        set(),
    )
    for name in ("orders", "public.orders"):
        assert found(empty_database, only=(name,)) == ({"public.orders": 1}, {"public.store", "public.letters"})


def test_tables_of_every_schema_are_read(execute, empty_database):
    execute(STORE, item(), 'CREATE SCHEMA "My Agents"', STORE.replace("store", '"My Agents"."the store"', 1))
    execute(item('"My Agents"."the store"'))
    assert found(empty_database)[0] == {"public.store": 1, "My Agents.the store": 1}
    assert [table.table for table in scan(empty_database, only=("My Agents.the store",)).tables] == ["the store"]


@pytest.mark.dialect
def test_savers_of_two_schemas_are_both_read(execute, empty_database):
    columns = "(thread_id text, checkpoint_ns text, channel text, version text, type text, blob bytea"
    for schema in ("one", "two"):
        execute(
            f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.checkpoint_blobs {columns}, PRIMARY KEY (thread_id))"
        )
        execute((f"INSERT INTO {schema}.checkpoint_blobs VALUES ('t', '', 'c', '1', 'json', %s)", [f'"{MAIL}"']))
    assert found(empty_database)[0] == {"one.checkpoint_blobs": 1, "two.checkpoint_blobs": 1}


@pytest.mark.slow
def test_a_table_without_a_primary_key_is_read_whole(execute, empty_database):
    execute("CREATE TABLE store (prefix text, key text, value jsonb)")
    execute(
        (
            (
                "INSERT INTO store SELECT 'a', n::text, jsonb_build_object('pad', repeat('x ', 400), 'text', n || %s::text)"
                " FROM generate_series(1, 2000) n"
            ),
            [f" {MAIL}"],
        )
    )
    report = scan(empty_database)
    assert (report.rows, report.types) == (2000, {"EMAIL": 2000})


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [
        "int",
        "bigint",
        pytest.param("numeric", marks=pytest.mark.dialect),
        "uuid",
        "timestamptz",
        "date",
        pytest.param("text", marks=pytest.mark.dialect),
        "name",
        "inet",
    ],
)
def test_all_rows_of_many_pages_are_read_and_scrubbed_whatever_their_key_is(execute, empty_database, key):
    made = {
        "uuid": "md5(n::text)::uuid",
        "timestamptz": "'2020-01-01'::timestamptz + n * interval '1 hour'",
        "date": "'2020-01-01'::date + n",
        "inet": "'10.0.0.0'::inet + n",
    }
    value = made.get(key, f"n::{key}")
    execute(f"CREATE TABLE message_store (id {key} PRIMARY KEY, session_id text, message jsonb)")
    execute(
        f"INSERT INTO message_store SELECT {value}, 's', jsonb_build_object('text', n || ' {MAIL}')"
        " FROM generate_series(-5, 1200) n"
    )
    report = scan(empty_database)
    assert (report.rows, report.types) == (1206, {"EMAIL": 1206})
    assert scrub(empty_database).changed == 1206
    assert scan(empty_database).types == {}


@pytest.mark.dialect
def test_a_partitioned_table_is_read_by_its_partitions_and_a_materialized_view_too(execute, empty_database):
    execute(STORE + " PARTITION BY LIST (prefix)", "CREATE TABLE store_a PARTITION OF store FOR VALUES IN ('a')")
    execute(item(), "CREATE VIEW seen AS SELECT * FROM store", "CREATE MATERIALIZED VIEW kept AS SELECT * FROM store")
    assert found(empty_database, every=True) == ({"public.store_a": 1, "public.kept": 1}, set())


@pytest.mark.slow
def test_values_larger_than_a_page_holds_are_read(execute, empty_database):
    execute(STORE)
    long = "All is well. " * 25_000 + MAIL
    for value in ({"text": long}, {"texts": ["The same again and again."] * 20_000 + [MAIL]}):
        execute(("INSERT INTO store VALUES ('a', %s, %s)", [next(iter(value)), Jsonb(value)]))
    report = scan(empty_database)
    assert report.types == {"EMAIL": 2}
    assert report.read_bytes > len(long)


def test_an_empty_database_is_told(empty_database):
    with pytest.raises(ScanError, match="--all-tables"):
        scan(empty_database)


def test_a_table_that_the_role_may_not_read_is_told(execute, empty_database):
    execute(STORE, item())
    with role(empty_database) as (_, dsn), pytest.raises(ScanError, match=r"GRANT SELECT ON public\.store"):
        scan(dsn)


def test_a_table_that_the_role_may_not_read_does_not_matter_if_it_is_not_asked_for(execute, empty_database):
    execute(STORE, item(), "CREATE TABLE orders (mail text)")
    with role(empty_database, "SELECT ON store") as (_, dsn):
        assert found(dsn)[0] == {"public.store": 1}
        with pytest.raises(ScanError, match=r"public\.orders"):
            scan(dsn, every=True)


def test_row_level_security_that_hides_rows_is_told(execute, empty_database):
    execute(STORE, item(), "ALTER TABLE store ENABLE ROW LEVEL SECURITY")
    assert found(empty_database)[0] == {"public.store": 1}  # its owner sees all
    with role(empty_database, "SELECT ON store") as (_, dsn), pytest.raises(ScanError, match="BYPASSRLS"):
        scan(dsn)


def test_a_server_that_is_not_there_is_told_without_its_password(tmp_path):
    password = "of" + "-a-test"
    with pytest.raises(StorageError) as raised:
        open_database(f"postgresql://someone:{password}@127.0.0.1:1/agents")
    assert password not in str(raised.value)


@pytest.mark.dialect
def test_a_scan_of_tables_of_discreet_finds_nothing(database):
    report = scan(database)
    assert {table.label for table in report.tables} == {"Discreet"}
    assert report.types == {}
