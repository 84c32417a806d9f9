"""The planter and the search of all suites: what is planted can be redacted, and it is found wherever it may be left."""

from __future__ import annotations

import base64
import json
import pickle
import random
import sqlite3
import struct
import zlib
from contextlib import closing
from urllib.parse import quote_plus

import psycopg
import pytest
import redis
from kit.forms import forms
from kit.places import (
    ChangedFiles,
    NothingThereError,
    files,
    folder_of,
    log,
    make_talkative,
    redis_keys,
    rows,
    sqlite_rows,
    text_of,
)
from kit.planter import KINDS, LETTERS, Planter
from kit.search import FEW, Words, in_rows, search
from psycopg import sql

from discreet.redaction import Redactor

ENCODED = {
    "UTF-8": str.encode,
    "UTF-16": lambda text: text.encode("utf-16"),
    "hex": lambda text: text.encode().hex().encode(),
    "base64": lambda text: base64.b64encode(text.encode()),
    "base64 of JSON": lambda text: base64.b64encode(json.dumps({"a": text}).encode()),
    "a query": lambda text: quote_plus(text).encode(),
    "bytes in full": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()).encode(),
}


@pytest.fixture
def plants():
    return Planter()


@pytest.fixture
def execute(empty_database):
    def run(statement, *parameters):
        with psycopg.connect(empty_database) as connection:
            connection.execute(statement, parameters)

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_the_redactor_takes_every_kind_of_value(plants, kind):
    redactor = Redactor()
    for route in map(str, range(30)):
        value = plants.value("place", route, kind)
        for text in (value, f"It is {value}, thanks."):
            assert plants.within(text) == {f"place of {route}"}
            assert plants.within(redactor.redact(text)) == set()


def test_the_redactor_takes_addresses_and_cards_and_leaves_words(plants):
    for value in (plants.email("mail"), plants.grouped_card("card")):
        assert plants.within(Redactor().redact(f"It is {value}, thanks.")) == set()
    for value in (plants.raw("note", "route", "aab"), plants.keep("text")):
        assert value in Redactor().redact(f"It is {value}, thanks.")


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_found_in_any_encoding(plants, kind, encoding):
    value = plants.value("place", "route", kind)
    assert plants.within(b"\x00 " + ENCODED[encoding](f"It is {value}.") + b" \xff") == {"place of route"}


def test_words_are_found_by_their_names_and_pieces_by_their_stems(plants):
    raw, mail = plants.raw("note", "a", "aab"), plants.email("mail", "a", "aab")
    assert plants.within(f"{raw}{mail}") == {"raw note of a", "pii mail of a"}
    assert plants.within(mail.partition("@")[0]) == {"pii mail of a"}
    assert Planter(plants.seed).within(raw) == {"? rawnoteaab"}
    assert plants.within(raw[-12:]) == {"? word, text"}
    assert plants.within(raw.encode().hex()) == {"? word, hex"}
    assert plants.within(plants.keep("text")) == set()
    assert plants.kept_within(f"{plants.keep('text')} {raw}".encode()) == {plants.keep("text")}


def test_numbers_are_found_as_text_and_in_bytes(plants, empty_database, execute):
    execute("CREATE TABLE numbers (a int8, b numeric, c float8, d jsonb)")
    integer, real = plants.whole_number(7), plants.real_number(7)
    execute("INSERT INTO numbers VALUES (%s, NULL, NULL, %s)", integer, json.dumps({"n": integer}))
    execute("INSERT INTO numbers VALUES (NULL, NULL, %s, NULL)", real)
    execute("INSERT INTO numbers VALUES (NULL, %s, NULL, NULL)", integer)
    assert search(rows(empty_database), plants).leaks.keys() >= {"? integer, text", "? real, text"}
    assert plants.within(b"\xcf" + integer.to_bytes(8, "big")) == {"? integer, msgpack"}
    assert plants.within(pickle.dumps(real)) == plants.within(struct.pack(">d", real)) == {"? real, bytes"}
    assert plants.within(struct.pack("<d", real)) == {"? real, bytes, little-endian"}


