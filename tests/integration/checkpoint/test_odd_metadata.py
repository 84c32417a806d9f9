"""Values of metadata and config that no saver can hold stop no run: what the policy names is kept as JSON, alike in RAM and in PostgreSQL."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph

from discreet.checkpoint import KEEP, CheckpointPolicy, RedactingSaver

HOLDS_ITSELF: dict[str, Any] = {}
HOLDS_ITSELF["again"] = HOLDS_ITSELF
LEFT_OUT = object()
VALUES = {
    "uuid": (UUID(int=3), "00000000-0000-0000-0000-000000000003"),
    "datetime": (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
    "date": (date(2026, 1, 2), "2026-01-02"),
    "time": (time(3, 4), "03:04:00"),
    "duration": (timedelta(days=1), "1 day, 0:00:00"),
    "decimal": (Decimal("1.50"), "1.50"),
    "set": ({2, 1}, [1, 2]),
    "pair": ((1, "b"), [1, "b"]),
    "nested": ({"ids": {UUID(int=1)}, 7: [10**20]}, {"ids": [str(UUID(int=1))], "7": [str(10**20)]}),
    "large": (10**30, str(10**30)),
    "small": (-(10**30), str(-(10**30))),
    "endless": (10**5_000, LEFT_OUT),
    "bytes": (b"x", LEFT_OUT),
    "not a number": (float("nan"), LEFT_OUT),
    "infinite": (float("inf"), LEFT_OUT),
    "an object": (threading.Lock(), LEFT_OUT),
    "a class": (UUID, LEFT_OUT),
    "holds itself": (HOLDS_ITSELF, LEFT_OUT),
    "text": ("a\0b", "ab"),
    "none": (None, None),
}
POLICY = CheckpointPolicy(metadata={"kept": KEEP})


def talk(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("Done.")]}


async def kept_by(saver: Any, where: str, value: Any) -> dict[str, Any]:
    """Return the metadata of a turn of two steps whose config has `value` as `kept` in `where`."""
    builder = StateGraph(MessagesState).add_node("one", talk).add_node("two", talk)
    graph = builder.add_edge(START, "one").add_edge("one", "two").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}, "metadata": {}}
    config[where]["kept"] = value
    await graph.ainvoke({"messages": [HumanMessage("Hello")]}, config)
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [message.text for message in state.values["messages"]] == ["Hello", "Done.", "Done."]
    await saver.adelete_thread("t")
    return dict(state.metadata or {})


@pytest.mark.parametrize("where", ["metadata", "configurable"])
async def test_a_value_of_any_kind_stops_no_run_and_is_kept_alike(database, where):
    async with RedactingSaver.from_conn_string(database, policy=POLICY) as postgres:
        await postgres.setup()
        for name, (value, told) in VALUES.items():
            for saver in (postgres, RedactingSaver(InMemorySaver(), policy=POLICY)):
                metadata = await kept_by(saver, where, value)
                assert metadata.get("kept", LEFT_OUT) == told, (name, saver)


async def test_what_no_policy_names_is_left_out_and_stops_nothing(database):
    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        for name, (value, _) in VALUES.items():
            assert "kept" not in await kept_by(saver, "metadata", value), name


async def test_the_stock_saver_runs_with_each_that_json_holds(empty_database):
    """The others it leaves out too, or fails for."""
    async with AsyncPostgresSaver.from_conn_string(empty_database) as saver:
        await saver.setup()
        for name in ("uuid", "datetime", "decimal", "set", "bytes", "an object", "large"):
            metadata = await kept_by(saver, "metadata", VALUES[name][0])
            assert metadata.get("kept") == (10**30 if name == "large" else None), name


@pytest.mark.parametrize("user_id", [10**30, UUID(int=7), 7])
async def test_a_user_may_be_any_whole_number(database, user_id):
    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        builder = StateGraph(MessagesState).add_node("one", talk).add_edge(START, "one")
        config: Any = {"configurable": {"thread_id": "t", "user_id": user_id}}
        await builder.compile(checkpointer=saver).ainvoke({"messages": [HumanMessage("Hello")]}, config)
        assert await saver.aget_tuple({"configurable": {"thread_id": "t"}}) is not None
