"""Who acts by a request, as storage calls see it, and who was refused, as the audit trail hears of it."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from discreet.access.actor import SELF, Actor, current_actor
from discreet.access.identity import Identities
from discreet.access.user_keys import UserKeys
from discreet.api.actors import MAX_DENIALS, WINDOW_SECONDS, Denials, actor_of
from discreet.api.app import include, make_app
from discreet.api.routing import make_open_router, make_router
from discreet.errors import ForbiddenError, StorageUnavailableError, UnauthorisedError
from discreet.ports import NOBODY
from discreet.redaction import Redactor
from discreet.shown_keys import shown_key
from discreet.testing import InMemoryAuditLog

SENT = {"x-request-id": "edge-7", "user-agent": "curl/8 (ann@example.com)"}


@pytest.fixture
def audit():
    return InMemoryAuditLog()


@pytest.fixture
def services(services, audit):
    return replace(services, denials=Denials(audit))


@pytest.fixture
def seen():
    return []


@pytest.fixture
async def http(services, seen):
    router = make_router(services, prefix="/things")

    @router.get("")
    async def look() -> None:
        seen.append(current_actor())

    @router.get("/thread")
    def look_in_a_thread() -> None:
        seen.append(current_actor())

    @router.get("/stream")
    async def stream() -> StreamingResponse:
        async def pieces():
            seen.append(current_actor())
            yield "piece"

        return StreamingResponse(pieces())

    open_router = make_open_router(services, prefix="/open")

    @open_router.get("")
    async def look_at_nobody() -> None:
        seen.append(current_actor())

    app = make_app(services)
    include(app, [router, open_router])
    transport = httpx.ASGITransport(app=app, client=("192.0.2.7", 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=SENT) as client:
        yield client


@pytest.mark.parametrize("path", ["/things", "/things/thread", "/things/stream"])
@pytest.mark.parametrize("admin", [False, True])
async def test_whoever_calls_acts_to_the_end_of_the_answer(http, authenticator, seen, path, admin):
    await http.get(path, headers=authenticator.headers_of("ann", admin=admin))
    [actor] = seen
    assert actor == Actor(
        kind="admin" if admin else "user",
        identity=authenticator.identity("ann"),
        request_id="edge-7",
        ip_address="192.0.2.7",
        user_agent=actor.user_agent,
    )
    assert actor.user_agent.startswith("curl/8 (<")
    assert "example.com" not in actor.user_agent
    assert current_actor() == SELF


async def test_a_request_id_that_is_none_is_left_out(http, authenticator, seen):
    await http.get("/things", headers=authenticator.headers_of("ann") | {"x-request-id": "call me Ann"})
    assert seen[0].request_id is None


async def test_an_open_route_has_no_caller(http, seen):
    await http.get("/open")
    assert seen == [SELF]


@pytest.mark.slow
async def test_who_is_unknown_is_told(http, audit):
    assert (await http.get("/things")).status_code == 401
    [entry] = audit.entries
    assert (entry.user_key, entry.action, entry.success, entry.data) == (NOBODY, "access.denied", False, "unauthorised")
    assert (entry.actor_kind, entry.actor, entry.ip_address) == ("user", None, "192.0.2.7")


async def test_whose_data_was_asked_for_is_told(http, authenticator, audit):
    answer = await http.get("/memory/query", params={"user_id": "bob"}, headers=authenticator.headers_of("ann"))
    assert answer.status_code == 403
    [entry] = audit.entries
    keys = UserKeys(Identities(bytes(32)))
    assert entry.user_key == keys.of_user(authenticator.identity("bob"))
    assert (entry.actor, entry.data) == (str(shown_key(keys.of_user(authenticator.identity("ann")))), "forbidden")


async def test_who_is_no_administrator_is_told(http, authenticator, audit):
    assert (await http.get("/memory/metrics", headers=authenticator.headers_of("ann"))).status_code == 403
    [entry] = audit.entries
    assert (entry.user_key, entry.data) == (NOBODY, "forbidden")
    assert entry.actor is not None


async def test_so_are_those_whom_a_route_of_another_kind_refuses(services, audit):
    app = make_app(services)

    @app.get("/other")
    async def refuse() -> None:
        raise UnauthorisedError

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
        assert (await client.get("/other")).status_code == 401
    assert [entry.action for entry in audit.entries] == ["access.denied"]


async def test_a_flood_does_not_fill_the_trail(audit):
    now = 0.0
    denials = Denials(audit, clock=lambda: now)
    for _ in range(MAX_DENIALS + 20):
        await denials.tell(UnauthorisedError(), SELF)
    assert len(audit.entries) == MAX_DENIALS
    now = WINDOW_SECONDS
    await denials.tell(ForbiddenError(whose="u_1"), SELF)
    assert audit.entries[-1].counts == {"left_out": 20}
    await denials.tell(ForbiddenError(), SELF)
    assert audit.entries[-1].counts == {}


async def test_a_trail_that_cannot_be_written_lets_nobody_in(services, caplog):
    class Broken(InMemoryAuditLog):
        async def record(self, action, **told):
            raise StorageUnavailableError

    app: FastAPI = make_app(replace(services, denials=Denials(Broken())))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
        assert (await client.get("/memory/query")).status_code == 401
    assert "audit.denial_not_told cause=storage_unavailable" in caplog.text


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("192.0.2.7", "192.0.2.7"),
        (" 2001:DB8::1 ", "2001:db8::1"),
        ("fe80::1%ann@example.com", "fe80::1"),
        ("ann@example.com", None),
        ("", None),
    ],
)
def test_an_address_is_one_whatever_a_header_made_of_it(host, told):
    scope = {"type": "http", "headers": [], "client": (host, 0)}
    assert actor_of(scope, None, Redactor()).ip_address == told
