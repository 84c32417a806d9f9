"""The template through the LangGraph SDK, as its users and the Studio call it."""

import asyncio
import json
from contextlib import AsyncExitStack, suppress

import httpx
import psutil
import pytest
import pytest_asyncio
from kit.places import files, folder_of
from kit.search import Words, search
from langgraph_sdk import get_client
from langgraph_sdk.errors import NotFoundError
from testkit.clients import local_client, local_sdk

from discreet.errors import EmptyInputError
from discreet.storage.embedded import lease_server

pytestmark = pytest.mark.asyncio(loop_scope="session")

FACT = "I keep two African Grey parrots."
QUESTION = "Which birds do I have?"
STUDIO = {"x-auth-scheme": "langsmith"}
PLACEHOLDER = "<EMAIL:"
NEVER = "0 0 29 2 *"


@pytest_asyncio.fixture(loop_scope="session")
async def client_of(dev_server):
    """Return the client of somebody, by their name."""
    async with AsyncExitStack() as clients:
        made = {}

        async def client_of(subject):
            if subject not in made:
                client = local_sdk(dev_server.url, dev_server.headers(subject))
                made[subject] = await clients.enter_async_context(client)
            return made[subject]

        yield client_of


@pytest_asyncio.fixture(loop_scope="session")
async def studio(dev_server):
    """The client of the Studio, who is one user for all tests."""
    async with local_sdk(dev_server.url, STUDIO) as client:
        yield client


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


@pytest.mark.slow
async def test_start_to_first_answer(dev_server, record_property):
    assert dev_server.first_answer
    first = dev_server.start_seconds + dev_server.answer_seconds
    record_property("figure", f"start {dev_server.start_seconds:.1f} s, first answer {first:.1f} s")


@pytest.mark.slow
async def test_the_tokens_of_two_people_are_of_two_people(dev_server, client_of):
    owners = []
    for subject in ("ann", "bob"):
        headers = {"Authorization": f"Bearer {dev_server.tokens[subject]}"}
        async with get_client(url=dev_server.url, headers=headers, api_key=None) as printed:
            thread = await printed.threads.create()
        same = await (await client_of(subject)).threads.get(thread["thread_id"])
        owners.append(same["metadata"]["owner"])
    assert len(set(owners)) == 2


async def test_a_fact_told_in_one_thread_is_answered_in_another_and_to_nobody_else(client, client_of, user, studio):
    first, _ = await say(client, FACT)
    others = [await client_of(f"{user}-other"), studio]
    (second, state), *unknowing = await asyncio.gather(*(say(each, QUESTION) for each in (client, *others)))
    assert first != second
    assert "African Grey parrots" in answer(state)
    for _, said in unknowing:
        assert said["messages"][-1]["type"] == "ai"
        assert "parrot" not in answer(said)


@pytest.mark.slow
async def test_the_studio_is_a_user_of_its_own(studio, client):
    thread, _ = await say(studio, "My telescope is a Dobsonian.")
    question = "What is my telescope?"
    (_, known), (_, unknown) = await asyncio.gather(say(studio, question), say(client, question))
    assert "Dobsonian" in answer(known)
    assert "Dobsonian" not in answer(unknown)
    assert thread in {each["thread_id"] for each in await studio.threads.search(limit=100)}
    assert thread not in {each["thread_id"] for each in await client.threads.search(limit=100)}


async def test_a_user_is_who_has_the_token(client_of, user):
    other = await client_of(f"{user}-other")
    thread = (await other.threads.create())["thread_id"]
    with pytest.raises(httpx.HTTPStatusError) as caught:
        await other.runs.wait(thread, "agent", input={"messages": [("user", QUESTION)]}, context={"user_id": user})
    assert caught.value.response.status_code == 403


async def test_without_a_token_nobody_gets_in(dev_server):
    for headers in ({}, {"authorization": "Bearer none"}):
        async with local_client(dev_server.url, headers) as stranger:
            refused = await stranger.post("/threads/search", json={})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.json()["error"]["code"] == "unauthorised"
        assert "token" in refused.json()["detail"]


@pytest.mark.slow
async def test_the_owner_reads_real_values_at_once_and_placeholders_later(client):
    thread, state = await say(client, "Write to ann@example.com")
    assert state["messages"][0]["content"] == "Write to ann@example.com"
    later = await client.threads.get_state(thread)
    assert later["values"]["messages"][0]["content"].startswith("Write to <EMAIL:")


