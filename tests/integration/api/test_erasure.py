"""Erasing through the API and the admin page: what is one's own, and for an administrator what is anybody's."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from testkit.pages import Gate, Web

from discreet.api.admin import make_admin_router
from discreet.api.app import make_app
from discreet.api.server_rows import ServerRows
from discreet.rights.erasure import Receipt, Scope
from discreet.state.records import MemoryRecord
from discreet.storage import open_storage
from discreet.testing import StubEmbeddings

ERASURE = "/memory/erasure"


@pytest.fixture
async def storage(database, authenticator):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64)) as opened:
        for user in map(authenticator.identity, ("ann", "bob")):
            await opened.memories.save(user, [MemoryRecord(text="I keep a bird", thread_id="talk")])
        yield opened


@pytest.fixture
def kept(storage, authenticator):
    """Return what tells what is kept of somebody."""

    async def latest(subject):
        return await storage.memories.latest(authenticator.identity(subject))

    return latest


@pytest.fixture
def services(storage, make_services):
    return replace(make_services(storage), storage=lambda: storage, memory_settings=storage.memory_settings)


@pytest.fixture
def client_of(services, authenticator):
    app = make_app(services)

    def client(subject, *, admin=False):
        headers = authenticator.headers_of(subject, admin=admin)
        return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver", headers=headers)

    return client


@pytest.mark.slow
async def test_one_erases_ones_own_after_a_look(client_of, storage, kept):
    ann = client_of("ann")
    counted = (await ann.post(ERASURE, json={"scope": "all", "dry_run": True})).json()
    assert (counted["state"], counted["counts"]["database"]["memory"], counted["receipt"]) == ("counted", 1, None)
    answer = await ann.post(ERASURE, json={"scope": "all"})
    assert answer.status_code == 200, answer.text
    receipt = Receipt.model_validate(answer.json()["receipt"])
    receipt.check(storage.background.keys)
    assert await kept("ann") == []
    assert len(await kept("bob")) == 1
    shown = await ann.get(f"{ERASURE}/{receipt.erasure_key}")
    assert Receipt.model_validate(shown.json()) == receipt
    assert (await client_of("bob").get(f"{ERASURE}/{receipt.erasure_key}")).status_code == 404
    assert (await ann.get(f"{ERASURE}/{uuid4()}")).status_code == 404


@pytest.mark.slow
async def test_nobody_erases_what_is_somebody_elses_but_an_administrator(client_of, storage, kept):
    refused = await client_of("bob").post(ERASURE, json={"scope": "all", "user_id": "ann"})
    assert refused.status_code == 403
    assert len(await kept("ann")) == 1
    boss = client_of("boss", admin=True)
    assert (await boss.post(ERASURE, json={"scope": "recent", "days": 1, "user_id": "ann"})).status_code == 200
    assert await kept("ann") == []


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"scope": "some"},
        {"scope": "thread"},
        {"scope": "memory"},
        {"scope": "said"},
        {"scope": "said", "text": "x", "entry_id": str(uuid4())},
        {"scope": "recent", "days": 0},
        {"scope": "recent", "session_id": "t"},
        {"scope": "all", "session_id": "t"},
        {"scope": "all", "days": 3},
        {"scope": "thread", "session_id": "t", "text": "x"},
        {"scope": "memory", "entry_id": str(uuid4()), "session_id": "t"},
        {"scope": "all", "more": 1},
    ],
)
async def test_what_is_not_clear_is_a_422(client_of, kept, body):
    assert (await client_of("ann").post(ERASURE, json=body)).status_code == 422
    assert len(await kept("ann")) == 1


@pytest.mark.slow
async def test_one_thread_one_memory_and_what_was_said(client_of, storage, kept):
    ann = client_of("ann")
    [memory] = await kept("ann")
    assert (await ann.post(ERASURE, json={"scope": "memory", "entry_id": str(memory.entry_id)})).status_code == 200
    assert await kept("ann") == []
    for body in ({"scope": "thread", "session_id": "talk"}, {"scope": "said", "text": "I keep a bird"}):
        answer = await ann.post(ERASURE, json=body)
        assert answer.status_code == 200, answer.text


@pytest.fixture
async def admin(services):
    gate = Gate()
    app = FastAPI()
    app.include_router(make_admin_router(replace(services, authenticator=gate)))
    browser = Web(app)
    async with browser.http:
        await browser.sign_in(gate.boss)
        yield SimpleNamespace(web=browser, gate=gate)


@pytest.mark.slow
async def test_the_page_counts_erases_and_shows_the_receipt(admin, storage):
    web, user = admin.web, admin.gate.identity("ann")
    await storage.memories.save(user, [MemoryRecord(text="Keeps a bird")])
    await storage.memories.save(user, [MemoryRecord(text="It sang", type="important_moment")])
    await web.get(f"/memory/admin/people/{user}/erase")
    page = f"/memory/admin/people/{user}/erase"
    await web.post(page, web.fields())
    assert "database, memory 2" in web.words
    assert len(await storage.memories.latest(user)) == 2
    form = re.search(r'<form[^>]*>(?:(?!</form>).)*name="seen".*?</form>', web.text, re.DOTALL)[0]
    token = re.search(r'name="form_token" value="([^"]*)"', form)[1]
    await web.post(page, {"form_token": token, "seen": "yes", "scope": "all", "days": "", "thread": "", "text": ""})
    assert "It is erased" in web.words
    assert '"signature"' in web.words
    assert await storage.memories.latest(user) == []
    await web.get("/memory/admin/moments")
    assert "It sang" in web.words
    action = re.search(r'action="([^"]*/moments/[^"]*/delete)"', web.text)[1]
    await web.post(action, web.fields())
    assert "There is none." in web.words


async def test_the_page_says_what_is_not_clear(admin):
    web, page = admin.web, f"/memory/admin/people/{admin.gate.identity('ann')}/erase"
    await web.get(page)
    await web.post(page, {**web.fields(), "scope": "thread", "thread": ""})
    assert web.page.status_code == 422
    assert "Say what is meant" in web.words


class Client:
    """A LangGraph server of some threads and crons."""

    def __init__(self, monkeypatch):
        self.deleted = []
        rows = {
            "threads": [{"thread_id": f"t{n}", "metadata": {"owner": "u_ann"}} for n in range(150)],
            "crons": [
                {"cron_id": "c1", "metadata": {"owner": "u_ann"}},
                {"cron_id": "c2", "metadata": {"owner": "u_bob"}},
                {"cron_id": "c3", "metadata": None},
            ],
            "assistants": [],
        }
        for kind, found in rows.items():
            setattr(self, kind, SimpleNamespace(search=self._searching(found), delete=self._deleting(kind)))
        monkeypatch.setattr("discreet.api.server_rows.get_client", lambda **_: self)

    def _searching(self, found):
        async def search(*, limit, offset, metadata=None):
            held = [row for row in found if metadata is None or row["metadata"] == metadata]
            return held[offset : offset + limit]

        return search

    def _deleting(self, kind):
        async def delete(key):
            self.deleted.append((kind, key))

        return delete


async def test_what_the_server_has_of_a_user_goes_and_nothing_else(monkeypatch):
    client = Client(monkeypatch)
    counts = {"crons": 1, "threads": 150, "assistants": 0}
    assert await ServerRows().erase("u_ann", scope=Scope.everything(), threads=(), dry_run=True) == counts
    assert client.deleted == []
    assert await ServerRows().erase("u_ann", scope=Scope.everything(), threads=(), dry_run=False) == counts
    assert client.deleted[0] == ("crons", "c1")
    assert len(client.deleted) == 151


@pytest.mark.parametrize(("loaded", "runs_us"), [("langgraph_api", False), ("langgraph_api.server", True)])
def test_a_server_is_asked_where_it_runs_us_and_not_where_its_package_is_imported(monkeypatch, loaded, runs_us):
    monkeypatch.delitem(sys.modules, "langgraph_api.server", raising=False)
    monkeypatch.setitem(sys.modules, loaded, ModuleType(loaded))
    assert ServerRows.are_there() == runs_us
