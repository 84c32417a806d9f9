"""Exports that are broken off go on; rows that can't be read cost no others; RAM stays small."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from testkit.keys import USER_KEYS
from testkit.lives import live

from discreet.encryption import Keyring, make_key
from discreet.errors import ExportError
from discreet.rights.exporting import Mark, begin, export_to_folder, exporter, lines, read_export, read_manifest
from discreet.rights.exporting.format import AuditRow, ItemRow, MemoryRow, UnreadableRow
from discreet.rights.exporting.tables import MEMORIES
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.audit.log import PostgresAuditLog
from discreet.storage.database.keys import app_key_of
from discreet.testing import StubEmbeddings

MANY = """
INSERT INTO discreet.memory (
    user_key, entry_id, app_key, space_key, type, created_at, embedding, sketch, app_name, text, importance, confidence,
    loop_flag
)
SELECT %(user_key)s, gen_random_uuid(), %(app_key)s, (SELECT max(space_key) FROM discreet.embedding_space), 'user_fact', now(),
    '[1]', '1', 'default', 'memory ' || n, 5, 1, false
FROM generate_series(1, %(count)s) n
"""


def fill(dsn, user, count):
    given = {"user_key": USER_KEYS.of_user(user), "app_key": app_key_of("default"), "count": count}
    with psycopg.connect(dsn) as connection:
        connection.execute("INSERT INTO discreet.users (user_key) VALUES (%(user_key)s) ON CONFLICT DO NOTHING", given)
        connection.execute(MANY, given)
        connection.commit()
        connection.autocommit = True
        connection.execute("ANALYZE discreet.memory")


def told(records):
    """Return records as texts, without those of the exports themselves."""
    return Counter(record.model_dump_json() for record in records if not isinstance(record, AuditRow))


@pytest.mark.slow
@pytest.mark.parametrize("stop", range(1, 16, 2))
async def test_a_folder_goes_on_where_it_was_broken_off(storage, tmp_path, monkeypatch, stop):
    monkeypatch.setattr(exporter, "PAGE", 1)
    await live(storage, "ann", "zanzibarine", namespace=("notes", "ann"))
    named = {"namespaces": [("notes", "ann")]}
    await export_to_folder(tmp_path / "whole", begin(storage, "ann", **named))
    pages = 0

    def count(_rows):
        nonlocal pages
        pages += 1
        if pages == stop:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        await export_to_folder(tmp_path / "half", begin(storage, "ann", **named), told=count)
    with pytest.raises(ExportError, match="is not finished"):
        read_manifest(tmp_path / "half")
    with pytest.raises(ExportError, match="--resume"):
        await export_to_folder(tmp_path / "half", begin(storage, "ann", **named))
    with pytest.raises(ExportError, match="another user's"):
        await export_to_folder(tmp_path / "half", begin(storage, "bob", **named), resume=True)
    with (tmp_path / "half" / "memories.jsonl").open("ab") as file:
        file.write(b'{"entry_id": "half a li')  # as a process that is killed leaves it
    manifest = await export_to_folder(tmp_path / "half", begin(storage, "ann", **named), resume=True)
    assert told(read_export(tmp_path / "half")) == told(read_export(tmp_path / "whole"))
    assert sum(part.rows for part in manifest.parts) == len(list(read_export(tmp_path / "half")))
    with pytest.raises(ExportError, match="finished export"):
        await export_to_folder(tmp_path / "half", begin(storage, "ann", **named), resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("cut", [0, 1, 30, 200])
async def test_a_stream_goes_on_after_any_of_its_marks(storage, tmp_path, monkeypatch, cut):
    monkeypatch.setattr(exporter, "PAGE", 1)
    await live(storage, "ann", "zanzibarine", namespace=("notes", "ann"))
    await storage.store.aput(("notes", "ann"), "like a header", {"kind": "header", "data": {}})
    named = {"namespaces": [("notes", "ann")]}
    whole = [piece async for piece in lines(begin(storage, "ann", **named))]
    (tmp_path / "whole.ndjson").write_bytes(b"".join(whole))
    expected = told(read_export(tmp_path / "whole.ndjson"))
    marks = [n for n, piece in enumerate(whole) if b'{"kind":"mark"' in piece]
    for at in marks:
        after = json.loads(whole[at].splitlines()[-1])["data"]["after"]
        rest = b"".join([piece async for piece in lines(begin(storage, "ann", after=after, **named))])
        more = whole[at + 1][:cut] if at + 1 < len(whole) - 1 else b""
        (tmp_path / "parts.ndjson").write_bytes(b"".join(whole[: at + 1]) + more + rest)
        assert told(read_export(tmp_path / "parts.ndjson")) == expected, at
    (tmp_path / "half.ndjson").write_bytes(b"".join(whole[:-1]))
    with pytest.raises(ExportError, match="has no manifest"):
        next(read_export(tmp_path / "half.ndjson"))
    (tmp_path / "parts.ndjson").write_bytes(b"".join(whole[: marks[1] + 1]) + rest)
    with pytest.raises(ExportError, match="does not go on"):
        next(read_export(tmp_path / "parts.ndjson"))


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("token", ["", "x", "W10=", "WyJ4Il0=", "WyJtZW1vcmllcyIsIngiXQ==", "WyJtZW1vcmllcyIsMV0="])
async def test_a_mark_that_is_none_is_refused(storage, token):
    with pytest.raises(ExportError):
        begin(storage, "ann", after=token)


def test_a_mark_is_its_token():
    for mark in (Mark(), Mark("memories", (str(uuid4()),)), Mark("messages", ("t", "", "messages", 7))):
        assert Mark.of(mark.token) == mark


@pytest.mark.slow
async def test_a_lost_key_costs_its_own_rows(database, tmp_path):
    old, new = make_key(), make_key()
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), keys=Keyring([old])) as storage:
        await live(storage, "ann", "zanzibarine", namespace=("notes", "ann"))
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), keys=Keyring([new])) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Likes tea")])
        await storage.store.aput(("notes", "ann"), "new", {"text": "still here"})
        manifest = await export_to_folder(tmp_path / "ann", begin(storage, "ann", namespaces=[("notes", "ann")]))
    records = list(read_export(tmp_path / "ann"))
    assert [record.text for record in records if isinstance(record, MemoryRow)] == ["Likes tea"]
    assert [record.value for record in records if isinstance(record, ItemRow)] == [{"text": "still here"}]
    lost = [record for record in records if isinstance(record, UnreadableRow)]
    assert manifest.unreadable == dict(Counter(record.kind for record in lost))
    assert manifest.unreadable == {
        "memories": 3,
        "turns": 1,
        "sessions": 1,
        "session_summaries": 1,
        "rolling_summaries": 1,
        "proposals": 1,
        "items": 2,
    }
    assert {record.code for record in lost} == {"encryption"}


@pytest.mark.slow
async def test_of_50_000_memories_few_are_in_ram(storage, database, tmp_path):
    await asyncio.to_thread(fill, database, "ann", 50_000)
    tracemalloc.start()
    try:
        manifest = await export_to_folder(tmp_path / "ann", begin(storage, "ann"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        count = sum(1 for _ in read_export(tmp_path / "ann"))
        _, peak_of_reading = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert next(part.rows for part in manifest.parts if part.kind == "memories") == 50_000
    assert count == sum(part.rows for part in manifest.parts)
    assert peak < 20_000_000
    assert peak_of_reading < 20_000_000


@pytest.mark.slow
@pytest.mark.own_database("plans follow the statistics that earlier tests left")
@pytest.mark.one_server("reads plans, which are the nodes'")
async def test_a_page_reads_its_rows_and_no_others(storage, database):
    await asyncio.to_thread(fill, database, "ann", 5_000)
    await asyncio.to_thread(fill, database, "bob", 5_000)
    with psycopg.connect(database) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute("SET random_page_cost = 1.1")
        for begins in (True, False):
            given = {
                "user_key": USER_KEYS.of_user("ann"),
                "vectors": False,
                "limit": 200,
                "pseudonym": "ann",
                "after_0": "80000000-0000-0000-0000-000000000000",
            }
            explained = "EXPLAIN (ANALYZE, FORMAT JSON) " + MEMORIES.statement(begins=begins)
            [(plan,)] = connection.execute(explained, given).fetchall()
            read = json.dumps(plan)
            assert "Seq Scan on memory" not in read
            assert '"Node Type": "Sort"' not in read
            assert most_rows(plan[0]["Plan"]) <= 200


def most_rows(node):
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return max([rows, *map(most_rows, node.get("Plans", []))])


@pytest.mark.slow
def test_a_killed_command_goes_on(database, tmp_path):
    asyncio.run(open_once(database))
    fill(database, "ann", 20_000)
    discreet = str(Path(sys.executable).with_name("discreet"))
    command = [discreet, "export", "--user", "ann", "--out", str(tmp_path / "ann"), "--dsn", database, "--resume"]
    env = {**os.environ, "DISCREET_EMBEDDING_MODEL": "none"}
    killed = 0
    for _ in range(3):
        with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as running:
            before = size(tmp_path / "ann")
            while running.poll() is None and size(tmp_path / "ann") < before + 200_000:
                time.sleep(0.01)
            killed += running.poll() is None
            running.send_signal(signal.SIGKILL)
    assert killed
    done = subprocess.run([*command, "--json"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    assert next(part["rows"] for part in manifest["parts"] if part["kind"] == "memories") == 20_000
    texts = {record.text for record in read_export(tmp_path / "ann") if isinstance(record, MemoryRow)}
    assert len(texts) == 20_000


async def open_once(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)):
        pass


def size(folder):
    file = folder / "memories.jsonl"
    return file.stat().st_size if file.exists() else 0


@pytest.mark.slow
async def test_the_audit_trail_says_that_it_begins_and_what_was_handed_out(storage, tmp_path):
    await live(storage, "ann", "zanzibarine", namespace=("notes", "ann"))
    audited = replace(storage, audit=PostgresAuditLog(storage.pool, keys=storage.background.keys))
    pieces = lines(begin(audited, "ann"))
    for _ in range(3):
        await anext(pieces)
    await pieces.aclose()
    await export_to_folder(tmp_path / "ann", begin(audited, "ann"))
    async with storage.pool.connection() as conn:
        rows = await (
            await conn.execute(
                "SELECT success, counts FROM discreet.audit_entry WHERE user_key = %(user_key)s AND action = 'user.export' "
                "ORDER BY number",
                {"user_key": storage.background.key_of("ann")},
            )
        ).fetchall()
    begun, broken, again, done = rows
    assert (begun["success"], begun["counts"]) == (True, {})
    assert (broken["success"], broken["counts"]["memories"]) == (False, 3)
    assert (again["success"], again["counts"]) == (True, {})
    assert done["success"]
    assert done["counts"]["memories"] == 3
    assert done["counts"]["messages"] > 0