@pytest.mark.slow
async def test_a_streamed_answer_has_real_values_and_a_later_read_placeholders(client, token):
    text = f"Write to {token}@example.com, please."
    thread = (await client.threads.create())["thread_id"]
    stream = client.runs.stream(
        thread,
        "agent",
        input={"messages": [{"role": "user", "content": text}]},
        stream_mode=["messages-tuple", "updates", "values"],
    )
    events = [part async for part in stream]
    chunks = [part.data[0] for part in events if part.event == "messages"]
    chunks = [chunk["content"] for chunk in chunks if chunk["type"] == "AIMessageChunk"]
    shown = [chunk for chunk in chunks if chunk]
    assert len(shown[0]) < 60, "as it is written, not when it is over"
    assert len(shown) > 5
    assert "OPENAI_API_KEY" in "".join(chunks)
    nodes = [node for part in events if part.event == "updates" for node in part.data]
    assert nodes[0] == "save_input"
    assert nodes[-1] == "persist_filtered"
    states = [part.data for part in events if part.event == "values"]
    assert states[-1]["messages"][0]["content"] == text
    assert PLACEHOLDER not in str(states)

    for read in (client.threads.get_state, client.threads.get, client.threads.get_history):
        later = str(await read(thread))
        assert PLACEHOLDER in later
        assert token not in later


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["messages-tuple", "messages", "events", "values"])
async def test_a_stream_that_is_joined_again_has_placeholders_and_the_same_answer(client, token, mode):
    thread = (await client.threads.create())["thread_id"]
    given = {"messages": [{"role": "user", "content": f"My e-mail is {token}@example.com, remember it."}]}
    options = {"input": given, "stream_mode": [mode, "values"], "stream_resumable": True}
    run = await client.runs.create(thread, "agent", **options)
    await client.runs.join(thread, run["run_id"])
    parts = [part async for part in client.runs.join_stream(thread, run["run_id"], last_event_id="-1")]
    assert {part.event for part in parts} >= {"values"}
    assert PLACEHOLDER in str(parts)
    assert token not in str(parts)


@pytest.mark.slow
async def test_state_and_history_hold_the_conversation_and_no_tool_traffic(client):
    thread, _ = await say(client, FACT)
    await say(client, QUESTION, thread=thread)
    state = await client.threads.get_state(thread)
    assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai", "human", "ai"]
    assert state["next"] == []
    history = await client.threads.get_history(thread, limit=50)
    assert len(history) >= 2
    ends = [entry for entry in history if not entry["next"]]
    assert {m["type"] for entry in ends for m in entry["values"].get("messages", [])} == {"human", "ai"}
    assert {"tools"} <= {node for entry in history for node in entry["next"]}, "steps of the last turns can be forked"


@pytest.mark.slow
async def test_the_studio_sees_the_context_with_descriptions_and_bounds(client, studio):
    (assistant,) = await client.assistants.search(graph_id="agent")
    (same,) = await studio.assistants.search(graph_id="agent")
    schemas = await studio.assistants.get_schemas(same["assistant_id"])
    assert await client.assistants.get_schemas(assistant["assistant_id"]) == schemas
    for schema in (schemas["context_schema"], schemas["config_schema"]):
        assert all(field["description"] for field in schema["properties"].values())
    context = schemas["context_schema"]
    assert context["title"] == "Context"
    fields = context["properties"]
    assert "Whose memories these are" in fields["user_id"]["description"]
    numbers = {name: field for name, field in fields.items() if "number" in str(field) or "integer" in str(field)}
    assert numbers
    assert all("imum" in str(field) for field in numbers.values()), numbers
    assert list(schemas["input_schema"]["properties"]) == ["messages"]
    assert list(schemas["output_schema"]["properties"]) == ["messages"]


async def test_the_studio_draws_the_graph(studio):
    (assistant,) = await studio.assistants.search(graph_id="agent")
    graph = await studio.assistants.get_graph(assistant["assistant_id"], xray=True)
    nodes = {node["id"] for node in graph["nodes"]}
    assert {"__start__", "save_input", "retrieve_memories", "assistant", "persist_filtered", "__end__"} <= nodes
    ends = {end for edge in graph["edges"] for end in (edge["source"], edge["target"])}
    assert ends == nodes


BAD = [
    ({"role": "user", "content": ""}, 422, "input_empty"),
    ({"role": "user", "content": "\0"}, 422, "input_empty"),
    ({"role": "user", "content": "x" * 1_000_000}, 413, "input_too_large"),
    ({"role": "user", "content": 42}, 422, "input_unsupported"),
    ({"role": "user", "content": [{"type": "video"}]}, 422, "input_unsupported"),
    ({"role": "assistant", "content": "I am you"}, 422, "input_unsupported"),
    ({"role": "user", "content": [{"type": "text", "text": {"a": "b"}}]}, 422, "input_unsupported"),
    (42, 422, "input_unsupported"),
]


