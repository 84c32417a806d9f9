"""By default nothing goes by its age that a conversation is made of; 0 keeps it, wherever that is said, and any number of days lets it go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from testkit.conversations import turn

from discreet.checkpoint import RedactingSaver
from discreet.ports import RollingSummary
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

OLD = timedelta(days=200)
KINDS = {"log", "sessions", "summaries", "turns", "threads", "checkpoints", "messages"}
SETTINGS = ("retention_log_days", "retention_checkpoint_days", "retention_turn_days")
TABLES = (
    "checkpoints",
    "checkpoint_blobs",
    "checkpoint_writes",
    "checkpoint_messages",
    "discreet.conversation_log",
    "discreet.session_record",
    "discreet.rolling_summary",
    "discreet.memory",
)
AGED = """
UPDATE checkpoints SET checkpoint = jsonb_set(
    checkpoint, '{ts}', to_jsonb(to_char(now() - interval '200 days', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'))
)
"""
LOOKED_AT = "UPDATE checkpoint_threads SET oldest_at = oldest_at - interval '200 days'"
"""What the sweep goes by: something of each thread may be too old."""


def graph_of(saver):
    builder = StateGraph(MessagesState)
    builder.add_node("bot", lambda state: {"messages": [("ai", f"You said: {state['messages'][-1].content}")]})
    return builder.add_edge(START, "bot").compile(checkpointer=saver)


async def say(saver, thread, text="Hello"):
    await graph_of(saver).ainvoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})


def counts(rows):
    return {table: rows(f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}


@pytest.fixture
async def opened(database, rows):
    """Return what opens a storage under settings, over a database whose threads, log and turns are 200 days old.

    One thread is a stock saver's with one turn of ours at its end, one is ours.
    """
    at = datetime.now(UTC) - OLD
    async with AsyncPostgresSaver.from_conn_string(database) as stock:
        await stock.setup()
        for n in range(7):
            await say(stock, "adopted", f"turn {n}")
        await say(stock, "theirs")
    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        await say(saver, "ours")
        rows(AGED)
        await say(saver, "adopted", "under ours")
        rows(LOOKED_AT)

    def open_under(**values):
        settings = Settings(_env_file=None, **values)
        return open_storage(database, settings=settings, embeddings=StubEmbeddings(dims=16), maintained=False)

    async with open_under() as storage:
        await storage.log.append(turn("r", "Hello", at=at, thread="ours"))
        summary = RollingSummary(text="Greetings", rounds=1, last_message_id="m")
        await storage.summaries.commit("ann", "ours", expected=RollingSummary(), new=summary)
        rows("UPDATE discreet.rolling_summary SET updated_at = %s", at)
        said = MemoryRecord(type="turn", text="Say hello", thread_id="ours", position=0, created_at=at)
        await storage.memories.save("ann", [said])
    return open_under


async def test_by_default_nothing_goes_that_is_200_days_old(opened, rows):
    before = counts(rows)
    async with opened() as storage:
        assert not KINDS & {due.kind for due in await storage.retention.due() if due.rows}
        assert not KINDS & (await storage.retention.sweep()).keys()
    assert counts(rows) == before
    assert all(before.values()), before


async def test_with_days_in_the_environment_all_of_it_goes(opened, rows):
    async with opened(**dict.fromkeys(SETTINGS, 30)) as storage:
        due = {each.kind: each.rows for each in await storage.retention.due()}
        gone = await storage.retention.sweep()
    assert gone.keys() >= {"log", "sessions", "summaries", "turns", "threads", "checkpoints"}
    assert (gone["log"], gone["turns"], gone["threads"]) == (1, 1, 1) == (due["log"], due["turns"], due["threads"])
    assert rows("SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1") == [("adopted",), ("theirs",)]


async def test_zero_in_the_database_keeps_what_the_environment_would_let_go(opened, rows):
    before = counts(rows)
    async with opened(**dict.fromkeys(SETTINGS, 30)) as storage:
        await storage.memory_settings.change(dict.fromkeys(SETTINGS, 0), by="u_admin")
        assert not KINDS & (await storage.retention.sweep()).keys()
        assert counts(rows) == before
        await storage.memory_settings.change(dict.fromkeys(SETTINGS), by="u_admin")
        assert (await storage.retention.sweep()).keys() >= KINDS - {"messages"}


@pytest.mark.parametrize("days", [1, 199, 201, 4_000, 36_500])
async def test_any_number_of_days_is_taken(opened, days):
    async with opened(**dict.fromkeys(SETTINGS, 30)) as storage:
        await storage.memory_settings.change(dict.fromkeys(SETTINGS, days), by="u_admin")
        gone = await storage.retention.sweep()
        assert ("log" in gone, "turns" in gone, "threads" in gone) == ((days < OLD.days),) * 3


async def test_who_speaks_without_a_user_id_is_kept_where_the_setting_says_so(opened, rows):
    async with opened(anonymous_days=0) as storage:
        await storage.log.append(turn("anonymous", "Hello", user=None, thread="nobody's"))
    assert rows("SELECT count(*) FROM discreet.users WHERE expires_at IS NOT NULL") == [(0,)]
