"""A graph that clears its conversation, in every way that there is: what went doesn't come back, as over LangGraph's own saver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import interrupt
from testkit.roles import logins

from discreet.checkpoint import RedactingSaver, RedactingSyncSaver, ScratchLimits
from discreet.encryption import Keyring, make_key

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}
REMOVE_ALL = RemoveMessage(id=REMOVE_ALL_MESSAGES)

CLEARINGS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "nothing stays": lambda _: [REMOVE_ALL],
    "one by one": lambda there: [RemoveMessage(id=message.id) for message in there],
    "all but the last": lambda there: [REMOVE_ALL, there[-1]],
    "the model says so": lambda _: [REMOVE_ALL, AIMessage("Cleared.")],
    "one by one, and the model says so": lambda there: [
        *(RemoveMessage(id=m.id) for m in there),
        AIMessage("Cleared."),
    ],
    "the system says so": lambda _: [REMOVE_ALL, SystemMessage("Conversation was reset."), AIMessage("Cleared.")],
    "a human message says so": lambda _: [REMOVE_ALL, HumanMessage("Conversation was reset.")],
    "a human message and the model say so": lambda _: [
        REMOVE_ALL,
        HumanMessage("Conversation was reset."),
        AIMessage("Cleared."),
    ],
    "one by one, and a human message says so": lambda there: [
        *(RemoveMessage(id=message.id) for message in there),
        HumanMessage("Conversation was reset."),
        AIMessage("Cleared."),
    ],
}


class Chat:
    """Answers each message; `/clear` clears. It notes what each turn begins with."""

    def __init__(self, clear: Callable[[list[Any]], list[Any]]) -> None:
        self.clear = clear
        self.began: list[list[str]] = []
        self.fails = False

    def over(self, saver: Any) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("answer", self.answer)
        builder.add_node("after", self.after)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", "after")
        return builder.compile(checkpointer=saver)

    def answer(self, state: MessagesState) -> Any:
        messages = state["messages"]
        self.began.append([str(message.text) for message in messages])
        if "ask" in messages[-1].text:
            return {"messages": [AIMessage(f"answer to {interrupt('which?')}")]}
        if messages[-1].text in {"/clear", "clear and fail"}:
            return {"messages": self.clear(messages)}
        return {"messages": [AIMessage(f"answer to {messages[-1].text}")]}

    def after(self, state: MessagesState) -> Any:
        if self.fails:
            raise LookupError
        return {}

    async def play(self, saver: Callable[[], Any], durability: Any, turns: list[str]) -> list[str]:
        """Have the turns, each in a process of its own; return what the last one began with."""
        for text in turns:
            self.fails = "fail" in text
            with pytest.raises(LookupError) if self.fails else nullcontext():
                await self.over(saver()).ainvoke({"messages": [HumanMessage(text)]}, THREAD, durability=durability)
        return self.began[-1]


@pytest.fixture(params=["memory", "postgres", "shared tables"])
async def inner(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """Yield the saver behind ours; in shared tables other savers find the conversation as they store it themselves."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    shared = request.param == "shared tables"
    dsn = request.getfixturevalue("empty_database" if shared else "database")
    async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
        if shared:
            await saver.setup()
            await RedactingSaver(saver).setup()
        yield saver


def old(texts: list[str]) -> list[str]:
    """Return which words of before the clearing are there."""
    return [text for text in texts if "one" in text or "two" in text or text == "/clear"]


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("restarts", [True, False])
@pytest.mark.parametrize("way", CLEARINGS)
async def test_what_a_graph_cleared_does_not_come_back(way, restarts, durability, inner):
    turns = ["one", "two", "/clear", "three", "four"]
    stock, chat = Chat(CLEARINGS[way]), Chat(CLEARINGS[way])
    one = InMemorySaver()
    expected = await stock.play(lambda: one, durability, turns)
    ours = RedactingSaver(inner)
    seen = await chat.play(lambda: RedactingSaver(inner) if restarts else ours, durability, turns)
    assert old(seen) == old(expected)
    assert seen[-3:] == expected[-3:] == ["three", "answer to three", "four"]
    told = (await chat.over(RedactingSaver(inner)).aget_state(THREAD)).values["messages"]
    assert old([str(message.text) for message in told]) == old(expected)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_what_was_cleared_stays_so_when_the_next_turn_fails(durability, inner):
    chat = Chat(CLEARINGS["a human message and the model say so"])
    seen = await chat.play(lambda: RedactingSaver(inner), durability, ["one", "/clear", "fail", "three"])
    assert old(seen) == []


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_what_was_cleared_stays_so_when_its_own_turn_fails(durability, inner):
    chat, saver = Chat(CLEARINGS["a human message and the model say so"]), RedactingSaver(inner)
    await chat.play(lambda: saver, durability, ["one", "clear and fail", "three"])
    assert old(await chat.play(lambda: RedactingSaver(inner), durability, ["four"])) == []


@pytest.mark.parametrize("way", ["nothing stays", "a human message and the model say so"])
async def test_a_caller_clears_too(way, inner):
    chat = Chat(CLEARINGS[way])
    graph = chat.over(RedactingSaver(inner))
    await graph.ainvoke({"messages": [HumanMessage("one")]}, THREAD)
    await graph.aupdate_state(THREAD, {"messages": CLEARINGS[way]([])})
    assert old(await chat.play(lambda: RedactingSaver(inner), "async", ["three"])) == []


