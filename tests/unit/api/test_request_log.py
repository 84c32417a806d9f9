"""One line a request, without anything that a client wrote."""

import asyncio
import logging
import re

import httpx
import pytest
import uvicorn
from fastapi import APIRouter, FastAPI
from starlette.routing import Mount

from discreet.api.app import include
from discreet.api.request_log import RequestLog, log_requests

EMAIL = "ann@example.com"


class Copies:
    """A layer that hands requests on as a copy, as ours in front of the application do."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        await self.app({**scope}, receive, send)


@pytest.fixture
def app():
    app = FastAPI()
    router = APIRouter()

    @router.get("/memory/entries/{entry_id}")
    async def entry(entry_id: str) -> dict[str, str]:
        return {"entry": entry_id}

    @router.get("/ok")
    async def ok(*, well: bool = True) -> None:
        if not well:
            raise ZeroDivisionError

    @router.get("/slow")
    async def slow() -> None:
        await asyncio.sleep(60)

    include(app, [router])
    app.add_middleware(Copies)
    app.add_middleware(RequestLog)
    return app


@pytest.fixture
def call(app, caplog):
    """Return what sends a request and gives its answer and the lines of it."""
    caplog.set_level(logging.INFO, logger="discreet.api.request_log")
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async def send(method, path, **options):
        caplog.clear()
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            answer = await client.request(method, path, **options)
        return answer, [each.getMessage() for each in caplog.records if each.name == "discreet.api.request_log"]

    return send


async def test_a_request_is_one_line_with_id_method_route_status_and_time(call):
    answer, (line,) = await call("GET", f"/memory/entries/{EMAIL}?q={EMAIL}", headers={"X-Request-Id": "r-1.a_B"})
    assert answer.headers["X-Request-Id"] == "r-1.a_B"
    assert re.fullmatch(
        r"request request_id=r-1\.a_B method=GET route=/memory/entries/\{entry_id\} status=200 milliseconds=[0-9.]+",
        line,
    )


@pytest.mark.parametrize("sent", [None, "", "a b", "x" * 65, EMAIL, "a\tb"])
async def test_an_id_that_is_none_becomes_a_new_one(call, sent):
    headers = {} if sent is None else {"X-Request-Id": sent}
    answer, (line,) = await call("GET", "/memory/entries/1", headers=headers)
    assert re.fullmatch("[0-9a-f-]{36}", answer.headers["X-Request-Id"])
    assert f"request_id={answer.headers['X-Request-Id']} " in line


async def test_the_application_reads_the_id_that_the_line_has(app, call):
    seen = []

    class Reads(Copies):
        async def __call__(self, scope, receive, send):
            seen.extend(value for name, value in scope["headers"] if name == b"x-request-id")
            await self.app(scope, receive, send)

    logged = RequestLog(Reads(app))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(logged), base_url="http://test") as client:
        answer = await client.get("/ok")
    assert answer.headers["X-Request-Id"].encode() == seen[0]


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("GET", f"/nowhere/{EMAIL}", "method=GET route=- status=404"),
        ("DELETE", "/memory/entries/1", "method=DELETE route=/memory/entries/{entry_id} status=405"),
        ("ANN", "/memory/entries/1", "method=OTHER route=/memory/entries/{entry_id} status=405"),
        ("GET", "/ok?well=0", "method=GET route=/ok status=500"),
    ],
)
async def test_what_goes_wrong_is_told_without_what_was_sent(call, method, path, told):
    _, (line,) = await call(method, path)
    assert told in line
    assert EMAIL not in line


async def test_checks_that_machines_make_are_not_told_while_all_is_well(call):
    _, lines = await call("GET", "/ok")
    assert lines == []


async def test_a_client_that_does_not_wait_is_told_with_499(app, caplog):
    caplog.set_level(logging.INFO, logger="discreet.api.request_log")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        calling = asyncio.create_task(client.get("/slow"))
        await asyncio.sleep(0.1)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    assert [each.getMessage() for each in caplog.records if "route=/slow status=499" in each.getMessage()]


@pytest.mark.parametrize(("level", "logged"), [(logging.INFO, False), (logging.WARNING, True)])
def test_a_server_that_logs_requests_itself_is_left_to_it(app, level, logged):
    theirs = logging.getLogger("test_request_log.server")
    theirs.setLevel(level)
    app.user_middleware.clear()
    log_requests(app, server=theirs.name)
    assert [each.cls for each in app.user_middleware] == [RequestLog] * logged
    request = {"event": "GET /x 404 1ms", "method": "GET", "path": "/x", "status": 404, "latency_ms": 1}
    lines = [logging.makeLogRecord({"msg": msg}) for msg in ({"event": "started"}, request, "text")]
    assert [bool(theirs.filter(each)) for each in lines] == [True, not logged, True]
    theirs.filters.clear()


def test_the_access_log_of_uvicorn_is_left_out_even_if_it_is_configured_after_the_application(app):
    access = logging.getLogger("uvicorn.access")
    log_requests(app)
    try:
        uvicorn.Config(app).configure_logging()
        assert not access.filter(logging.makeLogRecord({"name": access.name, "msg": f'"GET /{EMAIL} HTTP/1.1" 200'}))
    finally:
        access.filters.clear()
        for name in ("uvicorn", "uvicorn.access"):
            logging.getLogger(name).handlers.clear()
            logging.getLogger(name).propagate = True


async def test_a_route_below_a_mount_has_the_whole_template(app, call):
    app.router.routes.append(Mount("/v1", routes=[*app.router.routes]))
    _, (line,) = await call("GET", "/v1/memory/entries/1")
    assert "route=/v1/memory/entries/{entry_id} status=200" in line
