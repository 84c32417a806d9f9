"""What a graph streams is what it streams over LangGraph's own saver, but for ids and times."""

import re

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from discreet.checkpoint import RedactingSaver
from discreet.state.conversation import InputState

THREAD = {"configurable": {"thread_id": "1"}}
MODES = ["values", "updates", "messages", "custom", "checkpoints", "tasks", "debug"]
TURNS = ["hello there", "use:note please", "use:ask please", Command(resume="a free answer"), "thanks a lot"]

VARIABLE = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<hash>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(\+00:00|Z)"), "<time>"),
)


def shape(value):
    """Return `value` as text without what differs from run to run."""
    text = repr(plain(value))
    for pattern, name in VARIABLE:
        text = pattern.sub(name, text)
    return text


def plain(value):
    if isinstance(value, BaseMessage):
        calls = [call["name"] for call in getattr(value, "tool_calls", ())]
        return (value.type, value.content, calls)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in {"call-id", "tool_call_chunks"}}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return re.sub(r"call-[0-9a-f]+", "<call>", value) if isinstance(value, str) else value


def with_subgraph(shop, saver):
    """The shop as a subgraph's node, behind a node that writes to the stream."""

    def first(_):
        get_stream_writer()({"progress": "raw half"})
        return {}

    builder = StateGraph(InputState)
    builder.add_node("first", first)
    builder.add_node("shop", shop.loop(None))
    builder.add_edge(START, "first")
    builder.add_edge("first", "shop")
    return builder.compile(checkpointer=saver)


async def streamed(talk, turns, **options):
    chunks = []
    for turn in turns:
        given = turn if isinstance(turn, Command) else {"messages": [("user", turn)]}  # nothing to redact
        chunks.append([shape(chunk) async for chunk in talk.stream(given, **options)])
    return chunks


# The second turn's tools are no part of the third turn's history, so turns with tools come last or alone.
@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("mode", [*MODES, MODES], ids=[*MODES, "all"])
@pytest.mark.parametrize("turns", [TURNS[:2], [TURNS[0], *TURNS[2:4]]], ids=["tools", "pause"])
async def test_every_mode_streams_what_it_streams_over_the_stock_saver(rows, stock, shop, mode, turns):
    ours = await streamed(rows.talk(shop.loop), turns, stream_mode=mode)
    theirs = await streamed(stock.talk(shop.loop), turns, stream_mode=mode)
    assert ours == theirs


@pytest.mark.fast_cases(2)
async def test_subgraphs_stream_what_they_stream_over_the_stock_saver(rows, stock, shop):
    options = {"stream_mode": MODES, "subgraphs": True}
    turns = [TURNS[0], *TURNS[2:4]]

    def make(saver):
        return with_subgraph(shop, saver)

    ours = await streamed(rows.talk(make), turns, **options)
    theirs = await streamed(stock.talk(make), turns, **options)
    assert ours == theirs


@pytest.mark.fast_cases(2)
async def test_a_stream_does_not_depend_on_durability_more_than_stock(rows, stock, shop, durability):
    options = {"stream_mode": MODES, **durability}
    turns = [TURNS[0], *TURNS[2:4]]
    ours = await streamed(rows.talk(shop.loop), turns, **options)
    theirs = await streamed(stock.talk(shop.loop), turns, **options)
    assert ours == theirs


async def test_events_are_those_over_the_stock_saver(shop):
    async def events(saver):
        graph, found = shop.loop(saver), []
        for text in TURNS[:2]:
            found += [
                shape(event)
                async for event in graph.astream_events({"messages": [("user", text)]}, THREAD, version="v2")
            ]
        return found

    assert await events(RedactingSaver(InMemorySaver())) == await events(InMemorySaver())


async def test_a_later_turn_streams_the_stored_conversation(rows, shop):
    await rows.talk(shop.loop).invoke(shop.say("use:note please"))
    first, *_ = [chunk async for chunk in rows.talk(shop.loop).stream(shop.say("thanks a lot"), stream_mode="values")]
    assert [message.type for message in first["messages"]] == ["human", "ai", "human"]
    assert [shop.email in message.text for message in first["messages"]] == [True, False, True]
