"""Nodes that put something else under the id of a user's message, and inputs of every form."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from pydantic import BaseModel

from discreet.checkpoint import RedactingSaver
from discreet.testing import ScriptedChatModel

THREAD: dict[str, Any] = {"configurable": {"thread_id": "1"}}

FORMS = {
    "object": lambda text: [HumanMessage(text)],
    "object with an id": lambda text: [HumanMessage(text, id=f"m-{text}")],
    "dict": lambda text: [{"role": "user", "content": text}],
    "tuple": lambda text: [("user", text)],
    "text": lambda text: text,
}


class Model(BaseModel):
    messages: Annotated[list[Any], add_messages] = []
    question: str = ""


@dataclasses.dataclass
class Data:
    messages: Annotated[list[Any], add_messages] = dataclasses.field(default_factory=list)
    question: str = ""


def add_context(state: Any) -> Any:
    last = state["messages"][-1]
    return {"messages": [HumanMessage(f"raw context. {last.text}", id=last.id)]}


def put_context_first(state: Any) -> Any:
    last = state["messages"][-1]
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("raw context"), last]}


def change_in_place(state: Any) -> Any:
    state["messages"][-1].content = "raw context"
    return {}


@pytest.fixture(params=["memory", "postgres"])
async def inner(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """Yield the saver behind ours; with "async" the first node starts while PostgreSQL stores the input."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    async with AsyncPostgresSaver.from_conn_string(request.getfixturevalue("database")) as saver:
        yield saver


async def talk(build: Any, given: Any, durability: str, inner: Any = None) -> list[str]:
    """Have three turns, and return what another process finds."""
    inner = inner or InMemorySaver()
    graph = build(RedactingSaver(inner))
    for text in ("one", "two", "three"):
        await graph.ainvoke(given(text), THREAD, durability=durability)
    return [m.text for m in (await build(RedactingSaver(inner)).aget_state(THREAD)).values["messages"]]


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("node", [add_context, put_context_first, change_in_place], ids=lambda node: node.__name__)
async def test_the_users_message_is_stored_as_it_came(node, form, durability, inner):
    def build(saver: Any) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("node", node)
        builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
        builder.add_edge(START, "node")
        builder.add_edge("node", "answer")
        return builder.compile(checkpointer=saver)

    told = await talk(build, lambda text: {"messages": FORMS[form](text)}, durability, inner)
    assert told == ["one", "ok", "two", "ok", "three", "ok"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_middleware_that_redacts_loses_no_message(durability):
    def build(saver: Any) -> Any:
        pii = PIIMiddleware("email", strategy="redact", apply_to_input=True)
        return create_agent(
            ScriptedChatModel(responses=[AIMessage("ok")] * 3), [], checkpointer=saver, middleware=[pii]
        )

    told = await talk(build, lambda text: {"messages": [("user", f"{text} a@example.com")]}, durability)
    assert [text.split()[0] for text in told] == ["one", "ok", "two", "ok", "three", "ok"]
    assert "a@example.com" not in str(told)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("schema", [Model, Data])
@pytest.mark.parametrize("field", ["messages", "question"])
async def test_an_input_may_be_an_object(schema, field, durability):
    def take(state: Any) -> Any:
        return {"messages": [HumanMessage(state.question.strip())] if field == "question" else []}

    def build(saver: Any) -> Any:
        builder = StateGraph(schema)
        builder.add_node("take", take)
        builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
        builder.add_edge(START, "take")
        builder.add_edge("take", "answer")
        return builder.compile(checkpointer=saver)

    given = {
        "messages": lambda text: schema(messages=[HumanMessage(text)]),
        "question": lambda text: schema(question=f"{text}\n"),
    }
    assert await talk(build, given[field], durability) == ["one", "ok", "two", "ok", "three", "ok"]


async def test_an_update_as_input_is_the_users():
    inner = InMemorySaver()
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=RedactingSaver(inner))
    await graph.ainvoke({"messages": [("user", "one")]}, THREAD)
    await graph.aupdate_state(THREAD, {"messages": [("user", "two")]}, as_node="__input__")
    await graph.ainvoke(None, THREAD)
    stored = (await builder.compile(checkpointer=RedactingSaver(inner)).aget_state(THREAD)).values["messages"]
    assert [m.text for m in stored] == ["one", "ok", "two", "ok"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_an_answer_stays_where_a_client_sends_its_call_and_result_again(durability):
    """What `invoke` returned has the call of a tool and its result, and what is stored one answer under the result's id."""
    inner = InMemorySaver()

    def build() -> Any:
        calls = [{"name": "look_up", "args": {"query": "raw"}, "id": "c1", "type": "tool_call"}]
        responses = [AIMessage("Let me look.", tool_calls=calls), AIMessage("second")]
        return create_agent(ScriptedChatModel(responses=responses), [look_up], checkpointer=RedactingSaver(inner))

    graph, answer = build(), "Let me look.\n(Answered by the tool look_up.)"
    returned = await graph.ainvoke({"messages": [("user", "one")]}, THREAD, durability=durability)
    assert [message.type for message in returned["messages"]] == ["human", "ai", "tool"]
    await graph.ainvoke({"messages": [*returned["messages"], ("user", "two")]}, THREAD, durability=durability)
    found = (await build().aget_state(THREAD)).values["messages"]
    assert [message.text for message in found] == ["one", answer, "two", "second"]
    assert "raw" not in str(found)


@pytest.mark.parametrize("extra", [{"tool_calls": [{"name": "look_up", "args": {}, "id": "c1"}]}, {"name": "raw"}])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_an_answer_stays_whatever_a_client_adds_to_it(durability, extra):
    inner = InMemorySaver()
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=RedactingSaver(inner))
    first = (await graph.ainvoke({"messages": [("user", "one")]}, THREAD, durability=durability))["messages"]
    sent = [first[0], AIMessage("ok", id=first[1].id, **extra), HumanMessage("two")]
    await graph.ainvoke({"messages": sent}, THREAD, durability=durability)
    found = (await builder.compile(checkpointer=RedactingSaver(inner)).aget_state(THREAD)).values["messages"]
    assert [message.text for message in found] == ["one", "ok", "two", "ok"]
    assert found[1] == AIMessage("ok", id=first[1].id)


@tool(return_direct=True)
def look_up(query: str) -> str:
    """Look something up."""
    return f"raw result of {query}"