LANGGRAPHS = ("checkpoint_writes", "checkpoint_blobs", "checkpoints")
"""The tables that programs know of, in an order in which they delete from them."""
KEPT = {"messages": 0, "pauses": 0, "owners": 0}


def clear(dsn: str, *tables: str, thread_id: str = "1", also: str = "") -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT set_config('discreet.thread', %s, true)", (thread_id,))
        found = connection.execute("SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'checkpoints'")
        [(schema,)] = found.fetchall()
        for table in tables:
            connection.execute(f"DELETE FROM {schema}.{table} WHERE thread_id = %s {also}", (thread_id,))


def kept(dsn: str, thread_id: str = "1") -> dict[str, int]:
    """Return how many rows of ours a thread has; of an owner that is somebody."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM checkpoint_messages WHERE thread_id = %(id)s),"
            " (SELECT count(*) FROM checkpoint_spill WHERE thread_id = %(id)s),"
            " (SELECT count(*) FROM checkpoint_threads WHERE thread_id = %(id)s AND user_key <> %(nobody)s)",
            {"id": thread_id, "nobody": "00000000-0000-0000-0000-000000000000"},
        ).fetchone()
    return dict(zip(KEPT, row or (), strict=True))


@pytest.fixture
def chat() -> Chat:
    return Chat(CLEARINGS["nothing stays"])


@pytest.mark.dialect
@pytest.mark.parametrize(
    "order", [LANGGRAPHS, LANGGRAPHS[::-1], ["checkpoints"]], ids=["writes first", "last", "alone"]
)
async def test_a_chat_that_a_program_clears_by_sql_is_gone(database, chat, order):
    async with RedactingSaver.from_conn_string(database, scratch=ScratchLimits(keep_closed=5)) as saver:
        graph = chat.over(saver)
        other = {"configurable": {"thread_id": "2"}}
        for thread in (THREAD, other):
            await graph.ainvoke({"messages": [HumanMessage("one")]}, thread)
        clear(database, *order)
        assert kept(database) == KEPT
        assert (await graph.aget_state(THREAD)).values == {}
        assert await chat.play(lambda: saver, "async", ["three"]) == ["three"]
        assert len((await graph.aget_state(other)).values["messages"]) == 2
    assert kept(database) == {"messages": 2, "pauses": 0, "owners": 1}
    assert kept(database, "2")["owners"] == 1


async def test_what_waits_for_a_person_goes_with_it(database, chat):
    async with RedactingSaver.from_conn_string(database, keys=Keyring([make_key()])) as saver:
        graph = chat.over(saver)
        await graph.ainvoke({"messages": [HumanMessage("ask")]}, THREAD)
        assert kept(database)["pauses"] == 1
        clear(database, *LANGGRAPHS)
        assert kept(database) == KEPT
        assert (await graph.aget_state(THREAD)).next == ()
        assert await chat.play(lambda: saver, "async", ["three"]) == ["three"]


async def test_a_thread_of_which_a_checkpoint_is_left_keeps_its_messages(database, chat):
    async with RedactingSaver.from_conn_string(database) as saver:
        await chat.play(lambda: saver, "async", ["one", "two"])
        newest = (await chat.over(saver).aget_state(THREAD)).config["configurable"]["checkpoint_id"]
        clear(database, "checkpoints", also=f"AND checkpoint_id <> '{newest}'")
        assert await chat.play(lambda: saver, "async", ["three"]) == [
            "one",
            "answer to one",
            "two",
            "answer to two",
            "three",
        ]


def test_a_stock_saver_deletes_all_of_a_thread(database, chat):
    with RedactingSyncSaver.from_conn_string(database) as saver, PostgresSaver.from_conn_string(database) as stock:
        graph = chat.over(saver)
        graph.invoke({"messages": [HumanMessage("one")]}, THREAD)
        stock.delete_thread("1")
        assert kept(database) == KEPT
        graph.invoke({"messages": [HumanMessage("three")]}, THREAD)
        assert chat.began[-1] == ["three"]


async def test_all_threads_go_at_once(database, chat):
    async with RedactingSaver.from_conn_string(database) as saver:
        await chat.play(lambda: saver, "async", ["one", "two"])
        with psycopg.connect(database) as connection:
            connection.execute("TRUNCATE checkpoints, checkpoint_blobs, checkpoint_writes")
        assert kept(database) == KEPT
        assert await chat.play(lambda: saver, "async", ["three"]) == ["three"]


async def test_the_application_clears_a_thread_that_it_names(database, chat):
    app = (await asyncio.to_thread(logins, database)).app
    async with RedactingSaver.from_conn_string(app) as saver:
        graph = chat.over(saver)
        for thread in (THREAD, {"configurable": {"thread_id": "2"}}):
            await graph.ainvoke({"messages": [HumanMessage("one")]}, thread)
        clear(app, *LANGGRAPHS)
        assert kept(database) == KEPT
        assert kept(database, "2")["messages"] == 2
        assert await chat.play(lambda: saver, "async", ["three"]) == ["three"]
