"""Nothing of what is planted in a request to a server with the REST API is left anywhere, or told to anybody else."""

import asyncio
import re
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from zlib import crc32

import pytest
from kit.places import make_talkative
from kit.planter import Planter
from kit.search import Found, search
from ownership_battery.operations import ADMINISTRATORS
from ownership_battery.rest_things import make_rest_things
from rest_battery.pages import Walk
from rest_battery.requests import Api
from testkit.rest_servers import rest_server

from discreet.storage.embedded import lease_server

pytestmark = pytest.mark.slow

AT_ONCE = 6
LOOKS = (
    *("/memory/query?limit=200", "/memory/proposals", "/memory/export", "/memory/delegations"),
    *("/memory/settings", "/memory/settings/history", "/memory/metrics", "/memory/health", "/openapi.json"),
    *("/memory/extraction/jobs", "/memory/extraction/status"),
)
"""What is told later, to whoever may see it."""


SETTLING = {"/memory/admin/conflicts/…/…/…", "/memory/admin/people/…/conflicts/…/…"}
UNSEEN = {"/memory/admin/", "/memory/admin/jobs/…/cancel", "/memory/admin/jobs/…/retry", *SETTLING}
"""Leads to the people; and what is done with batches and conflicts, of which there is none."""
NAMED, LOOKED_UP = "identity, owner of leaks", re.compile(r"/memory/admin/people/")
"""Whom the administrator has looked up, and the pages about them."""
KINDS = ("email", "token", "iban")
"""Of these there are enough that no two of some thousands are the same."""
STATEMENTS = re.compile(r"\.discreet/postgres-\d+/server\.log")
ASKED_FOR = re.compile(r"(field|sentence in) session_id of (owner|admin) of POST /memory/erasure")
"""What the database is asked to erase is in its log if that has every statement, as here. It may be any id that a graph
has used, so it can't be refused."""
OWN_WORDS = re.compile(r"header x-request-id of .*|(field|sentence in) user_id of admin of POST /memory/delegations")
"""What an answer names as its caller did: the request, and the user whose it is."""


@dataclass
class Played:
    """What was sent, and what came of it."""

    plants: Planter
    answered: list = field(default_factory=list)
    """Who got it, when, what to, and the answer."""
    pages: set = field(default_factory=set)
    left: Found | None = None
    """What is found where."""

    def plant(self, what, operation):
        """Return a value that stands nowhere else."""
        kind = KINDS[crc32(f"{what} {operation}".encode()) % len(KINDS)]
        return self.plants.value(what, operation, kind)

    def note(self, who, when, what, response):
        self.answered.append((who, when, what, response))

    def told(self, when):
        """Return the values in answers of that time, by their names; who calls may be told their own."""
        found = {}
        for who, then, what, response in self.answered:
            names = self.plants.within(f"{response.headers} ".encode() + response.content) if then == when else ()
            for name in names:
                if not (name == f"identity, {who} of leaks" or (name == NAMED and LOOKED_UP.search(what))):
                    found.setdefault(name, set()).add(f"{who}: {what}")
        return found


@pytest.fixture(scope="module")
def played(tmp_path_factory, kind):
    folder = tmp_path_factory.mktemp("leaks")
    played = Played(Planter())
    with lease_server(folder / ".discreet") as dsn:
        make_talkative(dsn)
        with rest_server(kind, folder, dsn) as server:
            asyncio.run(play(server, played))
        played.left = search(server.places(), played.plants)
    return played


