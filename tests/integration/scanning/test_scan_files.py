"""A scan reads what shallow savers, SQLite savers and `langgraph dev` keep, and changes no byte of a file."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from hashlib import sha256

import pytest
from testkit.planting.checking import threads_of_postgres, where_found
from testkit.planting.dev import FOLDER, plant_dev
from testkit.planting.planting import plant_file
from testkit.planting.postgres import plant_shallow
from testkit.scanning import RecordingRedactor, counts, leaks, misreported, missed, scan, threads_of, values_of

from discreet.errors import ScanError
from discreet.redaction import Redactor
from discreet.scanning import Scanner, open_database

SEED = 6
THREADS = 39


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Return a file that stock savers and a stock store have filled, and what is in it. Nobody changes it."""
    path = tmp_path_factory.mktemp("files") / "checkpoints?of an agent.db"
    return path, asyncio.run(plant_file(path, threads=THREADS, seed=SEED))


@pytest.fixture(scope="module")
def dev(tmp_path_factory):
    """Return a folder of `langgraph dev`, and what is in it. Nobody changes it."""
    folder = tmp_path_factory.mktemp("dev")
    return folder / FOLDER, plant_dev(folder, 2 * 13, seed=SEED)


def contents(path):
    files = [path] if path.is_file() else path.iterdir()
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "dev"])
def test_values_in_files_are_found_and_no_byte_is_changed(kind, request):
    path, entries = request.getfixturevalue(kind)
    redactor, before = RecordingRedactor(), contents(path)
    report = scan(path, redactor=redactor)
    assert contents(path) == before
    assert [(entry.shape, entry.value) for entry in missed(entries, redactor.spans)] == []
    assert misreported(entries, redactor.spans) == []
    assert leaks(report.model_dump_json(), entries) == []
    assert report.unreadable == 0
    assert report.database == path.name


@pytest.mark.slow
async def test_values_of_a_shallow_saver_are_found(empty_database):
    entries = await plant_shallow(empty_database, range(36), seed=SEED)
    entries = where_found(entries, threads_of_postgres(empty_database))
    redactor = RecordingRedactor()
    report = scan(empty_database, redactor=redactor)
    assert len(values_of(entries)) > 100
    assert missed(entries, redactor.spans) == []
    assert misreported(entries, redactor.spans) == []
    assert report.unreadable == 0


@pytest.mark.slow
def test_what_threads_of_a_file_take_is_told(file):
    path, entries = file
    usage = scan(path).usage
    assert usage.threads == len(threads_of(entries))
    assert 0 < usage.prunable_bytes < usage.bytes


def test_tables_of_a_file_are_chosen_by_name(tmp_path):
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (mail TEXT)")
        connection.execute("CREATE TABLE store (prefix TEXT, key TEXT, value TEXT, PRIMARY KEY (prefix, key))")
        connection.execute("INSERT INTO orders VALUES ('ann@example.com'), (NULL)")
        connection.execute("""INSERT INTO store VALUES ('a', 'b', '{"text": "bob@example.com"}')""")
    report = scan(path)
    assert ([table.table for table in report.tables], report.not_scanned) == (["store"], {"orders": 2})
    assert scan(path, every=True).types == {"EMAIL": 2}
    (orders,) = scan(path, only=("orders",)).tables
    assert (orders.table, orders.rows) == ("orders", 2)


def test_rows_that_come_meanwhile_are_not_counted(tmp_path):
    path = tmp_path / "agent.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for table in ("a_store", "b_store"):
            connection.execute(f"CREATE TABLE {table} (prefix TEXT, key INTEGER PRIMARY KEY, value TEXT)")
            connection.execute(f"INSERT INTO {table} (prefix, value) VALUES ('a', 'ann@example.com')")
        connection.commit()
        database = open_database(str(path))

        def write(*_):
            connection.execute("INSERT INTO b_store (prefix, value) VALUES ('a', 'bob@example.com')")
            connection.commit()

        report = Scanner(database, Redactor(), told=write).scan()
        database.close()
    assert report.types == {"EMAIL": 2}


@pytest.mark.slow
def test_a_sample_of_a_file_is_the_same_each_time(file):
    path, _ = file
    report = scan(path, sample=0.3)
    assert 0 < report.rows < scan(path).rows
    assert counts(scan(path, sample=0.3)) == counts(report)


@pytest.mark.slow
def test_one_file_of_langgraph_dev_is_read(dev):
    path, _ = dev
    whole = {table.table: table for table in scan(path).tables}
    name = max(whole, key=lambda each: whole[each].read_bytes)
    assert scan(path / name).tables == [whole[name]]


def test_an_empty_folder_is_told(tmp_path):
    with pytest.raises(ScanError, match="langgraph dev"):
        scan(tmp_path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ScanError, match="neither a DSN"):
        scan(tmp_path / "none.db")


@pytest.mark.slow
def test_a_damaged_file_is_told(file, tmp_path):
    path, _ = file
    damaged = tmp_path / "damaged.db"
    whole = path.read_bytes()
    damaged.write_bytes(whole[:4096] + b"\xff" * 60_000 + whole[64_096:])
    with pytest.raises(ScanError, match=r"damaged\.db can't be read"):
        scan(damaged)


@pytest.mark.slow
def test_a_damaged_pickle_costs_one_line(dev, tmp_path):
    path, _ = dev
    for file in path.glob("*.pckl"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    name = max(tmp_path.glob("*.pckl"), key=lambda file: file.stat().st_size).name
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-100])
    whole, report = scan(path), scan(tmp_path)
    assert [(error.table, error.reason) for error in report.errors] == [(name, "no whole pickle")]
    assert [table for table in report.tables if table.table != name] == [
        table for table in whole.tables if table.table != name
    ]
    (damaged,) = [table for table in report.tables if table.table == name]
    assert damaged.types  # it was searched as text
