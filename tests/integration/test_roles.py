"""Messages of LangChain's class for any role, dicts and pairs: the user's words are the user's, and the model's are answers."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph
from discreet.graph.middleware import MemoryMiddleware
from discreet.redaction import InMemoryTurnVault
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.testing import StrictChatModel, StubEmbeddings

CONFIG: Any = {"configurable": {"thread_id": "t", "user_id": "ann"}}
FORMS = {
    "message": HumanMessage("write to ann@example.com"),
    "user": ChatMessage(role="user", content="write to ann@example.com"),
    "human": ChatMessage(role="Human", content="write to ann@example.com"),
    "dict": {"role": "user", "content": "write to ann@example.com"},
    "pair": ("user", "write to ann@example.com"),
}
Savers = Callable[[], Any]


class Plain(TypedDict):
    """A state whose reducer leaves messages as they come."""

    messages: Annotated[list[Any], operator.add]


def told(message: Any) -> tuple[str, str]:
    return message.type, message.content.partition(":")[0].partition(">")[0]


@asynccontextmanager
async def savers(kind: str, database: str) -> AsyncIterator[Savers]:
    """Yield what makes savers over the same rows, each as of a process of its own."""
    if kind == "memory":
        inner = InMemorySaver()
        yield lambda: RedactingSaver(inner, vault=InMemoryTurnVault())
        return
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        await RedactingSaver.from_pool(storage.pool).setup()
        yield lambda: RedactingSaver.from_pool(storage.pool, vault=InMemoryTurnVault())


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("kind", ["memory", "postgres"])
@pytest.mark.parametrize("schema", [MessagesState, Plain])
async def test_both_sides_of_a_conversation_are_kept_whatever_form_they_have(database, schema, kind, durability):
    def talk(state: Any) -> dict[str, Any]:
        return {"messages": [ChatMessage(role="assistant", content=f"Answer {len(state['messages'])}")]}

    builder = StateGraph(schema).add_node("talk", talk).add_edge(START, "talk")
    async with savers(kind, database) as made:
        for thread, form in FORMS.items():
            config = {"configurable": {"thread_id": thread}}
            for _ in range(2):
                await builder.compile(checkpointer=made()).ainvoke(
                    {"messages": [deepcopy(form)]}, config, durability=durability
                )
            state = await builder.compile(checkpointer=made()).aget_state(config)
            kept = [told(message) for message in state.values["messages"]]
            assert kept == [
                ("human", "write to <EMAIL"),
                ("ai", "Answer 1"),
                ("human", "write to <EMAIL"),
                ("ai", "Answer 3"),
            ], thread


@pytest.mark.parametrize("kind", ["memory", "postgres"])
async def test_a_message_of_any_role_keeps_its_class_while_its_turn_runs(database, kind):
    seen = []

    def talk(state: MessagesState) -> dict[str, Any]:
        seen.append(type(state["messages"][-1]))
        return {"messages": [AIMessage("Done.")]}

    builder = StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk")
    async with savers(kind, database) as made:
        graph = builder.compile(checkpointer=made())
        await graph.ainvoke({"messages": [ChatMessage(role="user", content="Hello")]}, CONFIG)
    assert seen == [ChatMessage]


def template(model: Any, storage: Any, saver: Any) -> Any:
    return build_graph(chat_model=model, log=storage.log).compile(checkpointer=saver)


def agent(model: Any, storage: Any, saver: Any) -> Any:
    return create_agent(model, middleware=[MemoryMiddleware(log=storage.log, model="offline")], checkpointer=saver)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("made", [template, agent])
async def test_template_and_middleware_answer_the_user_in_any_form(database, made, form):
    model = StrictChatModel(answer=lambda messages: AIMessage(f"Answer to {messages[-1].text}"))
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as storage:
        saver = RedactingSaver.from_pool(storage.pool)
        await saver.setup()
        graph = made(model, storage, saver)
        for _ in range(2):
            await graph.ainvoke({"messages": [deepcopy(FORMS[form])]}, CONFIG, context=Context(user_id="ann"))
        logged = await storage.log.read("ann")
        state = await graph.aget_state(CONFIG)
    assert [turn.input_text for turn in logged] == ["write to <EMAIL>"] * 2
    assert [message.type for message in state.values["messages"]] == ["human", "ai"] * 2
    assert isinstance(model.prompts[-1][-1], HumanMessage)
    assert model.prompts[-1][-1].text == "write to ann@example.com"