async def play(server, played):
    """Plant in all that an owner and an administrator can send, then look at all that there is to see."""
    owners, others, admins = (
        played.plants.value(f"identity, {who}", "leaks", "email") for who in ("owner", "other", "admin")
    )
    async with (
        server.client(owners) as owner,
        server.client(others, url=server.urls[-1]) as other,
        server.client(admins, url=server.urls[-1], admin=True) as admin,
        server.client(None) as nobody,
    ):
        document = (await owner.get("/openapi.json")).json()
        body = {"short_answer": f"I like {played.plants.keep('word')}.", "type": "important_moment"}
        assert (await owner.post("/memory/store", json=body)).status_code == 201
        dsn = server.databases[0]
        things = await make_rest_things(owner, owners, dsn=dsn)
        await send_all(played, document, "owner", owner, things)
        await send_all(played, document, "nobody", nobody, things)
        await send_all(played, document, "admin", admin, await make_rest_things(admin, admins, dsn=dsn))
        await make_rest_things(owner, owners, dsn=dsn)  # another memory that waits for a yes
        async with server.client("gone@example.com") as gone:  # of whom a moment is left
            assert (await gone.post("/memory/store", json=body)).is_success
            assert (await gone.post("/memory/erasure", json={"scope": "all"})).is_success
        await walk(played, server, admin, owners)
        for who, client in (("owner", owner), ("other", other), ("admin", admin), ("nobody", nobody)):
            for path in LOOKS:
                played.note(who, "later", f"GET {path}", await client.get(path))


async def send_all(played, document, who, client, things):
    """Send a value in each field of each operation."""
    ids = {**vars(things), "session_id": things.thread_id, "job_key": things.entry_id, "conversation": "pets"}
    api = Api(
        document=document,
        ids=ids,
        plant=lambda what, operation: played.plant(f"{what} of {who}", operation),
        bodies={"POST /memory/erasure": {"scope": "thread", "session_id": "another"}},  # what is kept is searched
    )
    entrance = asyncio.Semaphore(AT_ONCE)

    async def one(operation, request):
        async with entrance:
            response = await client.request(
                request.method,
                request.path,
                params=request.query or None,
                headers={name: value.encode() for name, value in request.headers.items()},
                content=request.content,
            )
            played.note(who, "at once", f"{operation}, {request.what}", response)

    for _, requests in groupby(api.requests(), key=itemgetter(0)):  # what is erased meanwhile, a turn could not keep
        await asyncio.gather(*(one(*request) for request in requests))


async def walk(played, server, admin, owners):
    """Sign in to the admin page, and fill in all that there is."""
    origin = {"origin": server.url}
    async with server.client(None) as browser:
        browser.headers.update(origin)
        form = (await browser.get("/memory/admin/login")).text
        token = form.partition('name="form_token" value="')[2].partition('"')[0]
        credential = admin.headers["authorization"].removeprefix("Bearer ")
        signed_in = {"form_token": token, "credential": credential}
        response = await browser.post("/memory/admin/login", data=signed_in, follow_redirects=True)
        assert response.url.path == "/memory/admin/people"
        walk = Walk(browser, played.plant, partial(played.note, "admin"), "/memory/admin")
        walk.typed["subject"] = owners
        people = (await browser.get("/memory/admin/people")).text
        nobody_talked = "/memory/admin/people/" not in people  # as under `discreet serve`, which has no graph
        await walk.through("/memory/admin/people" + ("?list=quiet" if nobody_talked else ""))
        played.pages = walk.seen | {route for route, _ in walk.sent}


def test_nothing_planted_is_on_any_disk_or_in_any_log(played):
    found = {
        name: where
        for name, where in played.left.leaks.items()
        if not (ASKED_FOR.fullmatch(name) and all(STATEMENTS.fullmatch(place) for place in where))
    }
    assert found == {}


def test_nothing_planted_is_told_to_anybody_later(played):
    assert played.told("later") == {}


def test_no_answer_of_the_api_repeats_what_was_sent(played):
    assert {name: what for name, what in played.told("at once").items() if not OWN_WORDS.fullmatch(name)} == {}


def test_no_request_makes_the_server_fail(played):
    failed = [f"{what}: {response.text}" for *_, what, response in played.answered if response.status_code >= 500]
    assert failed == []


def test_the_search_finds_what_is_kept(played):
    assert "table memory" in played.left.kept[played.plants.keep("word")]


def test_the_search_had_much_to_look_at(played):
    assert len(played.plants.named) > 3000
    assert len(played.answered) > 3000
    assert sum(response.is_success for *_, response in played.answered) > 500


def test_all_pages_were_seen(played):
    pages = {re.sub(r"\{\w+\}", "…", path) for _, path in ADMINISTRATORS if path.startswith("/memory/admin/")}
    assert pages - played.pages == UNSEEN