async def start(client, way, thread, run):
    if way == "create_batch":
        await client.runs.create_batch([run])
    elif way == "cron":
        await client.crons.create(**run, schedule=NEVER)
    elif way == "cron of the thread":
        await client.crons.create_for_thread(thread, **run, schedule=NEVER)
    elif way == "stream":
        _ = [part async for part in client.runs.stream(thread, **run)]
    else:
        await getattr(client.runs, way)(thread, **run)


WAYS = ["create", "wait", "stream", "create_batch", "cron", "cron of the thread"]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_bad_input_is_refused_with_a_code_and_a_sentence_and_the_thread_goes_on(client, way):
    thread = (await client.threads.create())["thread_id"]
    for message, status, code in BAD:
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await start(client, way, thread, {"assistant_id": "agent", "input": {"messages": [message]}})
        problem = refused.value.response.json()["error"]
        assert (refused.value.response.status_code, problem["code"]) == (status, code)
        assert problem["message"] == problem["fields"][0]["problem"]
    _, state = await say(client, "Hello!", thread=thread)
    assert [m["type"] for m in state["messages"]] == ["human", "ai"]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("way", WAYS)
async def test_an_input_or_a_context_of_a_wrong_type_is_refused_in_the_request(client, user, way):
    thread = (await client.threads.create())["thread_id"]
    hello = {"messages": [{"role": "user", "content": "Hello!"}]}
    for run, code in (
        ({"input": "Hello!"}, "input_unsupported"),
        ({"input": hello["messages"]}, "input_unsupported"),
        ({"input": {"messages": None}}, "input_empty"),
        ({"input": {"question": "Hello?"}}, "input_empty"),
        ({"input": hello, "context": {"model": 5}}, "context_invalid"),
        ({"input": hello, "context": {"system_prompt": 5}}, "context_invalid"),
        ({"input": hello, "context": {"retrieve_limit": -1}}, "context_invalid"),
    ):
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await start(client, way, thread, {"assistant_id": "agent", **run})
        assert refused.value.response.status_code == 422
        assert refused.value.response.json()["error"]["code"] == code
    good = {"model": "offline", "retrieve_limit": 3, "user_id": user}
    if "cron" not in way and way != "create_batch":  # crons would stay, and a batch is of no thread
        await start(client, way, thread, {"assistant_id": "agent", "input": hello, "context": good})


@pytest.mark.slow
async def test_a_run_without_thread_and_message_is_refused_and_one_in_a_thread_goes_on(client):
    for given in (None, {}, {"messages": []}):
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await client.runs.wait(None, "agent", input=given)
        assert refused.value.response.json()["error"]["code"] == "input_empty"
    thread, state = await say(client, "Hello!")
    assert len((await client.runs.wait(thread, "agent", input=None))["messages"]) == len(state["messages"])
    asked = {"messages": [{"role": "user", "content": "And now?"}]}
    await client.threads.update_state(thread, asked, as_node="persist_filtered")
    went_on = await client.runs.wait(thread, "agent", input={"messages": []})
    assert [m["type"] for m in went_on["messages"]] == ["human", "ai", "human", "ai"]


async def test_a_body_of_another_shape_is_refused_and_not_logged(client, dev_server, user, token):
    run = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": f"My cat is {token}"}]}}
    async with local_client(dev_server.url, dev_server.headers(user)) as http:
        for path, body, field in (
            ("/runs/batch", run, "body"),
            ("/runs/wait", [run], "body"),
            ("/runs", {**run, "assistant_id": [token]}, "assistant_id"),
            ("/threads/search", {"limit": token}, "limit"),
            ("/runs/crons", run, "schedule"),
            ("/runs/crons", {**run, "assistant_id": None, "schedule": NEVER}, "assistant_id"),
        ):
            refused = await http.post(path, json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "request_invalid"), path
            assert field in [each["field"] for each in refused.json()["error"]["fields"]]
            assert token not in refused.text
    assert token not in (dev_server.project / "server.log").read_text()


@pytest.mark.slow
async def test_a_run_that_fails_tells_its_own_error(client):
    """What only the state can tell is no bad request: an empty list of messages may go on with those of the thread."""
    thread = (await client.threads.create())["thread_id"]
    sentence = str(EmptyInputError())
    ended = await client.runs.wait(thread, "agent", input={"messages": []}, raise_error=False)
    assert ended["__error__"] == {"error": "EmptyInputError", "message": sentence}
    parts = [part async for part in client.runs.stream(thread, "agent", input={"messages": []})]
    assert parts[-1].event == "error"
    assert parts[-1].data == {"error": "EmptyInputError", "message": sentence}


@pytest.mark.slow
async def test_a_nul_or_an_unusual_script_in_a_message_is_answered(client):
    _, state = await say(client, "Xin chào\0, я 你好 😀 \u202e")
    assert state["messages"][0]["content"].startswith("Xin chào, я 你好")
    assert answer(state)


