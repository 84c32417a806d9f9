"""An application with channels of its own: what is not kept is said once, with the line that keeps it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel

from discreet.checkpoint import KEEP, REDACT, CheckpointPolicy, RedactingSaver, RedactingSyncSaver
from discreet.checkpoint.migrating import migrate_checkpoints
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.testing import InMemoryMemories, ScriptedChatModel

THREAD: Any = {"configurable": {"thread_id": "shop"}}
Said = Annotated[list[AnyMessage], add_messages]
Shop = Any


@pytest.fixture
def names() -> tuple[str, str]:
    """Names that this process has not told yet."""
    return f"cart_{uuid4().hex[:8]}", f"locale_{uuid4().hex[:8]}"


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    """Return what finds what was said of channels."""
    with caplog.at_level(logging.WARNING, "discreet.checkpoint"):
        yield lambda: [each for each in caplog.records if "channels_not_kept" in each.message]


def shop(names: tuple[str, str], **more: Any) -> StateGraph[Any, Any, Any, Any]:
    """Return a graph that sets both channels in its first turn, and says what they are."""
    cart, locale = names
    schema: Any = TypedDict("Shop", {"messages": Said, cart: list[str], locale: str, **more})  # type: ignore[misc]  # its names are drawn

    def say(state: Any) -> Any:
        answer = AIMessage(f"{state.get(cart)} {state.get(locale)}")
        return {"messages": [answer], **({} if state.get(cart) else {cart: ["pear"], locale: "en"})}

    return StateGraph(schema).add_node("say", say).add_edge(START, "say")


async def turn(graph: Any, text: str = "Hello", thread: Any = THREAD) -> str:
    said = await graph.ainvoke({"messages": [("user", text)]}, thread)
    return str(said["messages"][-1].content)


async def test_channels_that_are_not_kept_are_named_once_with_the_line_that_keeps_them(names: Any, told: Any) -> None:
    for _ in range(2):  # a saver a request is no reason to say it again
        graph = shop(names).compile(checkpointer=RedactingSaver(InMemorySaver()))
        assert await turn(graph) == await turn(graph) == "None None"
    [once] = told()
    assert once.channels == ",".join(names)
    assert f'CheckpointPolicy(channels={{"{names[0]}": REDACT, "{names[1]}": REDACT}})' in once.message
    assert "pear" not in once.message


async def test_the_line_keeps_them(names: Any, told: Any) -> None:
    await turn(shop(names).compile(checkpointer=RedactingSaver(InMemorySaver())))
    line = told()[0].message.partition("policy=")[2].rstrip(".")
    policy = eval(line, {"CheckpointPolicy": CheckpointPolicy, "REDACT": REDACT})
    graph = shop(names).compile(checkpointer=RedactingSaver(InMemorySaver(), policy=policy))
    assert [await turn(graph), await turn(graph)] == ["None None", "['pear'] en"]
    assert len(told()) == 1


def test_the_sync_twin_says_it_too(names: Any, told: Any) -> None:
    graph = shop(names).compile(checkpointer=RedactingSyncSaver(InMemorySaver()))
    graph.invoke({"messages": [("user", "Hello")]}, THREAD)
    assert len(told()) == 1


async def test_a_new_name_is_said_with_the_others(names: Any, told: Any) -> None:
    other = f"plan_{uuid4().hex[:8]}"
    kept = RedactingSaver(InMemorySaver(), policy=CheckpointPolicy(channels={names[1]: KEEP}))
    await turn(shop(names).compile(checkpointer=kept))
    graph = shop(names, **{other: str}).compile(checkpointer=RedactingSaver(InMemorySaver()))
    await graph.ainvoke({"messages": [("user", "Hello")], other: "travel"}, THREAD)
    assert [each.channels.split(",") for each in told()] == [[names[0]], sorted([*names, other])]


async def test_of_an_object_it_is_said_that_no_policy_keeps_it(names: Any, told: Any) -> None:
    other = f"order_{uuid4().hex[:8]}"
    graph = shop(names, **{other: Any}).compile(checkpointer=RedactingSaver(InMemorySaver()))
    await graph.ainvoke({"messages": [("user", "Hello")], other: Order()}, THREAD)
    [once] = told()
    assert f"No policy keeps {other}:" in once.message
    assert f'"{other}"' not in once.message


class Order(BaseModel):
    item: str = "pear"


async def test_nothing_is_said_of_what_is_langgraphs_ours_or_a_counter(told: Any) -> None:
    memories = InMemoryMemories()
    plain = ScriptedChatModel(responses=[AIMessage("Hi"), AIMessage("Hi again")])
    limits = ModelCallLimitMiddleware(thread_limit=10)
    for agent in (
        create_agent(plain, middleware=[limits], checkpointer=RedactingSaver(InMemorySaver())),
        create_agent(
            ScriptedChatModel(responses=[AIMessage("Hi"), AIMessage("Hi again")]),
            middleware=[MemoryMiddleware(memories=memories)],
            checkpointer=RedactingSaver(InMemorySaver()),
        ),
        build_graph(chat_model="offline", memories=memories).compile(checkpointer=RedactingSaver(InMemorySaver())),
    ):
        for text in ("I like tea", "What do I like?"):
            await turn(agent, text, {"configurable": {"thread_id": "t", "user_id": "ann"}})

    @entrypoint(checkpointer=RedactingSaver(InMemorySaver()))
    async def flow(given: str) -> str:
        return given

    await flow.ainvoke("Hello", THREAD)
    assert told() == []


async def test_an_own_channel_that_is_called_as_ours_is_said(told: Any) -> None:
    class Own(TypedDict):
        messages: Said
        memories: list[str]

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(Own)
    graph.add_node("say", lambda _: {"messages": [AIMessage("Hi")], "memories": ["of its own"]}).add_edge(START, "say")
    await turn(graph.compile(checkpointer=RedactingSaver(InMemorySaver())))
    assert [each.channels for each in told()] == ["memories"]


async def by_saver(dsn: str) -> None:
    async with RedactingSaver.from_conn_string(dsn) as saver:
        await saver.setup()


async def by_sync_saver(dsn: str) -> None:
    with RedactingSyncSaver.from_conn_string(dsn) as saver:
        saver.setup()


async def by_migration(dsn: str) -> None:
    await migrate_checkpoints(dsn)


@pytest.mark.parametrize("set_up", [by_saver, by_sync_saver, by_migration])
async def test_who_adopts_a_database_is_told_as_its_tables_are_made(
    empty_database: str, names: Any, told: Any, set_up: Callable[[str], Awaitable[None]]
) -> None:
    async with AsyncPostgresSaver.from_conn_string(empty_database) as stock:
        await stock.setup()
        await turn(shop(names).compile(checkpointer=stock))
    for _ in range(2):
        await set_up(empty_database)
    [once] = told()
    assert once.channels == ",".join(names)
    assert f'"{names[0]}": REDACT' in once.message
