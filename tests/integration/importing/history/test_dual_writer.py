"""`DualWriter`: each round goes into the log too, once, and a turn of V1's never fails for it."""

from __future__ import annotations

import asyncio
import time

import psycopg
import pytest
from prometheus_client import REGISTRY

from discreet.background_loop import wait_for
from discreet.errors import StorageError
from discreet.importing.history import DualWriter, dual_writer
from discreet.importing.history.writing import RoundWriter
from discreet.redaction import Redactor
from discreet.storage import open_storage, open_storage_sync
from discreet.testing import StubEmbeddings


def counted(outcome):
    return REGISTRY.get_sample_value("discreet_history_dual_writes_total", {"outcome": outcome}) or 0


async def test_a_round_is_written_redacted_once_with_its_id_and_time(storage, phase, v1, log):
    await phase("dual_write")
    writer = DualWriter(storage)
    said = v1.round("U1", "Write to ann@example.org", answer="I wrote to ann@example.org.", is_emergency=True)
    for _ in range(3):
        await writer.append_round("U1", said)
    await asyncio.gather(*(DualWriter(storage).append_round("U1", said) for _ in range(8)))
    [row] = log.rows()
    assert row == (said["rid"], "Write to <EMAIL>", "I wrote to <EMAIL>.", said["timestamp"], True)
    assert log.session_rounds() == 1


async def test_rounds_with_one_rid_are_all_kept(storage, phase, v1, copier, log):
    await phase("dual_write")
    writer = DualWriter(storage)
    said = [v1.say("U1", f"{n}: ann@example.org", ago=100 - n, rid="same") for n in range(3)]
    for each in [*said, *said, said[0]]:
        await writer.append_round("U1", each)
    expected = [("same", "0: <EMAIL>"), ("same#2", "1: <EMAIL>"), ("same#3", "2: <EMAIL>")]
    assert [row[:2] for row in log.rows()] == expected
    await writer.append_round("U1", v1.say("U1", "another answer", ago=98, rid="same"))
    assert await copier.copy() == {"there": 4}
    assert [row[0] for row in log.rows()] == ["same", "same#2", "same#3", "same#4"]


@pytest.mark.slow
async def test_a_database_that_can_only_be_read_costs_the_turn_nothing(storage, phase, v1, log, caplog):
    await phase("dual_write")
    writer = DualWriter(storage, retry_seconds=(0.1, 0.1))
    name = psycopg.conninfo.conninfo_to_dict(log.dsn)["dbname"]
    change = psycopg.sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
    with psycopg.connect(log.dsn, autocommit=True) as connection:

        def set_read_only(value):
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(change.format(psycopg.sql.Identifier(name), psycopg.sql.SQL(value)))
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

        set_read_only("on")
        for number in range(3):
            await writer.append_round("U1", v1.round("U1", f"said {number}", ago=9 - number))
        assert writer.waiting == 3
        assert log.rows() == []
        set_read_only("off")
    for _ in range(200):
        if not writer.waiting:
            break
        await asyncio.sleep(0.05)
    assert [row[1] for row in log.rows()] == ["said 0", "said 1", "said 2"]
    assert "cause=storage" in caplog.text
    await writer.aclose()


async def test_nothing_is_written_before_the_migration_begins(storage, v1, log):
    await DualWriter(storage).append_round("U1", v1.round("U1", "hello"))
    assert log.rows() == []


async def test_a_round_that_cant_be_written_costs_the_turn_nothing_and_tells_nothing(storage, phase, v1, log, caplog):
    await phase("dual_write")
    writer = DualWriter(storage)
    good = v1.round("U1", "zanzibarine")
    bad = [
        {},
        {**good, "rid": "zanzibarine says so"},
        {**good, "timestamp": "zanzibarine"},
        {**good, "timestamp": 1e40},
    ]
    for each in [*bad, {**good, "input": None}, "zanzibarine", None]:
        await writer.append_round("U1", each)
    for user_id in ("", "\0zanzibarine", None, True):
        await writer.append_round(user_id, good)
    assert log.rows() == []
    assert writer.waiting == 0
    assert "history.dual_write_refused" in caplog.text
    assert "history.dual_write_failed" not in caplog.text
    assert "zanzibarine" not in caplog.text


