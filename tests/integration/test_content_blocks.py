"""Messages in blocks, to the user's own words and the model's answers: what stands at a block's end reaches no table."""

from __future__ import annotations

import random
from typing import Any

import pytest
from kit import values
from kit.blocks import in_blocks
from kit.places import rows
from kit.search import Words, search
from kit.values import Chance
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from testkit.scanning import scan, scrub

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.state.context import Context
from discreet.state.message_text import text_of
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel, StubEmbeddings

KINDS = {"card": values.card, "phone": values.phone, "iban": values.iban, "ip": values.ip}


def planted(kind: str, side: str) -> str:
    """Return a value of a kind that one side says, and no other place has."""
    serial = 2 * [*KINDS].index(kind) + (side == "answered")
    return KINDS[kind](Chance(serial, random.Random(serial)))


WORDS = {f"{kind} {side}": planted(kind, side) for kind in KINDS for side in ("said", "answered")}


def contents(side: str) -> list[Any]:
    """Return one message a way of standing in blocks, each with all kinds of values."""
    by_kind = [dict(in_blocks(planted(kind, side))) for kind in KINDS]
    names = [name for name in by_kind[0] if all(name in each for each in by_kind)]
    return [[block for each in by_kind for block in each[name]] for name in names]


SAID, ANSWERED = contents("said"), contents("answered")


def left_in(dsn: str) -> set[str]:
    """Return the names of values that stand in a table."""
    return set(search(rows(dsn), Words(values=WORDS)).leaks)


def answers() -> list[AIMessage]:
    return [AIMessage([each for each in content if not _is_image(each)]) for content in ANSWERED]


def _is_image(block: Any) -> bool:
    return isinstance(block, dict) and block["type"] == "image"


def parrot(state: MessagesState) -> dict[str, list[AnyMessage]]:
    """Answer with what stands beside the user's message in the list of turns."""
    told = sum(isinstance(message, HumanMessage) for message in state["messages"])
    return {"messages": [answers()[told - 1]]}


def stock(saver: Any) -> Any:
    return StateGraph(MessagesState).add_node("parrot", parrot).add_edge(START, "parrot").compile(checkpointer=saver)


async def talk(graph: Any, **given: Any) -> Any:
    for number, content in enumerate(SAID):
        message = HumanMessage([each for each in content if not _is_image(each)], id=f"m{number}")
        state = await graph.ainvoke(
            {"messages": [message]}, {"configurable": {"thread_id": "t", "user_id": "ann"}}, **given
        )
    return state["messages"]


@pytest.mark.dialect
async def test_the_checkpointer_keeps_none(database):
    async with RedactingSaver.from_conn_string(database) as saver:
        await saver.setup()
        await talk(stock(saver))
    async with RedactingSaver.from_conn_string(database, restore=False) as saver:
        state = await stock(saver).aget_state({"configurable": {"thread_id": "t"}})
    assert left_in(database) == set()
    assert len(state.values["messages"]) == 2 * len(SAID)
    assert all("<CARD" in text_of(message) for message in state.values["messages"])


@pytest.fixture
async def storage(database):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        yield storage


async def test_the_template_keeps_none(storage, database):
    saver = RedactingSaver.from_pool(storage.pool)
    await saver.setup()
    model = ScriptedChatModel(responses=answers())
    built = build_graph(chat_model=model, memories=storage.memories, log=storage.log)
    shown = await talk(built.compile(checkpointer=saver), context=Context(user_id="ann"))
    logged = await storage.log.read("ann")
    assert left_in(database) == set()
    assert len(logged) == len(SAID)
    assert all("<CARD>" in turn.input_text and "<CARD>" in turn.output_text for turn in logged)
    stored = (await built.compile(checkpointer=saver).aget_state({"configurable": {"thread_id": "t"}})).values[
        "messages"
    ]
    assert [text_of(message) for message in stored] == [text_of(message) for message in shown]
    said = planted("card", "said")
    assert any(said in text_of(message) for message in model.prompts[0])  # the model has the real one


async def test_an_agent_with_the_middleware_keeps_none(storage, database):
    saver = RedactingSaver.from_pool(storage.pool)
    await saver.setup()
    middleware = MemoryMiddleware(memories=storage.memories, log=storage.log, model="offline")
    model = ScriptedChatModel(responses=answers())
    await talk(create_agent(model, middleware=[middleware], checkpointer=saver))
    assert left_in(database) == set()
    assert len(await storage.log.read("ann")) == len(SAID)


async def test_a_scrub_leaves_none_that_it_found(empty_database):
    async with AsyncPostgresSaver.from_conn_string(empty_database) as saver:
        await saver.setup()
        await talk(stock(saver))
    assert left_in(empty_database) == set(WORDS)
    assert scrub(empty_database).changed > 0
    assert left_in(empty_database) == set()
    assert scan(empty_database).types == {}
    assert scrub(empty_database).changed == 0
