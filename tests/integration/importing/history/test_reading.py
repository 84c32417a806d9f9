"""`HistoryReader`: V1's or ours, as the migration's phase says, in one shape."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pytest
from prometheus_client import REGISTRY

from discreet.background_loop import wait_for
from discreet.errors import ImportSourceError, StorageError
from discreet.importing.history import DualWriter, HistoryReader
from discreet.redaction import Redactor
from discreet.storage import open_storage, open_storage_sync
from discreet.testing import StubEmbeddings


@pytest.fixture
async def reader(storage, redis_url):
    async with HistoryReader(storage, redis_url) as opened:
        yield opened


async def both(v1, storage, user_id, text, **more):
    said = v1.say(user_id, text, **more)
    await DualWriter(storage).append_round(user_id, said)
    return said


@pytest.mark.slow
async def test_before_the_switch_it_reads_as_v1_does(v1, reader, storage, phase):
    await phase("dual_write")
    for number in range(9):
        await both(v1, storage, "U1", f"{number}: ann@example.org", ago=100 - number)
    assert await reader.fetch("U1") == v1.fetch_unsummarized_tail("U1")
    v1.redis.set("session:U1:summary:rounds", 5)
    for k in (1, 2, 6):
        assert await reader.fetch("U1", k=k) == v1.fetch_unsummarized_tail("U1", k)
    assert await reader.fetch("U2") == []


async def test_after_the_switch_it_reads_ours_in_the_same_shape_redacted(v1, reader, storage, phase):
    await phase("dual_write")
    for number in range(9):
        await both(v1, storage, "U1", f"{number}: ann@example.org", ago=100 - number, is_emergency=number == 8)
    theirs = await reader.fetch("U1")
    await phase("switched")
    redacted = [{**each, "input": each["input"].replace("ann@example.org", "<EMAIL>")} for each in theirs]
    assert await reader.fetch("U1") == redacted
    assert await reader.fetch("U1", k=1) == redacted[-1:]
    assert await reader.fetch("U1", k=100) == [*await reader.fetch("U1", k=9)]
    assert len(await reader.fetch("U1", k=100)) == 9
    assert await reader.fetch("U1", k=0) == await reader.fetch("U2") == []


@pytest.mark.dialect
async def test_rounds_with_one_rid_are_read_as_v1_has_them(v1, reader, storage, phase):
    await phase("switched")
    said = [await both(v1, storage, "U1", f"text {n}", ago=100 - n, rid="same") for n in range(5)]
    assert await reader.fetch("U1") == said == v1.fetch_unsummarized_tail("U1")


async def test_a_round_is_read_for_a_day_as_v1_kept_it(v1, reader, storage, phase):
    await phase("switched")
    await both(v1, storage, "U1", "old", ago=25 * 3600)
    await both(v1, storage, "U1", "new", ago=23 * 3600)
    assert [each["input"] for each in await reader.fetch("U1")] == ["new"]


@pytest.mark.slow
async def test_a_switch_in_another_process_is_followed_within_seconds(database, v1, storage, redis_url, phase):
    await phase("dual_write")
    await both(v1, storage, "U1", "ann@example.org")
    opened = open_storage(database, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), maintained=False)
    async with opened as elsewhere, HistoryReader(elsewhere, redis_url) as other:
        for now, text in (("switched", "<EMAIL>"), ("dual_write", "ann@example.org")):
            await phase(now)
            for _ in range(50):
                if (found := (await other.fetch("U1"))[0]["input"]) == text:
                    break
                await asyncio.sleep(0.2)
            assert found == text


@pytest.mark.slow
async def test_when_ours_fails_v1_answers_until_the_migration_is_finished(migrated_relay, v1, redis_url, caplog):
    opened = open_storage(migrated_relay.dsn, embeddings=StubEmbeddings(dims=16), redactor=Redactor(), maintained=False)
    async with opened as storage, HistoryReader(storage, redis_url) as reader:
        await storage.memory_settings.change({"history_migration": "switched"}, by="u_test")
        said = await both(v1, storage, "U1", "zanzibarine")
        before = REGISTRY.get_sample_value("discreet_history_reads_total", {"source": "fallback"}) or 0
        for breaks in (migrated_relay.hang, migrated_relay.down):
            breaks()
            began = time.monotonic()
            assert await reader.fetch("U1") == [said]
            assert time.monotonic() - began < 4
            migrated_relay.down()
            migrated_relay.up()
        assert REGISTRY.get_sample_value("discreet_history_reads_total", {"source": "fallback"}) == before + 2
        assert "history.read_failed" in caplog.text
        assert "zanzibarine" not in caplog.text
        async with asyncio.timeout(20):
            while storage.memory_settings.live.history_migration != "finished":
                with suppress(StorageError):  # the pool is not over it yet
                    await storage.memory_settings.change({"history_migration": "finished"}, by="u_test")
        migrated_relay.down()
        with pytest.raises(StorageError):
            await reader.fetch("U1")
        migrated_relay.up()


async def test_v1s_redis_that_fails_is_a_typed_error(storage):
    async with HistoryReader(storage, "redis://127.0.0.1:1/0") as reader:
        with pytest.raises(ImportSourceError):
            await reader.fetch("U1")
    with pytest.raises(ImportSourceError, match="V1's Redis"):
        HistoryReader(storage, "http://nowhere")


async def test_after_the_switch_redis_may_be_down(storage, phase, v1):
    await phase("switched")
    said = v1.round("U1", "hello")
    await DualWriter(storage).append_round("U1", said)
    async with HistoryReader(storage, "redis://127.0.0.1:1/0") as reader:
        assert await reader.fetch("U1") == [said]


@pytest.mark.slow
def test_code_without_an_event_loop_reads_too(database, v1, redis_url):
    said = v1.say("U1", "hello")
    with open_storage_sync(database, embeddings=StubEmbeddings(dims=16), redactor=Redactor()) as storage:
        reader = HistoryReader(storage, redis_url)
        assert reader.fetch_sync("U1") == [said]
        wait_for(reader.aclose())
