"""A stock saver and ours over the same tables, turn by turn: a rolling deployment, and the way back."""

from __future__ import annotations

from typing import Annotated, Any

import psycopg
import pytest
from kit.planter import Planter
from kit.search import in_rows
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from discreet.checkpoint import CheckpointPolicy, RedactingSaver

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}
IMAGE = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,cmF3"}}]
RAW = Planter().raw("said")
THINKING = [
    {"type": "thinking", "thinking": f"{RAW} thought", "signature": "x"},
    {"type": "text", "text": "thought over"},
]
CALLS = [{"name": "look_up", "args": {"query": RAW}, "id": "c1"}]
SHAPES: dict[str, tuple[Any, list[BaseMessage]]] = {
    "plain text": ("I am anna@example.com", [AIMessage("Hello anna@example.com")]),
    "tool calls": (
        "look",
        [
            AIMessage(f"{RAW} plan", tool_calls=CALLS),
            ToolMessage(f"{RAW} result", tool_call_id="c1"),
            AIMessage("found"),
        ],
    ),
    "a system message": ("hello", [SystemMessage(f"{RAW} prompt"), AIMessage("hi")]),
    "an image": (IMAGE, [AIMessage("a picture")]),
    "thinking": ("think", [AIMessage(THINKING)]),  # type: ignore[arg-type]  # blocks as Anthropic has them
    "metadata": ("hello", [AIMessage("hi", response_metadata={"model": f"{RAW} model"}, name=f"{RAW} name")]),
}

GROWING = DeltaChannel(lambda before, writes: [*before, *(m for write in writes for m in write)], list)


class DeltaState(TypedDict):
    messages: Annotated[list[Any], GROWING]


def graph(saver: Any, said: list[BaseMessage], seen: list[str]) -> Any:
    def answer(state: MessagesState) -> Any:
        seen[:] = [
            f"{message.type}: {message.text}" for message in state["messages"] if message.type in {"human", "ai"}
        ]
        return {"messages": said}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_turns_of_a_stock_saver_and_of_ours_are_one_conversation(empty_database, shape, durability):
    given, said = SHAPES[shape]
    seen: list[str] = []
    async with (
        AsyncPostgresSaver.from_conn_string(empty_database) as stock,
        RedactingSaver.from_conn_string(empty_database) as ours,
    ):
        await stock.setup()
        await ours.setup()
        for number, saver in enumerate([stock, ours, stock, ours]):
            answers = [m.model_copy(update={"id": f"{number}-{at}"}) for at, m in enumerate(said)]
            await graph(saver, answers, seen).ainvoke(
                {"messages": [HumanMessage(given)]}, THREAD, durability=durability
            )
            humans = [line for line in seen if line.startswith("human")]
            assert len(humans) == number + 1, f"turn {number} sees those before it"
        assert len((await graph(ours, [], seen).aget_state(THREAD)).values["messages"]) == 8
        await ours.aprune(["1"])
    assert in_rows(empty_database, raw=RAW, mail="anna@example.com") == {}


@pytest.mark.slow
async def test_a_pause_of_a_stock_saver_is_answered_under_ours(empty_database):
    def ask(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"you said {interrupt(f'{RAW} question')}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    async with (
        AsyncPostgresSaver.from_conn_string(empty_database) as stock,
        RedactingSaver.from_conn_string(empty_database) as ours,
    ):
        await stock.setup()
        await ours.setup()
        await builder.compile(checkpointer=stock).ainvoke({"messages": [HumanMessage("hello")]}, THREAD)
        out = await builder.compile(checkpointer=ours).ainvoke(Command(resume="yes"), THREAD)
        assert [m.text for m in out["messages"]] == ["hello", "you said yes"]
        await ours.aprune(["1"])
    assert in_rows(empty_database, question=RAW) == {}


async def test_with_the_guard_a_thread_is_stored_by_row_and_a_stock_saver_refused(empty_database):
    seen: list[str] = []
    tools = SHAPES["tool calls"][1]
    async with (
        AsyncPostgresSaver.from_conn_string(empty_database) as stock,
        RedactingSaver.from_conn_string(empty_database) as ours,
    ):
        await stock.setup()
        await ours.setup()
        for text in ("one", "two"):
            await graph(ours, [AIMessage(f"re{text}")], seen).ainvoke({"messages": [HumanMessage(text)]}, THREAD)
        with psycopg.connect(empty_database) as connection:
            assert connection.execute("SELECT count(*) FROM checkpoint_messages").fetchone() == (0,)
        await ours.setup(guard=True)
        await graph(ours, [AIMessage("rethree")], seen).ainvoke({"messages": [HumanMessage("three")]}, THREAD)
        with psycopg.connect(empty_database) as connection:
            stored = connection.execute("SELECT content FROM checkpoint_messages ORDER BY position").fetchall()
        assert [content for (content,) in stored] == ["one", "reone", "two", "retwo", "three", "rethree"]
        with pytest.raises(psycopg.errors.CheckViolation):
            await graph(stock, tools, seen).ainvoke({"messages": [HumanMessage("four")]}, THREAD)


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_stock_thread_of_delta_channels_goes_on(empty_database, durability):
    seen: list[str] = []

    def answer(state: DeltaState) -> Any:
        seen[:] = [message.text for message in state["messages"]]
        return {"messages": [AIMessage(f"answer {len(seen)}")]}

    builder = StateGraph(DeltaState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    policy = CheckpointPolicy(deltas={"messages": GROWING})
    async with (
        AsyncPostgresSaver.from_conn_string(empty_database) as stock,
        RedactingSaver.from_conn_string(empty_database, policy) as ours,
    ):
        await stock.setup()
        await ours.setup()
        for number, saver in enumerate([stock, stock, ours, stock, ours]):
            given = {"messages": [HumanMessage(f"hello {number}")]}
            await builder.compile(checkpointer=saver).ainvoke(given, THREAD, durability=durability)
            assert len(seen) == 2 * number + 1
        await ours.aprune(["1"])
        stored = (await builder.compile(checkpointer=ours).aget_state(THREAD)).values["messages"]
    assert [m.text for m in stored] == [text for n in range(5) for text in (f"hello {n}", f"answer {2 * n + 1}")]


@pytest.mark.parametrize("kind", ["ours", "stock"])
async def test_writes_are_read_in_the_order_of_their_tasks_whichever_process_wrote_them(empty_database, kind):
    opened: Any = RedactingSaver if kind == "ours" else AsyncPostgresSaver
    made = empty_checkpoint()
    made["channel_values"] = {"messages": [HumanMessage("one", id="1")]}
    made["channel_versions"] = {"messages": "1"}
    place: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    writes = {"late": "~__pregel_pull, b", "early": "~__pregel_pull, a"}
    async with (
        AsyncPostgresSaver.from_conn_string(empty_database) as first,
        opened.from_conn_string(empty_database) as second,
    ):
        await second.setup()
        where = await first.aput(place, made, {"source": "input", "step": -1, "parents": {}}, {"messages": "1"})
        for saver, (task, path) in zip((first, second), writes.items(), strict=True):
            await saver.aget_tuple(where)
            await saver.aput_writes(where, [("messages", [AIMessage(task, id=task)])], task, path)
        found = await second.aget_tuple(where)
    assert found is not None
    assert [task for task, _, _ in found.pending_writes or ()] == ["early", "late"]
