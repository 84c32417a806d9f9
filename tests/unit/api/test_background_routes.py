"""Routes of background memory while its database can't be reached, and for people who are no administrators."""

from __future__ import annotations

from uuid import UUID

import httpx
import pytest
from testkit.conversations import turn

from discreet.api.app import make_app

KEY = UUID("6b0f3c0e-6a0e-4f1e-9a55-3f1f6f1b7a42")
ADMIN = [
    ("GET", "/memory/extraction/jobs"),
    ("GET", f"/memory/extraction/jobs/{KEY}"),
    ("POST", f"/memory/extraction/jobs/{KEY}/cancel"),
    ("POST", f"/memory/extraction/jobs/{KEY}/retry"),
    ("GET", "/memory/extraction/status"),
]
EVERYBODY = [
    ("POST", "/memory/extraction/start"),
    ("GET", "/memory/proposals"),
    ("POST", f"/memory/proposals/{KEY}/accept"),
    ("DELETE", f"/memory/proposals/{KEY}"),
]


@pytest.fixture
async def http(services):
    transport = httpx.ASGITransport(make_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        yield client


def body_of(method, path):
    return {"json": {}} if method == "POST" and path.endswith(("/start", "/accept")) else {}


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize(("method", "path"), [*ADMIN, *EVERYBODY])
async def test_a_database_that_cannot_be_reached_is_503(http, authenticator, method, path):
    headers = authenticator.headers_of("boss", admin=True)
    answer = await http.request(method, path, headers=headers, **body_of(method, path))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    assert answer.headers["retry-after"]


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize(("method", "path"), ADMIN)
async def test_batches_are_for_administrators(http, authenticator, method, path):
    answer = await http.request(method, path, headers=authenticator.headers_of("ann"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize(("method", "path"), EVERYBODY)
async def test_what_is_somebody_elses_is_for_administrators(http, authenticator, method, path):
    name = {"json": {"user_id": "bob"}} if path.endswith("/start") else {"params": {"user_id": "bob"}}
    sent = body_of(method, path) | name
    answer = await http.request(method, path, headers=authenticator.headers_of("ann"), **sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    answer = await http.request(method, path, headers=authenticator.headers_of("boss", admin=True), **sent)
    assert answer.status_code == 503


async def test_the_end_of_a_session_is_told_to_the_log(http, services, authenticator):
    ann = authenticator.identity("ann")
    await services.log.append(turn("r1", "I keep two parrots.", user=ann, thread="t"))
    for session in ("t", "unknown"):
        answer = await http.post(f"/memory/session/{session}/end", headers=authenticator.headers_of("ann"))
        assert answer.status_code == 204
    assert services.log.ended == {(ann, "t")}
