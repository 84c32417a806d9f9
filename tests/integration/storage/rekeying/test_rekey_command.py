"""`discreet rekey` does it, says what it did, and goes on where it was killed."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time

import psycopg
import pytest
from testkit.scripts import ScriptProcess
from testkit.sealed import WORD, cells, fill, holds, say, told
from typer.testing import CliRunner

from discreet.cli import app
from discreet.encryption import Keyring, key_id_of, make_key, write_key
from discreet.errors import ConfigurationError
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.storage.database.sealed_columns import SEALED_TABLES
from discreet.testing import StubEmbeddings

ROWS = 4
REKEY = """
import sys
from discreet.cli import app
app(["rekey", "--dsn", sys.argv[1], "--json"])
"""


def opened(dsn, keys):
    return open_storage(dsn, embeddings=StubEmbeddings(dims=16), keys=keys)


def key_ids(dsn):
    return {key_id_of(cell.value[: 2 + cell.value[1]]) for cell in cells(dsn)}


@pytest.fixture
def old():
    return make_key()


@pytest.fixture
def new(old, monkeypatch):
    """Return a key that is the current one, before the old one."""
    key = make_key()
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", f"{write_key(key)},{write_key(old)}")
    monkeypatch.setenv("DISCREET_EMBEDDING_MODEL", "none")
    return key


@pytest.fixture
async def filled(database, old, new):
    async with opened(database, Keyring([old])) as storage:
        for n in range(ROWS):
            await fill(storage, Keyring([old]), "ann", name=f"{n}")
        await say(storage, "ann")
    return database


def rekey(*arguments):
    return CliRunner().invoke(app, ["rekey", *arguments], catch_exceptions=False)


def each_table(rows):
    return {table.name: rows for table in SEALED_TABLES}


@pytest.mark.slow
@pytest.mark.dialect
@pytest.mark.parametrize("reindex", [False, True])
def test_it_moves_all_and_sums_up(filled, new, reindex):
    result = rekey("--dsn", filled, "--json", *(["--reindex"] if reindex else []))
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told.pop("seconds") >= 0
    assert told.pop("until") is not None
    expected = {"dry_run": False, "key_id": new.id, "finished": True, "expiring": 2}
    none = dict.fromkeys(("lost", "sealed", "plain"), each_table(0))
    assert told == {**expected, "rows": each_table(ROWS), **none}
    assert key_ids(filled) == {new.id}
    again = rekey("--dsn", filled)
    assert again.exit_code == 0
    assert again.stdout.startswith(f"0 rows moved to the key {new.id}")
    assert "keep those keys until then" in again.stdout


async def test_a_dry_run_says_what_to_do_about_plain_values(database, monkeypatch):
    async with opened(database, None) as storage:
        await storage.memories.save("ann", [MemoryRecord(text="Keeps parrots")])
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", write_key(make_key()))
    result = await asyncio.to_thread(rekey, "--dsn", database, "--dry-run")
    assert result.exit_code == 1
    told = " ".join(result.stdout.split())
    assert "1 plain values are not read. They were stored before the key, or written past Discreet." in told
    assert "`discreet rekey --seal-plain`" in told
    vouched = await asyncio.to_thread(rekey, "--dsn", database, "--dry-run", "--seal-plain", "--json")
    assert (vouched.exit_code, json.loads(vouched.stdout)["tables"]["memory"]["rows"]) == (0, 1)


@pytest.mark.one_server("changes rows by hand")
async def test_what_somebody_wrote_in_the_place_of_a_sealed_value_is_not_made_genuine(database, old, new):
    """Memories in four languages are replaced by SQL; the next rotation leaves them plain and says so."""
    async with opened(database, Keyring([old])) as storage:
        for text in ("Keeps parrots", "Nuôi hai con vẹt", "Держит попугаев", "养鹦鹉"):
            await storage.memories.save("ann", [MemoryRecord(text=text)], dedup=False)
    with psycopg.connect(database) as connection:
        forged = "UPDATE discreet.memory SET text = 'Has no allergies', sealed_text = NULL"
        assert connection.execute(f"{forged} WHERE ctid = (SELECT min(ctid) FROM discreet.memory)").rowcount == 1
    result = await asyncio.to_thread(rekey, "--dsn", database)
    said = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert said.startswith(f"3 rows moved to the key {new.id}")
    assert "not read, are 1 of memory. They were stored before the key, or written past Discreet." in said
    assert "Has no allergies" not in result.output
    async with opened(database, Keyring([new])) as storage:
        assert len(await storage.memories.latest("ann")) == 3
    vouched = await asyncio.to_thread(rekey, "--dsn", database, "--seal-plain")
    assert vouched.exit_code == 0
    assert "1 of them had something plain" in vouched.stdout
    async with opened(database, Keyring([new])) as storage:
        assert len(await storage.memories.latest("ann")) == 4


@pytest.mark.slow
def test_a_dry_run_counts_by_table_and_key_and_moves_nothing(filled, old, new):
    result = rekey("--dsn", filled, "--dry-run", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["key"], told["dry_run"]) == (0, new.id, True)
    for table in SEALED_TABLES:
        values = ROWS * len(table.columns)
        assert told["tables"][table.name] == {"rows": ROWS, "plain": 0, "keys": {old.id: values}, "lost": 0}
    assert key_ids(filled) == {old.id}
    shown = rekey("--dsn", filled, "--dry-run").stdout
    assert f"{ROWS} under {old.id}" in shown


@pytest.mark.slow
async def test_what_is_lost_is_told_by_the_exit_code(filled):
    async with opened(filled, Keyring([make_key()])) as storage:
        await storage.memories.save("bob", [MemoryRecord(text=f"A {WORD} parrot")])
    assert (await asyncio.to_thread(rekey, "--dsn", filled, "--dry-run")).exit_code == 1
    result = await asyncio.to_thread(rekey, "--dsn", filled, "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["lost"]["memory"], told["rows"]) == (1, 1, each_table(ROWS))
    assert WORD not in result.output


@pytest.mark.slow
def test_a_dry_run_opens_what_is_under_the_current_key_too(filled, old, monkeypatch):
    """As an id is a free name, another secret may bear it."""
    secret = write_key(make_key()).partition(":")[2]
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", f"{old.id}:{secret}")
    result = rekey("--dsn", filled, "--dry-run", "--json")
    tables = json.loads(result.stdout)["tables"]
    assert (result.exit_code, {name: table["lost"] for name, table in tables.items()}) == (
        1,
        {table.name: ROWS * len(table.columns) for table in SEALED_TABLES},
    )
    shown = " ".join(rekey("--dsn", filled, "--dry-run").stdout.split())
    assert f"{ROWS} under {old.id} (current, {ROWS} lost" in shown


def test_without_a_key_nothing_is_done_and_the_message_says_what_to_set(database, monkeypatch):
    monkeypatch.delenv("DISCREET_ENCRYPTION_KEYS", raising=False)
    with pytest.raises(ConfigurationError, match=r"DISCREET_ENCRYPTION_KEYS.*discreet key"):
        rekey("--dsn", database)


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["strange", "same id"])
def test_with_wrong_keys_nothing_is_opened_or_changed(filled, old, monkeypatch, keys):
    """Another key of the same id is as good as none."""
    key = make_key()
    secret = write_key(key).partition(":")[2]
    others = [key] if keys == "strange" else []
    written = [
        *map(write_key, others),
        *([f"{secrets.token_hex(4)}:{secret}", f"{old.id}:{secret}"] if not others else []),
    ]
    monkeypatch.setenv("DISCREET_ENCRYPTION_KEYS", ",".join(written))
    before = sorted(cell.value for cell in cells(filled))
    result = rekey("--dsn", filled, "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["rows"], told["lost"]) == (1, each_table(0), each_table(ROWS))
    assert sorted(cell.value for cell in cells(filled)) == before
    assert WORD not in result.output
    assert not holds(filled)


@pytest.mark.slow
async def test_killed_in_the_middle_it_goes_on(filled, old, new):
    last = SEALED_TABLES[-1].name
    async with opened(filled, Keyring([old])) as storage:
        before = [await told(storage, "ann", name=f"{n}") for n in range(ROWS)]
    with psycopg.connect(filled) as connection, ScriptProcess(REKEY, filled, environment=dict(os.environ)) as process:
        connection.execute(f"LOCK TABLE discreet.{last} IN ACCESS EXCLUSIVE MODE")
        waits = f"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'discreet.{last}'::regclass"
        until = time.monotonic() + 60
        while connection.execute(waits).fetchone() == (0,):
            assert time.monotonic() < until
            assert process.poll() is None
            await asyncio.sleep(0.01)
        process.kill()
        process.wait(10)
    assert (await asyncio.to_thread(rekey, "--dsn", filled)).exit_code == 0
    assert key_ids(filled) == {new.id}
    async with opened(filled, Keyring([new])) as storage:
        assert [await told(storage, "ann", name=f"{n}") for n in range(ROWS)] == before
