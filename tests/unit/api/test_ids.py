"""Filters by ids that no entry can have."""

from __future__ import annotations

import httpx
import pytest

from discreet.api.app import make_app

MAIL = "ann" + "@" + "example.com"


@pytest.fixture
async def client(services, authenticator):
    transport = httpx.ASGITransport(make_app(services))
    headers = authenticator.headers_of("ann")
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver", headers=headers) as opened:
        yield opened


@pytest.mark.parametrize("name", ["agent_id", "request_id"])
async def test_a_filter_by_a_sensitive_id_is_refused_as_such_an_entry_is(client, name):
    for field, answer in (
        (name, await client.post("/memory/store", json={"short_answer": "x", name: MAIL})),
        (name, await client.get("/memory/query", params={name: MAIL})),
        (f"filters.{name}", await client.post("/memory/search", json={"q": "x", "filters": {name: MAIL}})),
    ):
        assert answer.status_code == 422
        assert [each["field"] for each in answer.json()["error"]["fields"]] == [field]
        assert MAIL not in answer.text


async def test_a_conversation_may_be_called_anything(client):
    assert (await client.get("/memory/query", params={"session_id": MAIL})).is_success
    answer = await client.post("/memory/search", json={"q": "x", "filters": {"session_id": MAIL}})
    assert answer.is_success
