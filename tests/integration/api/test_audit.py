"""What administrators do by pages and requests is in the trail with who they are, over a storage of another event loop."""

from __future__ import annotations

from dataclasses import replace

import httpx
import psycopg
import pytest
from testkit.pages import Gate, Web

from discreet.access.user_keys import load_user_keys
from discreet.api.actors import Denials
from discreet.api.app import make_app
from discreet.settings import load_settings
from discreet.shown_keys import shown_key
from discreet.state.records import MemoryRecord


@pytest.fixture
def services(make_services, storage):
    return replace(make_services(storage), denials=Denials(storage.audit))


@pytest.fixture
def entries(database):
    def read(identity: str):
        with psycopg.connect(database, row_factory=psycopg.rows.dict_row) as connection:
            return connection.execute(
                "SELECT * FROM discreet.audit_entry WHERE user_key = %s ORDER BY number",
                [load_user_keys(load_settings()).of_user(identity)],
            ).fetchall()

    return read


async def test_a_request_of_ones_own_and_one_of_somebody_elses(services, authenticator, entries):
    app = make_app(services)
    transport = httpx.ASGITransport(app=app, client=("192.0.2.7", 4711))
    headers = {"user-agent": "sdk/1", "x-request-id": "edge-7"}
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as http:
        ann, names = authenticator.headers_of("ann"), authenticator.headers_of("carer", names_users=True)
        stored = await http.post("/memory/store", json={"short_answer": "Keeps parrots"}, headers=ann)
        assert stored.status_code == 201
        assert (await http.get("/memory/query", headers=ann)).status_code == 200
        assert (await http.get("/memory/query", params={"user_id": "ann"}, headers=names)).status_code == 200
        assert (
            await http.get("/memory/query", params={"user_id": "ann"}, headers=authenticator.headers_of("bob"))
        ).is_error
    keys = load_user_keys(load_settings())
    told = entries(authenticator.identity("ann"))
    assert [(row["action"], row["success"]) for row in told] == [
        ("memory.write", True),
        ("memory.read", True),
        ("access.denied", False),
    ]
    assert [row["actor"] for row in told] == [
        str(shown_key(keys.of_user(authenticator.identity(name)))) for name in ("ann", "carer", "bob")
    ]
    assert {(row["ip_address"], row["user_agent"], row["request_id"]) for row in told} == {
        ("192.0.2.7", "sdk/1", "edge-7")
    }


@pytest.mark.slow
async def test_pages_of_an_administrator(services, storage, entries):
    gate = Gate()
    app = make_app(replace(services, authenticator=gate, memory_settings=storage.memory_settings))
    user = gate.identity("ann")
    await storage.memories.save(user, [MemoryRecord(text="Keeps two parrots")])
    browser = Web(app)
    async with browser.http:
        await browser.sign_in(gate.clerk)
        await browser.sign_in(gate.boss)
        await browser.get("/memory/admin/people")
        await browser.send(subject="ann")
        assert "Keeps two parrots" in browser.text
    boss = str(load_user_keys(load_settings()).of_user(gate.identity("boss")))
    told = [(row["actor_kind"], row["actor"], row["action"]) for row in entries(user)]
    assert told[0] == ("user", None, "memory.write")
    assert told[1:]
    assert set(told[1:]) == {("admin", boss, "memory.read")}


@pytest.mark.slow
async def test_a_sign_in_that_is_refused(services, database):
    gate = Gate()
    browser = Web(make_app(replace(services, authenticator=gate)))
    async with browser.http:
        await browser.sign_in(gate.clerk)
        await browser.sign_in("nothing")
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT data, actor IS NULL FROM discreet.audit_entry ORDER BY number").fetchall()
    assert rows == [("forbidden", False), ("unauthorised", True)]