def test_the_same_seed_gives_the_same_values_and_another_gives_others(plants):
    same, other = Planter(plants.seed), Planter()
    assert same.value("place", "route") == plants.value("place", "route")
    assert same.raw("place") == plants.raw("place") != other.raw("place")


@pytest.mark.slow
def test_each_of_thousands_of_values_is_found_in_any_form():
    values = {f"{kind} {number}": KINDS[kind](Planter(), number) for kind in KINDS for number in range(300)}
    many = Words(values=values)
    for name, value in list(values.items())[::50]:
        few = Words(value=value)
        for at, (form, data) in enumerate(forms(value)):
            haystack = b"x" * at + data + b"y" * (at % 3)
            assert name in many.within(haystack), form
            assert few.within(haystack) == {"value"}, form
    assert many.within(b"a harmless text of no value " * FEW) == set()


def test_a_value_that_stands_anywhere_cannot_be_searched_for():
    with pytest.raises(ValueError, match="mark is too short"):
        Words(mark="tea")


COLUMNS = {
    "text": "%s",
    "varchar": "%s",
    "bpchar": "%s",
    "name": "left(%s, 63)",
    "json": "json_build_object('a', %s::text)",
    "jsonb": "jsonb_build_object(%s::text, 1)",
    "text[]": "ARRAY[%s]",
    "bytea": "convert_to(%s, 'UTF8')",
    "tsvector": "to_tsvector('simple', %s)",
    "daterange[], text": "NULL, %s",
}


@pytest.mark.slow
def test_a_leak_in_a_column_of_any_type_in_any_schema_is_found(empty_database, execute, plants):
    execute("CREATE SCHEMA other")
    for at, (kind, made) in enumerate(COLUMNS.items()):
        for schema in ("public", "other"):
            table = f"{schema} {kind}"
            columns = ", ".join(f"c{place} {each}" for place, each in enumerate(kind.split(", ")))
            execute(f'CREATE TABLE {schema}."{table}" ({columns})')
            execute(
                f'INSERT INTO {schema}."{table}" VALUES ({made})',
                plants.raw("leak", table, schema + LETTERS[at]),
            )
    found = search(rows(empty_database), plants).leaks
    assert found == {name: {f"table {name.removeprefix('raw leak of ')}"} for name in plants.named}


def test_what_is_compressed_in_the_heap_and_what_is_materialised_or_a_large_object_is_found(empty_database, execute):
    compressed, materialised, large = plants = [Planter() for _ in range(3)]
    execute("CREATE TABLE long (said text COMPRESSION pglz)")
    execute("INSERT INTO long VALUES (%s)", f"{'a long text ' * 10_000}{compressed.raw('leak')}{'and more ' * 10_000}")
    execute(f"CREATE MATERIALIZED VIEW seen AS SELECT '{materialised.raw('leak')}'::text")
    execute("SELECT lo_from_bytea(0, %s)", large.raw("leak").encode())
    found = [search(rows(empty_database), each).leaks for each in plants]
    assert found == [{"raw leak": {f"table {name}"}} for name in ("long", "seen", "pg_largeobject")]


@pytest.mark.parametrize("level", [1, 6, 9])
def test_what_somebody_has_compressed_is_found(empty_database, execute, plants, tmp_path, level):
    for number in range(3):
        data = zlib.compress(f"{random.Random(number).randbytes(2000).hex()} {plants.raw('sealed')}".encode(), level)
        (tmp_path / f"{number}").write_bytes(random.Random(level).randbytes(number) + data + b"what follows")
    execute("CREATE TABLE kept (id int, content bytea)")
    execute("INSERT INTO kept VALUES (1, %s)", data)
    assert search(rows(empty_database), plants).leaks == {"raw sealed": {"table kept"}}
    assert search(files(tmp_path), plants).leaks == {"raw sealed": {"0", "1", "2"}}


