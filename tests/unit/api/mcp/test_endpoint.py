"""Who is let in over HTTP, and what they get."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from discreet.api.actors import Denials
from discreet.api.mcp.endpoint import McpEndpoint
from discreet.mcp.call_limits import CallLimits
from discreet.mcp.tools import OfferedTools, make_tools
from discreet.ports import FixedSettings
from discreet.testing import InMemoryAuditLog, InMemoryRollingSummaries

HERE = "http://127.0.0.1:8090"
ACCEPTED = {"accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture
def audit():
    return InMemoryAuditLog()


@pytest.fixture
async def endpoint(services, audit):
    tools = make_tools(
        memories=services.memories,
        summaries=InMemoryRollingSummaries(),
        memory_settings=FixedSettings(),
        storage=None,
        redactor=services.redactor,
        settings=services.settings,
    )
    endpoint = McpEndpoint(replace(services, denials=Denials(audit)), OfferedTools(tools, CallLimits(1_000)))
    ready, over = asyncio.Event(), asyncio.Event()

    async def run():  # in one task: a fixture begins and ends in two
        async with endpoint.running():
            ready.set()
            await over.wait()

    running = asyncio.create_task(run())
    await ready.wait()
    yield endpoint
    over.set()
    await running


@pytest.fixture
def client(endpoint):
    """Return a client of the endpoint, that sends these headers."""

    def make(headers, url=HERE):
        transport = httpx.ASGITransport(app=endpoint, client=("127.0.0.1", 4711))
        return httpx.AsyncClient(transport=transport, base_url=url, headers={**ACCEPTED, **headers})

    return make


@pytest.fixture
def connected(client, authenticator):
    """Return a session of the SDK's client for a caller."""

    @asynccontextmanager
    async def connect(name):
        async with (
            client(authenticator.headers_of(name)) as http,
            streamable_http_client(f"{HERE}/mcp", http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session

    return connect


@pytest.mark.slow
async def test_each_caller_has_their_own_memories(connected):
    async with connected("ann") as ann, connected("bob") as bob:
        saved = await ann.call_tool("save_memory", {"text": "Keeps two parrots"})
        assert not saved.is_error
        found = [await each.call_tool("recall_memory", {"query": "parrots"}) for each in (ann, bob)]
    assert [len(each.structured_content["memories"]) for each in found] == [1, 0]


async def test_a_message_needs_no_handshake_and_no_session(client, authenticator):
    async with client(authenticator.headers_of("ann")) as http:
        answer = await http.post("/mcp", json=LIST)
    assert answer.status_code == 200
    assert len(answer.json()["result"]["tools"]) == 5
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize(
    "sent", [{}, {"authorization": "Bearer none"}, {"authorization": "Basic YTpi"}, {"x-api-key": "none"}]
)
async def test_who_has_no_credentials_is_told_how_to_send_them(client, audit, sent):
    async with client(sent) as http:
        answer = await http.post("/mcp", json=LIST)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["error"]["code"] == "unauthorised"
    assert [entry.action for entry in audit.entries] == ["access.denied"]


@pytest.mark.parametrize(
    "sent",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:8090"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://[::1"},
        {"host": "evil.example", "origin": "http://evil.example"},
    ],
)
async def test_a_page_of_another_site_is_refused_whatever_it_sends(client, authenticator, sent):
    async with client({**authenticator.headers_of("ann"), **sent}) as http:
        answer = await http.post("/mcp", json=LIST)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        (HERE, {"origin": "http://localhost:3000"}),
        (HERE, {"host": "localhost:8090"}),
        (HERE, {"host": "[::1]:8090", "origin": "http://[::1]:8090"}),
        ("http://10.0.0.5:8090", {"host": "mcp.example.com"}),
        ("http://10.0.0.5:8090", {"host": "mcp.example.com", "origin": "https://mcp.example.com"}),
    ],
)
async def test_pages_of_this_machine_and_of_the_server_itself_are_let_in(client, authenticator, url, sent):
    async with client({**authenticator.headers_of("ann"), **sent}, url=url) as http:
        assert (await http.post("/mcp", json=LIST)).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_what_is_no_message_is_not_taken(client, authenticator, method):
    async with client(authenticator.headers_of("ann")) as http:
        answer = await http.request(method, "/mcp")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b'{"jsonrpc": "2.0", "id": 1}', 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b" " * 5_000_000, 413),
    ],
)
async def test_what_can_not_be_read_is_refused_and_the_next_is_taken(client, authenticator, body, status):
    headers = {"content-type": "application/json"}
    async with client(authenticator.headers_of("ann")) as http:
        refused = await http.post("/mcp", content=body, headers=headers)
        assert refused.status_code == status, refused.text
        assert (await http.post("/mcp", json=LIST)).status_code == 200


async def test_no_argument_makes_somebody_of_somebody_else(client, authenticator, services):
    call = {"name": "save_memory", "arguments": {"text": "Keeps parrots", "user_id": "bob"}}
    meta = {"_meta": {"user_id": "bob"}}
    async with client(authenticator.headers_of("ann", admin=True, names_users=True)) as http:
        for params in (call, {**call, "arguments": {"text": "Keeps parrots"}, **meta}):
            await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert await services.memories.latest(authenticator.identity("bob")) == []
    assert len(await services.memories.latest(authenticator.identity("ann"))) == 1


async def test_an_error_of_a_tool_is_a_result_that_a_model_can_read(connected):
    async with connected("ann") as ann:
        refused = await ann.call_tool("save_memory", {"text": "The key is AKIA" + "2E0A8F3B244C9986"})
    assert refused.is_error
    assert json.loads(refused.content[0].text)["error"]["code"] == "memory_secret"
