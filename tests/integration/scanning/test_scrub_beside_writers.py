"""An application that runs turns while its database is scrubbed has no error, and loses no message."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph, add_messages
from psycopg.types.json import Jsonb
from testkit.planting.postgres import opened_saver
from testkit.scanning import scan, scrub

from discreet.errors import ScanError
from discreet.redaction import Redactor
from discreet.scanning.databases import postgres
from discreet.scanning.scrubbing import Scrubber, batches

pytestmark = pytest.mark.slow

THREADS = 4
LEAST_TURNS, MOST_TURNS = 8, 60
PAUSE = 0.03
"""Seconds between turns: a model takes longer."""
MAIL = "ann@example.com"


class State(TypedDict):
    """Messages, and how many turns there were."""

    messages: Annotated[list[AnyMessage], add_messages]
    turns: int


def answer(state: State):
    """Answer the last message."""
    return {"messages": [AIMessage(f"Answer to {state['messages'][-1].text}")], "turns": state.get("turns", 0) + 1}


def chat(saver):
    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


async def talk(dsn, thread, is_over):
    """Run turns in a thread until scrubs are over; return how many there were."""
    config = {"configurable": {"thread_id": thread}}
    turns = 0
    async with opened_saver(dsn) as saver:
        graph = chat(saver)
        while turns < LEAST_TURNS or (turns < MOST_TURNS and not is_over.is_set()):
            await asyncio.sleep(PAUSE)
            turns += 1
            state = await graph.ainvoke({"messages": [HumanMessage(f"turn {turns} from {MAIL}")]}, config)
            assert (state["turns"], len(state["messages"])) == (turns, 2 * turns)
    return turns


async def test_turns_go_on_while_a_database_is_scrubbed(small_copy):
    dsn, _ = small_copy
    is_over = asyncio.Event()

    async def scrubs():
        try:
            return [await asyncio.to_thread(scrub, dsn) for _ in range(3)]
        finally:
            is_over.set()

    names = [f"busy-{number}" for number in range(THREADS)]
    async with asyncio.TaskGroup() as group:
        scrubbing = group.create_task(scrubs())
        talking = [group.create_task(talk(dsn, name, is_over)) for name in names]
    reports = scrubbing.result()
    assert all(report.changed > 0 for report in reports)
    await asyncio.to_thread(scrub, dsn)
    async with opened_saver(dsn) as saver:
        for name, turns in zip(names, talking, strict=True):
            state = await chat(saver).aget_state({"configurable": {"thread_id": name}})
            texts = [str(message.text) for message in state.values["messages"]]
            assert len(texts) == 2 * turns.result()
            assert [text.split(" from")[0] for text in texts[::2]] == [
                f"turn {number}" for number in range(1, turns.result() + 1)
            ]
            assert not any(MAIL in text for text in texts)
    assert scan(dsn).types == {}


def test_what_was_written_meanwhile_is_found_by_the_next_scan(small_copy):
    dsn, _ = small_copy
    database = postgres.PostgresDatabase(dsn, writes=True)
    wrote = []

    def write(table, *_):
        if table == "store" and not wrote:  # after this table was read, before it is written
            with psycopg.connect(dsn) as other:
                done = other.execute("UPDATE store SET value = %s", [Jsonb({"text": MAIL})])
                wrote.append(done.rowcount)

    try:
        report = Scrubber(database, Redactor(), told=write).scrub()
    finally:
        database.close()
    (table,) = [table for table in report.tables if table.table == "store"]
    assert wrote[0] > 0
    assert (table.changed, table.changed_meanwhile) == (0, wrote[0])
    assert scan(dsn).types == {"EMAIL": wrote[0]}
    assert scrub(dsn).changed == wrote[0]
    assert scan(dsn).types == {}


@pytest.mark.dialect
def test_a_row_that_is_locked_is_waited_for_and_then_told(small_copy, monkeypatch):
    dsn, _ = small_copy
    monkeypatch.setattr(postgres, "LOCKS", "SET LOCAL lock_timeout = '50ms'; SET LOCAL row_security = off")
    monkeypatch.setattr(batches, "TRIES", 2)
    with psycopg.connect(dsn) as other:
        other.execute("SELECT * FROM store FOR UPDATE")
        with pytest.raises(ScanError, match=r"store.*--resume"):
            scrub(dsn, only=("store",))
    assert scan(dsn, only=("store",)).types
    assert scrub(dsn, only=("store",)).changed > 0
    assert scan(dsn, only=("store",)).types == {}