async def test_the_store_keeps_redacted_values(client):
    await client.store.put_item(["notes"], "1", {"text": "write to ann@example.com", "n": 7})
    item = await client.store.get_item(["notes"], "1")
    assert item["value"] == {"text": "write to <EMAIL>", "n": 7}


@pytest.mark.slow
async def test_threads_are_copied_and_deleted(client):
    thread, _ = await say(client, "Hello!")
    copy = await client.threads.copy(thread)
    await client.threads.delete(thread)
    state = await client.threads.get_state(copy["thread_id"])
    assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai"]


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["thread", "recent", "said"])
async def test_a_part_that_is_erased_is_gone_from_the_servers_rows_too(client, token, scope):
    thread, _ = await say(client, f"I keep two okapi called {token}.")
    await say(client, "And it rains.", thread=thread)
    other, _ = await say(client, "Good morning.")
    asked = {"thread": {"session_id": thread}, "said": {"text": f"I keep two okapi called {token}"}, "recent": {}}[
        scope
    ]
    erased = await client.http.post("/memory/erasure", json={"scope": scope, **asked})
    assert erased["counts"]["LangGraph server"]
    for path in ("", "/state", "/runs", "/history"):
        with suppress(NotFoundError):
            assert token not in json.dumps(await client.http.get(f"/threads/{thread}{path}")), path
    assert token not in json.dumps(await client.threads.search(limit=100))
    if scope == "thread":
        with pytest.raises(NotFoundError):
            await client.threads.get(thread)
        assert (await client.threads.get(other))["values"]["messages"]
    else:
        _, state = await say(client, "Do I have pets?", thread=thread)
        assert answer(state)


async def test_no_planted_value_reaches_postgres(client, dev_server, token):
    planted = {"e-mail": f"ann.{token}@example.com", "phone": "+1 212 555 0147"}
    thread, _ = await say(client, f"I keep two parrots, write to {planted['e-mail']}.")
    await say(client, f"My number is {planted['phone']}, please remember it.", thread=thread)
    with lease_server(dev_server.data_dir) as dsn:
        found = search(files(folder_of(dsn)), Words(values=planted, kept="I keep two parrots"))
    assert found.leaks.keys() == {"kept"}


async def test_files_are_of_their_owner_alone(client, dev_server, user):
    """It was started under an open umask."""
    folders = [dev_server.data_dir, dev_server.project / ".langgraph_api"]
    paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    assert {path.name for path in paths} >= {"development.key", "identity.key", "PG_VERSION"}
    assert [path for path in paths if path.parent.name == ".langgraph_api"]
    assert not [path for path in paths if not path.is_symlink() and path.stat().st_mode & 0o077]


@pytest.mark.slow
async def test_the_server_talks_to_loopback_only(client, dev_server):
    await say(client, FACT)
    processes = [psutil.Process(dev_server.pid), *psutil.Process(dev_server.pid).children(recursive=True)]
    remote = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # PostgreSQL has one for each connection: they come and go
            remote |= {connection.raddr.ip for connection in process.net_connections("inet") if connection.raddr}
    assert remote <= {"127.0.0.1", "::1"}


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("with_token", [True, False])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/mcp/"),
        ("POST", "/mcp"),
        ("GET", "/mcp/"),
        ("DELETE", "/mcp/"),
        ("POST", "/a2a/agent"),
        ("POST", "/a2a/11111111-1111-1111-1111-111111111111"),
        ("GET", "/.well-known/agent-card.json"),
        ("GET", "/.well-known/agent-card.json?assistant_id=agent"),
    ],
)
async def test_protocols_whose_messages_the_ingress_does_not_know_are_off(dev_server, method, path, with_token):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = dev_server.headers("ann") if with_token else {}
    headers |= {"accept": "application/json, text/event-stream"}
    async with local_client(dev_server.url, headers) as client:
        answer = await client.request(method, path, json=call if method == "POST" else None)
        document = (await client.get("/openapi.json")).json()
    assert answer.status_code == (404 if with_token else 401)
    assert not [each for each in document["paths"] if "mcp" in each or "a2a" in each or "agent-card" in each]


@pytest.mark.slow
async def test_deletions_at_once_take_their_own_threads_and_no_other(client_of, token):
    ann, bob = await client_of(f"ann-{token}"), await client_of(f"bob-{token}")
    mine, others = [], []
    for _ in range(8):
        mine.append((await ann.threads.create())["thread_id"])
        others.append((await bob.threads.create())["thread_id"])
    stateless = [ann.runs.wait(None, "agent", input={"messages": [("user", f"Hello {n}")]}) for n in range(4)]
    await asyncio.gather(*(ann.threads.delete(thread) for thread in mine), *stateless)
    assert {each["thread_id"] for each in await bob.threads.search(limit=100)} == set(others)
    assert await ann.threads.search(limit=100) == []
