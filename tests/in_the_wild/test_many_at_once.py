"""Two hundred people over a pool of six connections."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from psycopg_pool import AsyncConnectionPool
from testkit.houses import House

from discreet.checkpoint import RedactingSaver

PEOPLE = 200
SOME = 20
CONNECTIONS = 6


def chat(house: House, saver: Any, what: str) -> Any:
    async def model(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(0.01)  # all are under way at once
        return {"messages": [house.answer(what)]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


@pytest.mark.slow
async def test_two_hundred_turns_at_once_over_six_connections(house, run):
    threads = [{"configurable": {"thread_id": str(uuid4())}} for _ in range(PEOPLE)]
    async with AsyncConnectionPool(house.dsn, min_size=CONNECTIONS, max_size=CONNECTIONS, open=False) as pool:
        saver = RedactingSaver.from_pool(pool)
        for what, again in (("one", PEOPLE), ("two", SOME)):
            graph = chat(house, saver, f"re{what}")
            turns = [run(graph, {"messages": [house.user(what)]}, thread) for thread in threads[:again]]
            failed = [
                each for each in await asyncio.gather(*turns, return_exceptions=True) if isinstance(each, Exception)
            ]
            assert failed == [], f"{len(failed)} of {again} turns failed"
    expected = [("human", "one"), ("ai", "reone"), ("human", "two"), ("ai", "retwo")]
    async with house.saver() as saver:
        graph = chat(house, saver, "")
        states = await asyncio.gather(*[graph.aget_state(thread) for thread in threads])
    told = [house.told(state.values["messages"]) for state in states]
    assert told == [expected] * SOME + [expected[:2]] * (PEOPLE - SOME)
    house.check()
