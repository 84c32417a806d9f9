"""What turns, rolling summaries and items say of themselves in the clear is bound to what is sealed: a row that somebody changed can't be opened."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import sql

from discreet.errors import EncryptionError
from discreet.ports import RollingSummary
from discreet.rights.exporting import begin, lines
from discreet.state.records import TurnRecord
from discreet.storage import open_storage
from discreet.storage.rekeying import Rekeying
from discreet.testing import InMemoryKeys, StubEmbeddings

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
TURN = TurnRecord(
    request_id="r1",
    user_id="ann",
    thread_id="t",
    agent_id="агент",
    answer_id="a1",
    input_text="Nuôi hai con vẹt xám",
    output_text="好的",
    started_at=NOW.astimezone(),
    ended_at=NOW + timedelta(seconds=2),
)
SUMMARY = RollingSummary(text="Keeps parrots", rounds=3, last_message_id="m3")
CHANGES = {
    "thread_key": "md5('another')::uuid",
    "app_name": "'bank'",
    "agent_id": "NULL",
    "modality": "'voice'",
    "is_emergency": "NOT is_emergency",
    "loop_flag": "NOT loop_flag",
    "started_at": "started_at - interval '1 microsecond'",
    "ended_at": "ended_at + interval '1 hour'",
    "answer_id": "'a2'",
}


def opened(dsn, keys):
    return open_storage(dsn, embeddings=StubEmbeddings(dims=32), keys=keys, maintained=False)


def change(dsn, table, column, value):
    statement = sql.SQL("UPDATE discreet.{} SET {} = {}")
    with psycopg.connect(dsn) as connection:
        connection.execute(statement.format(*map(sql.Identifier, (table, column)), sql.SQL(value)))


async def lost(storage, keys):
    """Return what a dry run finds lost, and a rotation afterwards."""
    counted = {each.table: each.lost for each in await Rekeying(storage.works_pool, keys=keys).counts() if each.lost}
    keys.rotate()
    came = await Rekeying(storage.works_pool, keys=keys).run()
    assert {table: rows for table, rows in came.lost.items() if rows} == counted
    return counted


@pytest.mark.fast_cases(4)
@pytest.mark.one_server("changes rows by hand")
@pytest.mark.parametrize("column", CHANGES)
async def test_a_turn_of_which_something_was_changed_is_left_out_and_named(database, caplog, column):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        await storage.log.append(TURN)
        [turn] = await storage.log.read("ann")
        assert turn == TURN
        change(database, "conversation_log", column, CHANGES[column])
        assert await storage.log.read("ann") == []
        exported = b"".join([piece async for piece in lines(begin(storage, "ann"))]).decode()
        assert TURN.input_text not in exported
        assert "storage.unreadable kind=turn rows=1 ids=r1" in caplog.text or column == "thread_key"
        assert await lost(storage, keys) == {"conversation_log": 1}


async def test_a_turn_that_is_stored_again_by_another_agent_is_read_as_it_was_stored_last(database):
    async with opened(database, InMemoryKeys()) as storage:
        await storage.log.append(TURN)
        again = TURN.model_copy(update={"agent_id": "another", "app_name": "bank", "input_text": "Держит попугаев"})
        assert not await storage.log.append(again)
        assert await storage.log.read("ann") == [again]


@pytest.mark.one_server("changes rows by hand")
@pytest.mark.parametrize(("column", "value"), [("rounds", "rounds + 1"), ("last_message_id", "'m9'")])
async def test_a_rolling_summary_that_is_said_to_cover_other_rounds_is_not_read(database, column, value):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        await storage.summaries.commit("ann", "t", expected=RollingSummary(), new=SUMMARY)
        assert await storage.summaries.get("ann", "t") == SUMMARY
        further = replace(SUMMARY, text="养鹦鹉", rounds=5, last_message_id=None)
        assert await storage.summaries.commit("ann", "t", expected=SUMMARY, new=further)
        assert await storage.summaries.get("ann", "t") == further
        change(database, "rolling_summary", column, value)
        found = await storage.summaries.get("ann", "t")
        assert (found.text, found.is_readable) == ("", False)
        assert await lost(storage, keys) == {"rolling_summary": 1}


NOTES = {"k1": "Keeps parrots", "k2": "Nuôi hai con vẹt"}


async def put(storage, *users):
    for user in users:
        for key, text in NOTES.items():
            await storage.store.aput(("users", user, "notes"), key, {"said": f"{text} {user}"})


def said(items):
    return {(item.namespace[1], item.key): item.value["said"] for item in items}


@pytest.mark.one_server("changes rows by hand")
async def test_a_value_is_not_served_under_the_key_of_another(database):
    keys = InMemoryKeys()
    async with opened(database, keys) as storage:
        await put(storage, "ann")
        swapped = "CASE key WHEN 'k1' THEN 'k2' ELSE 'k1' END"
        change(database, "store_item", "key", swapped)
        with pytest.raises(EncryptionError):
            await storage.store.aget(("users", "ann", "notes"), "k1")
        assert await storage.store.asearch(("users", "ann", "notes")) == []
        assert await storage.store.asearch(("users", "ann", "notes"), query="parrots") == []
        assert await lost(storage, keys) == {"store_item": 2}
        await put(storage, "ann")
        assert said(await storage.store.asearch(("users", "ann", "notes"))) == {
            ("ann", key): f"{text} ann" for key, text in NOTES.items()
        }


@pytest.mark.one_server("changes rows by hand")
@pytest.mark.parametrize("has_keys", [False, True])
async def test_items_have_the_namespace_that_they_were_found_by_whatever_its_row_says(database, has_keys):
    async with opened(database, InMemoryKeys() if has_keys else None) as storage:
        await put(storage, "ann", "bob")
        swapped = "CASE WHEN path LIKE '%ann%' THEN replace(path, 'ann', 'bob') ELSE replace(path, 'bob', 'ann') END"
        change(database, "store_namespace", "path", swapped)
        for user in ("ann", "bob"):
            own = {(user, key): f"{text} {user}" for key, text in NOTES.items()}
            below = ("users", user)
            got = await storage.store.aget((*below, "notes"), "k1")
            assert (got.namespace, got.value["said"]) == ((*below, "notes"), own[user, "k1"])
            assert said(await storage.store.asearch(below)) == own
            assert said(await storage.store.asearch(below, query="parrots")) == own
            assert said(await storage.store.asearch(below, filter={"said": own[user, "k2"]})) == {
                (user, "k2"): own[user, "k2"]
            }
