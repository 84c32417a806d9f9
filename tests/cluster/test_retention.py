"""Threads are let go wherever they are, each by statements for one node."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from psycopg.types.json import Jsonb
from testkit.conversations import turn

from discreet.checkpoint import RedactingSaver
from discreet.checkpoint.postgres.aging import NO_LONGER_KEPT
from discreet.cli.migrate import run_migrate
from discreet.encryption import Keyring, make_key
from discreet.ports import RollingSummary
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

KEPT = {"retention_log_days": 30, "retention_checkpoint_days": 30, "retention_turn_days": 180}
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def spread(empty_cluster_database):
    """Return the DSN of a database all of whose tables are spread."""
    run_migrate(empty_cluster_database, checkpoint_schema=None, spread=True, as_json=False)
    return empty_cluster_database


def bot(state: MessagesState):
    if "ask" in str(state["messages"][-1].content):
        interrupt("Which one?")
    return {"messages": [("ai", "Hello")]}


def thread(name):
    return {"configurable": {"thread_id": name, "user_id": "ann"}}


def make_old(dsn, name):
    with psycopg.connect(dsn, autocommit=True) as connection:
        ts = Jsonb(LONG_AGO.isoformat())
        set_time = "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{ts}', %s) WHERE thread_id = %s"
        connection.execute(set_time, (ts, name))
        connection.execute("UPDATE checkpoint_messages SET created_at = %s WHERE thread_id = %s", (LONG_AGO, name))
        connection.execute("UPDATE checkpoint_threads SET oldest_at = %s WHERE thread_id = %s", (LONG_AGO, name))


async def test_what_is_too_old_goes_from_all_nodes(spread):
    keys = Keyring([make_key()])
    async with (
        open_storage(
            spread, settings=Settings(**KEPT), embeddings=StubEmbeddings(dims=16), maintained=False
        ) as storage,
        RedactingSaver.from_conn_string(spread, keys=keys) as saver,
    ):
        graph = StateGraph(MessagesState).add_node("bot", bot).add_edge(START, "bot").compile(checkpointer=saver)

        async def say(text, name):
            return await graph.ainvoke({"messages": [("user", text)]}, thread(name))

        for n in range(8):
            await say("first", f"{n}")
            await storage.log.append(turn(f"r{n}", "first", thread=f"{n}", at=LONG_AGO, user=f"user {n}"))
            summary = RollingSummary(text="Greetings", rounds=1, last_message_id="m")
            await storage.summaries.commit("ann", f"{n}", expected=RollingSummary(), new=summary)
            old = MemoryRecord(type="turn", text="first", thread_id=f"{n}", position=0, created_at=LONG_AGO)
            await storage.memories.save(f"user {n}", [old])
            make_old(spread, f"{n}")
        for n in range(4):
            await say("second", f"{n}")
        await say("ask", "paused")
        due = {each.kind: each.rows for each in await storage.retention.due() if each.rows}
        gone = dict(await storage.retention.sweep())
        assert due == {
            "log": 8,
            "sessions": 8,
            "turns": 8,
            "threads": 4,
            "checkpoints": due["checkpoints"],
            "messages": 8,
        }
        assert gone == due | {"summaries": 4}
        assert dict(await storage.retention.sweep()) == {}
        for n in range(4):
            state = await graph.aget_state(thread(f"{n}"))
            texts = [message.content for message in state.values["messages"]]
            assert texts == [NO_LONGER_KEPT, NO_LONGER_KEPT, "second", "Hello"]
        assert not (await graph.aget_state(thread("7"))).values
        storage.retention._clock = lambda: datetime.now(UTC) + timedelta(days=2)
        assert dict(await storage.retention.sweep()) == {"pauses": 1, "deletions": 4}
