"""Listings of a saver's own: which checkpoints they have, by config, filter, `before` and limit, is what LangGraph's savers say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver

POLICY = CheckpointPolicy(metadata={"tag": KEEP})
IN_BETWEEN = {0, 3}
"""Steps of the middle of a turn, which only LangGraph's savers store."""
THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}

ASKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "all threads": (None, {}),
    "an empty config": ({}, {}),
    "a thread": (THREAD, {}),
    "a thread that isn't there": ({"configurable": {"thread_id": "none"}}, {}),
    "a namespace": ({"configurable": {"thread_id": "1", "checkpoint_ns": "none"}}, {}),
    "a source": (THREAD, {"filter": {"source": "input"}}),
    "a step of all threads": (None, {"filter": {"step": 4}}),
    "two of metadata": (None, {"filter": {"source": "loop", "tag": "two"}}),
    "metadata that is nowhere": (THREAD, {"filter": {"tag": "three"}}),
    "an empty filter": (THREAD, {"filter": {}}),
    "before": (THREAD, {"before": "newest"}),
    "none": (THREAD, {"limit": 0}),
}


async def two_threads(saver: Any) -> dict[str, Any]:
    """Have two turns in each of two threads; return the config of the newest checkpoint of the first."""
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    for thread_id in ("1", "2"):
        for text in ("one", "two"):
            config = {"configurable": {"thread_id": thread_id}, "metadata": {"tag": text}}
            await graph.ainvoke({"messages": [HumanMessage(text)]}, config)
    newest: dict[str, Any] = (await graph.aget_state(THREAD)).config
    return newest


async def listed(saver: Any, newest: Any, config: Any, options: dict[str, Any]) -> list[Any]:
    given = {name: newest if value == "newest" else value for name, value in options.items()}
    found = [item async for item in saver.alist(config, **given)]
    told = [
        (item.config["configurable"]["thread_id"], item.metadata["source"], item.metadata["step"]) for item in found
    ]
    return [each for each in told if each[2] not in IN_BETWEEN]


@pytest.fixture(params=["memory", "postgres"])
async def savers(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Any, Any]]:
    """Yield a saver of LangGraph's and ours, each with the same two threads in rows of its own."""
    if request.param == "memory":
        yield InMemorySaver(), RedactingSaver(InMemorySaver(), policy=POLICY)
        return
    stock_dsn, our_dsn = request.getfixturevalue("empty_database"), request.getfixturevalue("database")
    async with (
        AsyncPostgresSaver.from_conn_string(stock_dsn) as stock,
        RedactingSaver.from_conn_string(our_dsn, POLICY) as ours,
    ):
        await stock.setup()
        yield stock, ours


async def test_a_listing_has_what_that_of_langgraphs_saver_has(savers):
    stock, ours = savers
    newest = {saver: await two_threads(saver) for saver in savers}
    for what, (config, options) in ASKED.items():
        expected = await listed(stock, newest[stock], config, options)
        assert await listed(ours, newest[ours], config, options) == expected, what
    whole = await listed(ours, newest[ours], None, {})
    assert await listed(ours, newest[ours], {}, {"limit": 3}) == whole[:3]
    for unnamed in ({"configurable": {}}, {"metadata": {}}):
        for saver in savers:
            with pytest.raises(KeyError):
                await listed(saver, newest[saver], unnamed, {})
    assert len(await listed(ours, newest[ours], {"configurable": {"thread_id": 1}}, {})) == 4, "a number is its digits"
