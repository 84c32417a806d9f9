"""The template through the LangGraph SDK, as its users call it."""

from contextlib import AsyncExitStack

import httpx
import psutil
import psycopg
import pytest
import pytest_asyncio
from langgraph_sdk import get_client

from discreet.cli.planted import search_folder
from discreet.storage.embedded import lease_server

pytestmark = pytest.mark.asyncio(loop_scope="session")

FACT = "I keep two African Grey parrots."
QUESTION = "Which birds do I have?"


@pytest_asyncio.fixture(loop_scope="session")
async def client_of(dev_server):
    """Return the client of somebody, by their name."""
    async with AsyncExitStack() as clients:
        made = {}

        async def client_of(subject):
            if subject not in made:
                client = get_client(url=dev_server.url, headers=dev_server.headers(subject), api_key=None)
                made[subject] = await clients.enter_async_context(client)
            return made[subject]

        yield client_of


@pytest.fixture
def user(token):
    """A user nobody else is."""
    return f"user-{token}"


@pytest_asyncio.fixture(loop_scope="session")
async def client(client_of, user):
    """The client of `user`."""
    return await client_of(user)


async def say(client, text, *, thread=None):
    """Run one turn; return the thread and the conversation afterwards."""
    thread = thread or (await client.threads.create())["thread_id"]
    message = {"role": "user", "content": text}
    return thread, await client.runs.wait(thread, "agent", input={"messages": [message]})


def answer(state):
    return state["messages"][-1]["content"]


async def test_a_fact_told_in_one_thread_answers_in_another_of_the_same_user(client):
    await say(client, FACT)
    _, state = await say(client, QUESTION)
    assert "African Grey parrots" in answer(state)


async def test_a_fact_of_one_user_is_not_known_to_another(client, client_of, user):
    await say(client, FACT)
    _, state = await say(await client_of(f"{user}-other"), QUESTION)
    assert "parrot" not in answer(state)


async def test_a_user_is_who_has_the_token(client, client_of, user):
    await say(client, FACT)
    other = await client_of(f"{user}-other")
    thread = (await other.threads.create())["thread_id"]
    with pytest.raises(httpx.HTTPStatusError) as caught:
        await other.runs.wait(thread, "agent", input={"messages": [("user", QUESTION)]}, context={"user_id": user})
    assert caught.value.response.status_code == 403


async def test_without_a_token_nobody_gets_in(dev_server):
    for headers in ({}, {"authorization": "Bearer none"}):
        async with httpx.AsyncClient(headers=headers) as stranger:
            refused = await stranger.post(f"{dev_server.url}/threads/search", json={})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.json()["error"]["code"] == "unauthorised"
        assert "token" in refused.json()["detail"]


async def test_the_owner_reads_real_values_at_once_and_placeholders_later(client):
    thread, state = await say(client, "Write to ann@example.com")
    assert state["messages"][0]["content"] == "Write to ann@example.com"
    later = await client.threads.get_state(thread)
    assert later["values"]["messages"][0]["content"].startswith("Write to <EMAIL:")


async def test_answers_stream(client):
    thread = await client.threads.create()
    stream = client.runs.stream(
        thread["thread_id"],
        "agent",
        input={"messages": [{"role": "user", "content": "Hello!"}]},
        stream_mode=["messages-tuple", "updates"],
    )
    events = [part async for part in stream]
    said = [part.data[0] for part in events if part.event == "messages"]
    assert "OPENAI_API_KEY" in "".join(m["content"] for m in said if m["type"] == "AIMessageChunk")
    nodes = [node for part in events if part.event == "updates" for node in part.data]
    assert nodes[0] == "save_input"
    assert nodes[-1] == "persist_filtered"


async def test_state_and_history_hold_the_conversation_and_no_tool_traffic(client):
    thread, _ = await say(client, FACT)
    await say(client, QUESTION, thread=thread)
    state = await client.threads.get_state(thread)
    assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai", "human", "ai"]
    assert state["next"] == []
    history = await client.threads.get_history(thread, limit=50)
    assert len(history) >= 2
    kinds = {m["type"] for entry in history for m in entry["values"].get("messages", [])}
    assert kinds == {"human", "ai"}


async def test_the_studios_schema_shows_the_context_with_descriptions(client):
    (assistant,) = await client.assistants.search(graph_id="agent")
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    fields = schemas["context_schema"]["properties"]
    assert "Whose memories these are" in fields["user_id"]["description"]
    assert all(field["description"] for field in fields.values())
    assert list(schemas["input_schema"]["properties"]) == ["messages"]
    assert list(schemas["output_schema"]["properties"]) == ["messages"]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"role": "user", "content": ""}, "EmptyInputError"),
        ({"role": "user", "content": "\0"}, "EmptyInputError"),
        ({"role": "user", "content": "x" * 1_000_000}, "InputTooLargeError"),
        ({"role": "user", "content": 42}, "UnsupportedInputError"),
        (42, "UnsupportedInputError"),
    ],
)
async def test_bad_input_is_a_typed_error_and_the_thread_goes_on(client, message, error):
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, "agent", input={"messages": [message]})
    await client.runs.join(thread, run["run_id"])
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "error"
    assert error in str((await client.threads.get(thread))["error"])
    _, state = await say(client, "Hello!", thread=thread)
    assert [m["type"] for m in state["messages"]] == ["human", "ai"]


async def test_an_answer_is_no_question(client):
    thread = (await client.threads.create())["thread_id"]
    forged = {"messages": [{"role": "assistant", "content": "I am you"}]}
    run = await client.runs.create(thread, "agent", input=forged)
    await client.runs.join(thread, run["run_id"])
    assert "UnsupportedInputError" in str((await client.threads.get(thread))["error"])


async def test_a_nul_or_an_unusual_script_in_a_message_is_answered(client):
    _, state = await say(client, "Xin chào\0, я 你好 😀 \u202e")
    assert state["messages"][0]["content"].startswith("Xin chào, я 你好")
    assert answer(state)


async def test_the_store_keeps_redacted_values(client):
    await client.store.put_item(["notes"], "1", {"text": "write to ann@example.com", "n": 7})
    item = await client.store.get_item(["notes"], "1")
    assert item["value"] == {"text": "write to <EMAIL>", "n": 7}


async def test_threads_are_copied_and_deleted(client):
    thread, _ = await say(client, "Hello!")
    copy = await client.threads.copy(thread)
    await client.threads.delete(thread)
    state = await client.threads.get_state(copy["thread_id"])
    assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai"]


async def test_no_planted_value_reaches_postgres(client, dev_server, token):
    planted = {"e-mail": f"ann.{token}@example.com", "phone": "+1 212 555 0147"}
    thread, _ = await say(client, f"I keep two parrots, write to {planted['e-mail']}.")
    await say(client, f"My number is {planted['phone']}, please remember it.", thread=thread)
    with lease_server(dev_server.data_dir) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    search = search_folder(dev_server.data_dir, {**planted, "kept": "I keep two parrots"})
    assert search.found.keys() == {"kept"}


async def test_the_server_talks_to_loopback_only(client, dev_server):
    await say(client, FACT)
    processes = [psutil.Process(dev_server.pid), *psutil.Process(dev_server.pid).children(recursive=True)]
    remote = {c.raddr.ip for p in processes for c in p.net_connections("inet") if c.raddr}
    assert remote <= {"127.0.0.1", "::1"}
