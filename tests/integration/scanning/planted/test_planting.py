"""The generator of databases with planted values: it plants what it says, and its threads go on."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from itertools import count, pairwise
from random import Random

import ormsgpack
import psycopg
import pytest
from kit.places import files, rows
from kit.search import search
from kit.sentences import FOUND_AS, HARMLESS, PLAIN_TYPES, SAID, TYPES
from kit.values import VENDORS, Chance
from testkit.planting.checking import missing, threads_of_postgres, threads_of_sqlite, where_found, words_of
from testkit.planting.dev import FOLDER, continue_dev, plant_dev
from testkit.planting.hostile import plant_hostile
from testkit.planting.manifest import Planted, Thread, read_manifest, write_manifest
from testkit.planting.planting import plant_beside, plant_database, plant_file
from testkit.planting.postgres import opened_saver, opened_shallow_saver, plant_shallow
from testkit.planting.registry import SCENARIOS, continue_thread
from testkit.planting.sqlite import opened_sqlite_saver

from discreet.redaction import Redactor

pytestmark = pytest.mark.slow  # it tests what plants, which the tests of scans and scrubs use

THREADS = 2 * len(SCENARIOS)
SEED = 7


@pytest.fixture(scope="module")
def planted(make_database):
    """Return a database for all tests of this module, and what is in it; they may go on with its threads."""
    with make_database(template="template1") as database:
        yield database, asyncio.run(plant_database(database, threads=THREADS, seed=SEED))


def threads_of(entries):
    return [entry for entry in entries if isinstance(entry, Thread)]


def values_of(entries):
    return [entry for entry in entries if isinstance(entry, Planted)]


async def test_every_value_is_in_the_raw_rows_that_the_manifest_names(planted):
    database, entries = planted
    assert missing(entries, threads_of_postgres(database)) == []
    assert {entry.type for entry in values_of(entries)} == {FOUND_AS.get(kind, kind) for kind in TYPES}
    assert any(entry.encrypted for entry in values_of(entries))


async def test_what_is_encrypted_is_there_for_who_has_the_key(planted):
    database, entries = planted
    encrypted = [replace(entry, encrypted=False) for entry in values_of(entries) if entry.encrypted]
    assert missing(encrypted, threads_of_postgres(database, decrypted=True)) == []
    assert search(rows(database), words_of(encrypted)).leaks == {}


async def test_every_value_is_planted_under_one_name_alone(planted):
    _, entries = planted
    values = sorted(entry.value for entry in values_of(entries))
    assert max(Counter(values).values()) == 1
    assert not [pair for pair in pairwise(values) if pair[1].startswith(pair[0])]


async def test_rows_are_of_the_types_that_serializers_give(planted):
    database, _ = planted
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT DISTINCT type FROM checkpoint_blobs").fetchall()
    assert {kind for (kind,) in rows} >= {"msgpack", "pickle", "bytes", "msgpack+aes"}


async def test_every_extension_that_the_serializer_writes_occurs(planted):
    database, _ = planted
    codes = set()

    def see(code, data):
        codes.add(code)
        return ormsgpack.unpackb(data, ext_hook=see, option=ormsgpack.OPT_NON_STR_KEYS)

    with psycopg.connect(database) as connection:
        for (blob,) in connection.execute("SELECT blob FROM checkpoint_blobs WHERE type = 'msgpack'"):
            ormsgpack.unpackb(blob, ext_hook=see, option=ormsgpack.OPT_NON_STR_KEYS)
    assert codes == {0, 1, 2, 3, 5, 6, 7}  # 4 is for pydantic's first version, which is not installed


async def test_threads_of_every_kind_go_on(planted):
    database, entries = planted
    assert {thread.state for thread in threads_of(entries)} == {"over", "paused", "failed"}
    assert {thread.graph for thread in threads_of(entries)} == set(SCENARIOS)
    for thread in threads_of(entries):
        async with opened_saver(database, thread.saver) as saver:
            assert await continue_thread(thread.graph, saver, thread.thread_id) > thread.messages, thread


async def test_some_threads_have_an_address_for_an_id(planted):
    database, entries = planted
    named = [entry.value for entry in values_of(entries) if entry.shape == "thread_id"]
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id LIKE '%@%'").fetchall()
    assert sorted(named) == sorted(thread_id for (thread_id,) in found) != []


async def test_the_same_seed_plants_the_same_values(empty_database, make_database):
    with make_database(template="template1") as other:
        made = [await plant_database(dsn, threads=5, seed=SEED, vectors=False) for dsn in (empty_database, other)]
    first, second = ({(entry.value, entry.shape) for entry in values_of(entries)} for entries in made)
    assert first == second


async def test_a_manifest_comes_back_as_it_was_written(planted, tmp_path):
    _, entries = planted
    write_manifest(tmp_path / "manifest.jsonl", entries)
    lines = read_manifest(tmp_path / "manifest.jsonl")
    assert len(lines) == len(entries)
    assert {line["kind"] for line in lines} == {"value", "harmless", "thread"}


async def test_sqlite_files_hold_what_was_planted_and_go_on(tmp_path):
    path = tmp_path / "threads.sqlite"
    entries = await plant_file(path, threads=26, seed=SEED)
    assert missing(entries, threads_of_sqlite(path)) == []
    async with opened_sqlite_saver(path) as saver:
        for thread in threads_of(entries):
            assert await continue_thread(thread.graph, saver, thread.thread_id) > thread.messages, thread


async def test_the_shallow_saver_keeps_the_latest_of_each_thread(empty_database):
    entries = await plant_shallow(empty_database, range(12), seed=SEED)
    kept = where_found(entries, threads_of_postgres(empty_database))
    assert missing(kept, threads_of_postgres(empty_database)) == []
    assert len(values_of(kept)) > len(values_of(entries)) / 2
    with opened_shallow_saver(empty_database) as saver:
        for thread in threads_of(entries):
            assert await continue_thread(thread.graph, saver, thread.thread_id) >= thread.messages, thread


def test_files_of_langgraph_dev_hold_what_was_planted_and_go_on(tmp_path):
    entries = plant_dev(tmp_path, 13, seed=SEED)
    assert missing(entries, files(tmp_path / FOLDER)) == []
    threads = threads_of(entries)
    assert [
        count > thread.messages for count, thread in zip(continue_dev(tmp_path, threads), threads, strict=True)
    ] == [True] * len(threads)


def test_tables_shaped_like_those_of_aegra(empty_database):
    entries = plant_beside(empty_database, 10, count(), seed=SEED, shape="aegra")
    assert missing(entries, threads_of_postgres(empty_database)) == []
    tables = {place for place, _ in rows(empty_database)}
    assert {
        f"table {name}" for name in ("assistant", "thread", "runs", "mem0", "agent_messages", "message_store")
    } <= tables


async def test_hostile_rows_are_stored_and_nothing_of_them_ran(empty_database, tmp_path):
    await plant_database(empty_database, threads=1, seed=SEED)
    marker = tmp_path / "ran"
    with psycopg.connect(empty_database) as connection:
        planted = plant_hostile(connection, marker)
        counts = dict(
            connection.execute(
                "SELECT 'checkpoint_blobs', count(*) FROM checkpoint_blobs WHERE channel = 'hostile'"
                " UNION ALL SELECT 'checkpoint_writes', count(*) FROM checkpoint_writes WHERE channel = 'hostile'"
                " UNION ALL SELECT 'store', count(*) FROM store WHERE prefix = 'hostile'"
                " UNION ALL SELECT 'events', count(*) FROM events"
            ).fetchall()
        )
    assert counts == Counter(row.table for row in planted)
    assert not marker.exists()


@pytest.mark.parametrize("kind", SAID)
def test_values_are_found_as_what_they_are(kind):
    redactor, chance = Redactor(), Random(SEED)
    for number, (made, sentence) in enumerate([*SAID[kind].values()] * 3):
        value = made(Chance(number, chance))
        for text in (sentence.format(value), value) if kind in PLAIN_TYPES else (sentence.format(value),):
            (found,) = redactor.findings(text)
            assert (found.type, text[found.start : found.end].strip(" .")) == (FOUND_AS.get(kind, kind), value)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_key_of_every_vendor_is_a_secret_by_itself(vendor):
    value = VENDORS[vendor](Chance(1, Random(SEED)))
    assert [finding.type for finding in Redactor().findings(value)] == ["SECRET"]


def test_nothing_is_found_in_harmless_sentences():
    redactor, chance = Redactor(), Random(SEED)
    sentences = [made(Chance(serial, chance)) for serial in range(1, 900, 37) for made in HARMLESS]
    assert [sentence for sentence in sentences if redactor.findings(sentence)] == []


def test_a_manifest_is_json_for_other_programs(tmp_path):
    entry = Planted("a@b.example.com", "EMAIL", "store_key", ["store"], None)
    write_manifest(tmp_path / "manifest.jsonl", [entry])
    assert json.loads((tmp_path / "manifest.jsonl").read_text())["tables"] == ["store"]