def test_uuids_and_texts_of_several_lines_are_found_as_they_are_written(empty_database, execute):
    ident = "0b88f95d-1dec-466e-92e7-d9695b04cc7a"
    execute("CREATE TABLE t (a uuid, b text)")
    execute("INSERT INTO t VALUES (%s, %s)", ident, "one\nand two")
    assert in_rows(empty_database, ident, "one\nand two", "another").keys() == {ident, "one\nand two"}
    assert ident in "".join(text_of(data) for _, data in rows(empty_database))


@pytest.mark.one_server("reads the files of its server")
def test_a_leak_is_found_in_heap_write_ahead_log_and_log(empty_database, execute, plants):
    make_talkative(empty_database)
    changed = ChangedFiles(empty_database)
    execute("CREATE TABLE t (a text)")
    with psycopg.connect(empty_database) as connection:
        connection.execute(sql.SQL("INSERT INTO t VALUES ({})").format(plants.raw("leak")))
    execute("DELETE FROM t")
    for places in (changed, files(folder_of(empty_database))):
        where = " ".join(search(places, plants).leaks["raw leak"])
        assert all(part in where for part in ("base/", "pg_wal/", "server.log"))


def test_a_leak_is_found_in_each_kind_of_key_of_redis(redis_url):
    planted = {kind: Planter() for kind in ("string", "list", "hash", "set", "zset", "stream", "key")}
    words = {kind: plants.raw("leak") for kind, plants in planted.items()}
    with redis.Redis.from_url(redis_url) as client:
        client.set("string", words["string"] * 100)
        client.rpush("list", *[words["list"]] * 100)
        client.hset("hash", words["hash"], "1")
        client.sadd("set", words["set"])
        client.zadd("zset", {words["zset"]: 1})
        client.xadd("stream", {"said": words["stream"]})
        client.set(words["key"], "1")
        for kind, plants in planted.items():
            assert f"redis {words['key'] if kind == 'key' else kind}" in search(redis_keys(client), plants).places


def test_a_leak_is_found_in_sqlite_in_files_and_in_coloured_logs(tmp_path, plants):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a BLOB, b TEXT)")
        connection.execute("INSERT INTO t VALUES (?, ?)", (plants.raw("blob").encode(), plants.raw("text")))
    assert search(sqlite_rows(path), plants).leaks.keys() == {"raw blob", "raw text"}
    assert search(files(tmp_path), plants).leaks == {"raw blob": {"a.sqlite"}, "raw text": {"a.sqlite"}}
    word = plants.raw("said")
    assert search(log("log", f"\x1b[1m{word[:5]}\x1b[0m{word[5:]}"), plants).leaks.keys() >= {"raw said"}


def test_a_search_of_nothing_fails(tmp_path, empty_database, redis_url, execute, plants):
    (tmp_path / "empty").touch()
    with redis.Redis.from_url(redis_url) as client:
        for places in (
            rows(empty_database),
            files(tmp_path),
            files(tmp_path / "absent"),
            redis_keys(client),
            sqlite_rows(tmp_path / "empty"),
            log("log", ""),
            (),
        ):
            with pytest.raises(NothingThereError):
                search(places, plants)
    execute("CREATE TABLE t (a text)")
    with pytest.raises(NothingThereError):
        search(rows(empty_database), plants)


def test_what_cannot_be_read_is_no_place_without_a_leak(empty_database, execute, plants):
    execute("CREATE TABLE t (a text)")
    execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    execute("INSERT INTO t VALUES ('x')")
    execute(f"CREATE ROLE {plants.kept} LOGIN PASSWORD '{plants.kept}'")
    try:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            search(rows(psycopg.conninfo.make_conninfo(empty_database, user=plants.kept, password=plants.kept)), plants)
        with pytest.raises(psycopg.OperationalError):
            search(rows(psycopg.conninfo.make_conninfo(empty_database, dbname=f"no {plants.kept}")), plants)
    finally:
        execute(f"DROP ROLE {plants.kept}")
