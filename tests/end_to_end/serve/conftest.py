"""Servers of two processes with the REST API, where several people have tokens."""

import secrets
from datetime import timedelta

import pytest
import pytest_asyncio
from ownership_battery.rest_things import make_rest_things
from ownership_battery.things import Untouched
from testkit.clients import local_client
from testkit.rest_servers import OWN_APP, SERVE, rest_server

from discreet.access.development import make_token
from discreet.storage.embedded import lease_server


@pytest.fixture(scope="session", params=[SERVE, pytest.param(OWN_APP, marks=pytest.mark.slow)])
def kind(request):
    """Which of the servers."""
    return request.param


@pytest.fixture(scope="session")
def serve_server(tmp_path_factory, kind):
    """The server over an embedded database in its folder, until the tests are over."""
    folder = tmp_path_factory.mktemp("serve")
    with lease_server(folder / ".discreet") as dsn, rest_server(kind, folder, dsn) as server:
        yield server  # the database is held, so that what is left can be read


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def ann(serve_server):
    """Somebody who has things."""
    async with serve_server.client("ann@example.com") as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def bob(serve_server):
    """Somebody who wants them, at another process."""
    async with serve_server.client("bob@example.com", url=serve_server.urls[-1]) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def admin(serve_server):
    """An administrator."""
    async with serve_server.client("boss@example.com", admin=True) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def strangers(serve_server):
    """Those who can't say who they are, by what is wrong."""
    foreign = make_token(secrets.token_urlsafe(32), "ann@example.com", admin=True)
    expired = serve_server.headers("ann@example.com", admin=True, ttl=timedelta(hours=-1))
    unsigned = foreign.rpartition(".")[0] + "."
    headers = {
        "no token": {},
        "an expired token": expired,
        "a token of another server": {"authorization": f"Bearer {foreign}"},
        "a token without a signature": {"authorization": f"Bearer {unsigned}"},
        "an unknown key": {"x-api-key": secrets.token_urlsafe(32)},
        "the Studio": {"x-auth-scheme": "langsmith"},
    }
    clients = {what: local_client(serve_server.url, sent) for what, sent in headers.items()}
    yield clients
    for client in clients.values():
        await client.aclose()


@pytest_asyncio.fixture(loop_scope="session")
async def carol(serve_server, token):
    """Somebody new in each test."""
    async with serve_server.client(f"carol-{token}@example.com") as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def carols(carol, make_things, token):
    """What is Carol's."""
    return await make_things(carol, f"carol-{token}@example.com")


@pytest.fixture(scope="session")
def make_things(serve_server):
    """Return what makes one thing of each kind for a subject."""

    async def make(client, subject):
        (dsn,) = serve_server.databases
        return await make_rest_things(client, subject, dsn=dsn)

    return make


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def things(ann, make_things):
    """What is Ann's."""
    return await make_things(ann, "ann@example.com")


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def untouched(ann, things):
    """What is told of Ann's things; after all tests it has to be the same."""
    untouched = Untouched(ann, things, ("memory",))
    await untouched.check()
    yield untouched
    await untouched.check()
