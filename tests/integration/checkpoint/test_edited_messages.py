"""Nodes that put something else under the id of a user's message, and inputs of every form."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
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


async def talk(build: Any, given: Any, durability: str) -> list[str]:
    """Have three turns, and return what another process finds."""
    inner = InMemorySaver()
    graph = build(RedactingSaver(inner))
    for text in ("one", "two", "three"):
        await graph.ainvoke(given(text), THREAD, durability=durability)
    return [m.text for m in (await build(RedactingSaver(inner)).aget_state(THREAD)).values["messages"]]


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("node", [add_context, put_context_first, change_in_place], ids=lambda node: node.__name__)
async def test_the_users_message_is_stored_as_it_came(node, form, durability):
    def build(saver: Any) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("node", node)
        builder.add_node("answer", lambda _: {"messages": [AIMessage("ok")]})
        builder.add_edge(START, "node")
        builder.add_edge("node", "answer")
        return builder.compile(checkpointer=saver)

    told = await talk(build, lambda text: {"messages": FORMS[form](text)}, durability)
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
