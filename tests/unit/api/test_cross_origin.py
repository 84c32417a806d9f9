"""A page of another origin reads refusals where it may read answers, and nowhere else."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from discreet.api.cross_origin import CrossOrigin

PAGE = "http://localhost:5173"
READABLE = "access-control-allow-origin"


async def threads(_request):
    return JSONResponse([])


def refusing(app):
    """An application behind a layer that refuses all but preflights without a token, as the ingress does."""

    async def refuse(scope, receive, send):
        given = dict(scope["headers"])
        answer = app if b"authorization" in given or scope["method"] == "OPTIONS" else JSONResponse({}, 401)
        await answer(scope, receive, send)

    return refuse


def browser(**cors):
    layers = [Middleware(CORSMiddleware, allow_methods=["*"], allow_headers=["*"], **cors)] if cors else []
    server = Starlette(routes=[Route("/threads", threads)], middleware=layers)
    transport = httpx.ASGITransport(CrossOrigin(refusing(server)))
    return httpx.AsyncClient(transport=transport, base_url="http://testserver", headers={"origin": PAGE})


@pytest.mark.parametrize("origins", [["*"], [PAGE]])
async def test_a_refusal_is_readable_by_a_page_that_may_read_answers(origins):
    async with browser(allow_origins=origins) as client:
        refused = await client.get("/threads")
        answered = await client.get("/threads", headers={"authorization": "Bearer x"})
    assert (refused.status_code, answered.status_code) == (401, 200)
    assert refused.headers[READABLE] == answered.headers[READABLE] == origins[0]
    assert refused.headers["vary"] == "Origin"
    assert "access-control-allow-methods" not in refused.headers


async def test_credentials_are_allowed_as_the_server_allows_them():
    async with browser(allow_origins=[PAGE], allow_credentials=True) as client:
        refused = await client.get("/threads")
    assert refused.headers["access-control-allow-credentials"] == "true"


@pytest.mark.parametrize("cors", [{}, {"allow_origins": ["https://example.com"]}])
async def test_a_page_that_may_read_no_answer_reads_no_refusal(cors):
    async with browser(**cors) as client:
        refused = await client.get("/threads")
    assert refused.status_code == 401
    assert READABLE not in refused.headers


async def test_what_is_no_page_gets_no_such_header():
    async with browser(allow_origins=["*"]) as client:
        del client.headers["origin"]
        refused = await client.get("/threads")
    assert READABLE not in refused.headers


async def test_a_preflight_is_the_servers_own():
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    async with browser(allow_origins=[PAGE]) as client:
        preflight = await client.options("/threads", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-headers"] == "authorization"
