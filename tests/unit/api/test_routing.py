"""Who is let in, what is read of a body, and what an error answers."""

from __future__ import annotations

import json
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI, Form
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from discreet.api.app import include, make_app
from discreet.api.routing import make_open_router, make_router
from discreet.errors import (
    ConfigurationError,
    InvalidFilterError,
    InvalidRecordError,
    NotFoundError,
    StillWorkingError,
    StorageUnavailableError,
    ThreadBusyError,
)


class Thing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int = Field(ge=1)
    at: AwareDatetime | None = None
    names: list[str] = []


RAISED = {
    "invalid": InvalidRecordError,
    "missing": NotFoundError,
    "running": StillWorkingError,
    "busy": ThreadBusyError,
    "down": StorageUnavailableError,
    "fault": ConfigurationError,
}

REFUSALS = {"request_malformed": 400, "media_type": 415, "request_invalid": 422}


def _app(services) -> FastAPI:
    router = make_router(services, prefix="/things", tags=["things"])

    @router.post("")
    async def add(thing: Thing) -> Thing:
        return thing

    @router.post("/form")
    async def fill(size: int = Form()) -> int:
        return size

    @router.get("/error/{name}")
    async def fail(name: str) -> None:
        raise RAISED[name]

    admins = make_router(services, prefix="/secrets", admin=True)

    @admins.post("")
    async def seal(thing: Thing) -> Thing:
        return thing

    everybody = make_open_router(services)

    @everybody.get("/open")
    async def read() -> str:
        return "open"

    app = make_app(services)
    include(app, [router, admins, everybody])
    return app


@pytest.fixture
async def client(services):
    transport = httpx.ASGITransport(_app(services), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as opened:
        yield opened


@pytest.fixture
def ann(authenticator) -> dict[str, str]:
    return authenticator.headers_of("ann")


async def test_a_stranger_is_turned_away_before_the_body_is_looked_at(client):
    answer = await client.post("/things", content=b"{")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorised")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_an_open_route_takes_anybody(client):
    assert (await client.get("/open")).json() == "open"


async def test_a_route_for_administrators_turns_others_away_before_the_body_is_looked_at(client, ann, authenticator):
    answer = await client.post("/secrets", content=b"{", headers=ann)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    admin = authenticator.headers_of("root", admin=True)
    assert (await client.post("/secrets", json={"size": 1}, headers=admin)).status_code == 200


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        (b'{"size": 1', {"content-type": "application/json"}, "request_malformed"),
        (b'{"size": NaN}', {"content-type": "application/json"}, "request_malformed"),
        ('{"size": 1}'.encode("utf-16"), {"content-type": "application/json"}, "request_malformed"),
        (b"[" * 100_000, {"content-type": "application/json"}, "request_malformed"),
        (b'{"size": ' + b"9" * 5_000 + b"}", {"content-type": "application/json"}, "request_malformed"),
        (b"", {"content-type": "application/json"}, "request_malformed"),
        (b'{"size": 1}', {}, "media_type"),
        (b'{"size": 1}', {"content-type": "text/plain"}, "media_type"),
        (b'{"size": 0}', {"content-type": "application/json; charset=utf-8"}, "request_invalid"),
    ],
)
async def test_a_body_that_cannot_be_taken_is_refused(client, ann, body, headers, code):
    answer = await client.post("/things", content=body, headers=ann | headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (REFUSALS[code], code)


async def test_fields_that_are_wrong_are_named_and_not_repeated(client, ann, token):
    body = {"size": token, "at": token, "names": ["a", {token: token}], token: token}
    answer = await client.post("/things", json=body, headers=ann)
    assert answer.status_code == 422
    assert answer.json()["error"]["fields"] == [
        {"field": "size", "problem": "must be a whole number"},
        {"field": "at", "problem": "must be a time as in 2026-01-02T12:34:56Z"},
        {"field": "names.1", "problem": "must be a text"},
        {"field": "body", "problem": "has a field that is not known"},
    ]
    assert token not in answer.text


async def test_a_body_over_the_limit_is_not_read_to_its_end(services, authenticator):
    settings = services.settings.model_copy(update={"max_body_bytes": 1_000})
    sent = 0

    async def endless():
        nonlocal sent
        while True:
            sent += 100
            assert sent <= 1_100
            yield b" " * 100

    app = _app(replace(services, settings=settings))
    headers = authenticator.headers_of("ann") | {"content-type": "application/json"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as client:
        answer = await client.post("/things", content=endless(), headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
        declared = await client.post(
            "/things", content=json.dumps({"size": 1, "names": ["a" * 1_000]}), headers=headers
        )
        assert declared.status_code == 413
        form = await client.post("/things/form", data={"size": "1" * 1_000}, headers=authenticator.headers_of("ann"))
        assert form.status_code == 413


async def test_a_form_is_read_where_a_form_is_asked_for(client, ann):
    assert (await client.post("/things/form", data={"size": "3"}, headers=ann)).json() == 3
    assert (await client.post("/things/form", json={"size": 3}, headers=ann)).status_code == 415


@pytest.mark.parametrize(
    ("name", "status", "retry"),
    [("invalid", 422, None), ("missing", 404, None), ("running", 409, "1"), ("busy", 409, "1"), ("down", 503, "5")],
)
async def test_our_errors_answer_by_their_code(client, ann, name, status, retry):
    answer = await client.get(f"/things/error/{name}", headers=ann)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, RAISED[name].code)
    assert answer.headers.get("retry-after") == retry


async def test_a_fault_of_ours_is_left_to_the_server(client, ann):
    assert (await client.get("/things/error/fault", headers=ann)).status_code == 500


async def test_errors_of_routes_that_are_not_ours_are_not_answered_for(services):
    async def refuse(_request):
        raise InvalidFilterError

    app = make_app(services)
    app.router.routes.append(Route("/foreign", refuse))

    async def of_the_server(_request, _error):
        return PlainTextResponse("of the server", 418)

    app.add_exception_handler(ValueError, of_the_server)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as client:
        assert (await client.get("/foreign")).text == "of the server"


@pytest.mark.slow
def test_every_route_can_be_wrapped_by_the_server(services):
    app = _app(services)
    assert app.routes
    assert all(hasattr(route, "app") for route in app.routes)
    assert not getattr(app.router, "on_startup", None)  # the server refuses an application that has such hooks


async def test_a_client_that_goes_away_in_its_body_is_no_failure_of_the_server(services, authenticator):
    sent, messages = [], [{"type": "http.request", "body": b'{"short', "more_body": True}, {"type": "http.disconnect"}]
    headers = {"content-type": "application/json", **authenticator.headers_of("ann")}

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/memory/store",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
    }
    await make_app(services)(scope, receive, send)
    assert sent[0]["status"] == 499