@pytest.mark.slow
async def test_what_the_database_does_not_take_is_written_when_it_comes_back(migrated_relay, v1, database):
    opened = open_storage(migrated_relay.dsn, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), maintained=False)
    async with opened as storage:
        await storage.memory_settings.change({"history_migration": "dual_write"}, by="u_test")
        writer = DualWriter(storage, retry_seconds=(0.1, 0.1))
        migrated_relay.down()
        rounds = [v1.round("U1", f"said {n}", ago=100 - n) for n in range(20)]
        began = asyncio.get_running_loop().time()
        for each in rounds:
            await writer.append_round("U1", each)
        assert asyncio.get_running_loop().time() - began < 3  # the first waits for the database, the others don't
        assert writer.waiting == 20
        migrated_relay.up()
        for _ in range(300):
            if not writer.waiting:
                break
            await asyncio.sleep(0.05)
        turns = await storage.log.read("U1")
        assert [turn.request_id for turn in turns] == [each["rid"] for each in rounds]
        assert await writer.aclose() == 0


@pytest.mark.slow
async def test_a_database_that_hangs_costs_a_turn_two_seconds_once(migrated_relay, v1):
    opened = open_storage(migrated_relay.dsn, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), maintained=False)
    async with opened as storage:
        await storage.memory_settings.change({"history_migration": "dual_write"}, by="u_test")
        writer = DualWriter(storage, retry_seconds=(60, 60))
        migrated_relay.hang()
        began = time.monotonic()
        for number in range(10):
            await writer.append_round("U1", v1.round("U1", f"said {number}"))
        assert time.monotonic() - began < 3
        assert writer.waiting == 10
        migrated_relay.down()
        migrated_relay.up()


@pytest.mark.slow
async def test_closing_tells_what_is_lost(migrated_relay, v1):
    opened = open_storage(migrated_relay.dsn, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), maintained=False)
    async with opened as storage:
        await storage.memory_settings.change({"history_migration": "dual_write"}, by="u_test")
        writer = DualWriter(storage)
        migrated_relay.down()
        await writer.append_round("U1", v1.round("U1", "hello"))
        lost = counted("lost")
        assert await writer.aclose() == 1
        assert counted("lost") == lost + 1
        migrated_relay.up()


async def test_of_too_many_that_wait_the_oldest_go(storage, phase, v1, monkeypatch):
    await phase("dual_write")
    monkeypatch.setattr(dual_writer, "MAX_WAITING", 3)
    writer = DualWriter(storage, retry_seconds=(60, 60))

    async def refuse(*_, **__):
        raise StorageError

    monkeypatch.setattr(RoundWriter, "write", refuse)
    lost = counted("lost")
    for number in range(5):
        await writer.append_round("U1", v1.round("U1", f"said {number}", ago=number))
    assert (writer.waiting, counted("lost") - lost) == (3, 2)
    await writer.aclose()


def test_code_without_an_event_loop_writes_too(database, v1, log):
    with open_storage_sync(database, embeddings=StubEmbeddings(dims=16), redactor=Redactor()) as storage:
        wait_for(storage.memory_settings.change({"history_migration": "dual_write"}, by="u_test"))
        writer = DualWriter(storage)
        said = v1.round("U1", "hello")
        writer.append_round_sync("U1", said)
        writer.append_round_sync("U1", None)
    assert [row[0] for row in log.rows()] == [said["rid"]]


@pytest.mark.parametrize("phase_now", ["switched", "finished"])
async def test_ours_is_written_after_the_switch_too(storage, phase, v1, log, phase_now):
    await phase(phase_now)
    await DualWriter(storage).append_round("U1", v1.round("U1", "hello"))
    assert len(log.rows()) == 1
