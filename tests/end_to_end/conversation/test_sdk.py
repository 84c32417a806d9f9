"""Two people and the Studio talk to `discreet dev` through the LangGraph SDK."""

from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from langgraph_sdk import get_client

pytestmark = pytest.mark.asyncio(loop_scope="session")

STUDIO = {"x-auth-scheme": "langsmith"}
PLACEHOLDER = "<EMAIL:"


@pytest_asyncio.fixture(loop_scope="session")
async def client_with(talk_server):
    """Return what makes a client that sends these headers."""
    async with AsyncExitStack() as clients:

        async def client_with(headers):
            client = get_client(url=talk_server.url, headers=headers, api_key=None)
            return await clients.enter_async_context(client)

        yield client_with


@pytest_asyncio.fixture(loop_scope="session")
async def ann(client_with, talk_server):
    return await client_with(talk_server.headers("ann"))


@pytest_asyncio.fixture(loop_scope="session")
async def bob(client_with, talk_server):
    return await client_with(talk_server.headers("bob"))


@pytest_asyncio.fixture(loop_scope="session")
async def studio(client_with):
    return await client_with(STUDIO)


async def say(client, text):
    """Say something in a thread of its own; return the thread and the messages afterwards."""
    thread = (await client.threads.create())["thread_id"]
    state = await client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": text}]})
    return thread, state["messages"]


async def test_start_to_first_answer(talk_server, record_property):
    assert talk_server.first_answer
    first = talk_server.start_seconds + talk_server.answer_seconds
    record_property("figure", f"start {talk_server.start_seconds:.1f} s, first answer {first:.1f} s")


async def test_a_fact_told_in_one_thread_is_answered_in_another_and_to_nobody_else(ann, bob, studio):
    first, _ = await say(ann, "My favourite instrument is the cello.")
    second, said = await say(ann, "Which instrument is my favourite?")
    assert first != second
    assert "cello" in said[-1]["content"]
    for other in (bob, studio):
        _, said = await say(other, "Which instrument is my favourite?")
        assert said[-1]["type"] == "ai"
        assert "cello" not in said[-1]["content"]


async def test_the_studio_is_a_user_of_its_own(studio, ann):
    thread, _ = await say(studio, "My telescope is a Dobsonian.")
    _, said = await say(studio, "What is my telescope?")
    assert "Dobsonian" in said[-1]["content"]
    _, said = await say(ann, "What is my telescope?")
    assert "Dobsonian" not in said[-1]["content"]
    assert thread in {each["thread_id"] for each in await studio.threads.search(limit=100)}
    assert thread not in {each["thread_id"] for each in await ann.threads.search(limit=100)}


async def test_a_streamed_answer_has_real_values_and_a_later_read_placeholders(ann, token):
    address = f"{token}@example.com"
    thread = (await ann.threads.create())["thread_id"]
    question = {"messages": [{"role": "user", "content": f"Write to {address}, please."}]}
    stream = ann.runs.stream(thread, "agent", input=question, stream_mode=["messages-tuple", "values"])
    events = [part async for part in stream]
    chunks = [part.data[0] for part in events if part.event == "messages"]
    assert len([chunk for chunk in chunks if chunk["type"] == "AIMessageChunk"]) > 1
    states = [part.data for part in events if part.event == "values"]
    assert states[-1]["messages"][0]["content"] == f"Write to {address}, please."
    assert PLACEHOLDER not in str(states)

    later = [await ann.threads.get_state(thread), await ann.threads.get(thread), await ann.threads.get_history(thread)]
    for read in later:
        assert PLACEHOLDER in str(read)
        assert token not in str(read)


async def test_the_studio_sees_the_context_with_descriptions_and_bounds(studio):
    (assistant,) = await studio.assistants.search(graph_id="agent")
    schemas = await studio.assistants.get_schemas(assistant["assistant_id"])
    for schema in (schemas["context_schema"], schemas["config_schema"]):
        assert all(field["description"] for field in schema["properties"].values())
    context = schemas["context_schema"]
    assert context["title"] == "Context"
    numbers = {
        name: field
        for name, field in context["properties"].items()
        if "number" in str(field) or "integer" in str(field)
    }
    assert numbers
    assert all("imum" in str(field) for field in numbers.values()), numbers


async def test_the_studio_draws_the_graph(studio):
    (assistant,) = await studio.assistants.search(graph_id="agent")
    graph = await studio.assistants.get_graph(assistant["assistant_id"], xray=True)
    nodes = {node["id"] for node in graph["nodes"]}
    assert {"__start__", "save_input", "retrieve_memories", "assistant", "persist_filtered", "__end__"} <= nodes
    ends = {end for edge in graph["edges"] for end in (edge["source"], edge["target"])}
    assert ends == nodes
