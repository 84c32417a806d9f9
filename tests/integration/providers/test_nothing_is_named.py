"""A key in the environment names no provider: first runs of a program send nothing anywhere."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from discreet.checkpoint import RedactingSaver
from discreet.graph import build_graph, drain
from discreet.graph.middleware import MemoryMiddleware
from discreet.state.context import Context
from discreet.storage import open_storage
from discreet.testing import ScriptedChatModel, openai_server

SAID = ["I keep two African Grey parrots.", "Which birds do I keep?", "And what do they eat?", *["Tell me more."] * 5]


@pytest.fixture
def provider(monkeypatch):
    """A key, and a server that notes what it is asked."""
    with openai_server([AIMessage(f"Answer {number}.") for number in range(50)]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "k" * 40)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


async def template(storage):
    """A conversation with the template, long enough for a rolling summary and with a picture that says what it shows."""
    builder = build_graph(memories=storage.memories, log=storage.log, summaries=storage.summaries)
    graph = builder.compile(checkpointer=RedactingSaver.from_pool(storage.pool))
    picture = {"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png", "extras": {"caption": "A parrot."}}
    for said in [*SAID, [{"type": "text", "text": "Look!"}, picture]]:
        await graph.ainvoke(
            {"messages": [("user", said)]}, {"configurable": {"thread_id": "1"}}, context=Context(user_id="ann")
        )
    await drain()


async def agent(storage):
    """The same with an agent that brings its model."""
    model = ScriptedChatModel(responses=[AIMessage(f"Answer {number}.") for number in range(len(SAID))])
    middleware = MemoryMiddleware(memories=storage.memories, log=storage.log, summaries=storage.summaries)
    made = create_agent(
        model,
        middleware=[middleware],
        context_schema=Context,
        checkpointer=RedactingSaver.from_pool(storage.pool),
    )
    for said in SAID:
        await made.ainvoke(
            {"messages": [("user", said)]}, {"configurable": {"thread_id": "2"}}, context=Context(user_id="ann")
        )
    await drain()


@pytest.mark.parametrize("program", [template, agent])
async def test_a_key_alone_sends_nothing(database, provider, program):
    async with open_storage(database) as storage:
        await RedactingSaver.from_pool(storage.pool).setup()
        await program(storage)
        assert await storage.memories.search("ann", "birds")
    assert provider.requests == []


async def test_a_chat_model_that_is_named_is_asked_and_embeds_nothing(database, provider, monkeypatch):
    monkeypatch.setenv("DISCREET_CHAT_MODEL", "openai:any")
    async with open_storage(database) as storage:
        await RedactingSaver.from_pool(storage.pool).setup()
        await template(storage)
    assert {request.path for request in provider.requests} == {"/v1/chat/completions"}
