"""Several users at one server, who say by their tokens who they are."""

from __future__ import annotations

import asyncio
import json
import secrets
from contextlib import asynccontextmanager

import psycopg
import pytest
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from testkit.clients import local_client
from testkit.keys import IDENTITY_KEY_SETTING
from testkit.ports import free_port
from testkit.serving import DISCREET, clean_environment, serving

from discreet.access.development import make_token
from discreet.access.user_keys import load_user_keys
from discreet.settings import load_settings

pytestmark = pytest.mark.slow


class Server:
    """The process, and who has tokens for it."""

    def __init__(self, folder, url, secret):
        self.folder, self.url, self.secret = folder, url, secret

    def headers(self, subject):
        return {"authorization": f"Bearer {make_token(self.secret, subject)}"}

    @asynccontextmanager
    async def session(self, subject):
        async with (
            local_client("", self.headers(subject)) as http,
            streamable_http_client(f"{self.url}/mcp", http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session


@pytest.fixture(scope="module")
def server(held_folder, tmp_path_factory):
    folder, _ = held_folder
    secret, port = secrets.token_urlsafe(32), free_port()
    environment = clean_environment(
        DISCREET_JWT_SECRET=secret,
        DISCREET_IDENTITY_KEY=IDENTITY_KEY_SETTING,
        DISCREET_DATA_DIR=str(folder / ".discreet"),
    )
    logs = tmp_path_factory.mktemp("http")
    url = f"http://127.0.0.1:{port}"
    with serving([DISCREET, "mcp", "--http", "--port", str(port)], logs, url, environment=environment):
        yield Server(logs, url, secret)


async def test_people_at_once_have_their_own_memories_each(server, token):
    people = [f"{token}{number}@example.com" for number in range(6)]

    async def use(subject):
        async with server.session(subject) as session:
            saved = await session.call_tool("save_memory", {"text": f"I am called {subject.partition('@')[0]}"})
            assert not saved.is_error
            found = await session.call_tool("recall_memory", {"query": "what am I called?"})
            return [each["text"] for each in found.structured_content["memories"]]

    found = await asyncio.gather(*map(use, people))
    assert found == [[f"I am called {subject.partition('@')[0]}"] for subject in people]


async def test_a_client_of_the_newest_protocol_is_served_too(server, token):
    async with (
        local_client("", server.headers(token)) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        assert len((await client.list_tools()).tools) == 5
        assert not (await client.call_tool("save_memory", {"text": "Keeps parrots"})).is_error


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_clients_of_former_protocols_are_served(server, token, version):
    headers = {
        **server.headers(token),
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": version,
    }
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    async with local_client(server.url, headers) as http:
        for number, (method, params) in enumerate(
            [
                ("initialize", hello),
                ("tools/list", {}),
                ("tools/call", {"name": "recall_memory", "arguments": {"query": "x"}}),
                ("ping", {}),
            ]
        ):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            answer = await http.post("/mcp", json=message)
            assert "result" in answer.json(), answer.text


async def test_who_did_what_is_in_the_audit_trail(server, held_folder, token):
    async with server.session(f"{token}@example.com") as session:
        await session.call_tool("save_memory", {"text": "Keeps parrots"})
    from discreet.access.identity import load_identities

    settings = load_settings()
    identity = load_identities(settings).of(f"{token}@example.com")
    with psycopg.connect(held_folder[1]) as connection:
        told = connection.execute(
            "SELECT actor_kind, actor, action, ip_address FROM discreet.audit_entry WHERE user_key = %s",
            [load_user_keys(settings).of_user(identity)],
        ).fetchall()
    assert told == [("mcp", identity, "memory.write", "127.0.0.1")]


async def test_who_has_no_token_is_refused_and_written_down(server, held_folder):
    async with local_client(server.url) as http:
        for sent in ({}, {"authorization": "Bearer " + secrets.token_urlsafe(16)}):
            answer = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=sent)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    with psycopg.connect(held_folder[1]) as connection:
        denied = connection.execute("SELECT count(*) FROM discreet.audit_entry WHERE action = 'access.denied'")
        assert denied.fetchone()[0] >= 2


async def test_logs_have_no_word_of_what_is_said(server, token):
    word = f"zebra{token}"
    headers = {**server.headers(f"{token}@example.com"), "accept": "application/json, text/event-stream"}
    async with server.session(f"{token}@example.com") as session:
        await session.call_tool("save_memory", {"text": f"Keeps {word}, write to {word}@example.com"})
        await session.call_tool("recall_memory", {"query": word})
        await session.call_tool("recall_memory", {"query": "x", word: word})
        await session.call_tool("export_memories", {"after": word})
    async with local_client(server.url, headers) as http:
        call = {"name": word, "arguments": {word: word}}
        for body in (
            {"jsonrpc": "2.0", "id": word, "method": "tools/call", "params": call},
            {"jsonrpc": "2.0", "id": 1, "method": word, "params": {word: word}},
            {"jsonrpc": "2.0", "method": f"notifications/{word}"},
            {word: word},
        ):
            await http.post("/mcp", json=body)
            await http.post("/mcp", json=body, headers={"mcp-protocol-version": word, "mcp-session-id": word})
            await http.post("/mcp", json=body, headers={"mcp-protocol-version": "2026-07-28"})
        await http.post(f"/mcp/{word}?{word}={word}", content=json.dumps(word))
        await http.post("/mcp", json={}, headers={"origin": f"http://{word}.example", "user-agent": word})
    log = (server.folder / "server.log").read_text()
    assert "mcp.call tool=recall_memory" in log
    assert word not in log
    assert f"{token}@example.com" not in log
