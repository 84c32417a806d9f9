"""Settings over HTTP: administrators alone, all or none, and a history in pages."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from discreet.api.app import make_app
from discreet.errors import StorageUnavailableError
from discreet.providers.environment_values import environment_values
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.testing import InMemorySettingsStore

URL = "/memory/settings"


@pytest.fixture
def store():
    return InMemorySettingsStore(environment_values(Settings(_env_file=None, retrieve_limit=7)))


@pytest.fixture
def app(services, store):
    services = replace(services, memory_settings=store, settings=Settings(_env_file=None, retrieve_limit=7))
    return make_app(services)


@pytest.fixture
async def client(app, authenticator):
    transport = httpx.ASGITransport(app)
    headers = authenticator.headers_of("boss", admin=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


async def test_what_holds_is_told_with_where_it_comes_from_and_what_it_takes(client):
    await client.patch(URL, json={"memory_retrieve_threshold": 0.4})
    answer = (await client.get(URL)).json()
    assert MemorySettings.model_validate(answer["values"]).memory_retrieve_limit == 7
    assert answer["overridden"] == ["memory_retrieve_threshold"]
    assert answer["sources"]["memory_retrieve_threshold"] == "database"
    assert answer["sources"]["memory_retrieve_limit"] == "environment"
    assert answer["sources"]["context_window_size"] == "default"
    assert answer["fields"].keys() == answer["values"].keys() == answer["sources"].keys()
    limit = answer["fields"]["memory_retrieve_limit"]
    assert (limit["minimum"], limit["maximum"], limit["type"]) == (1, 50, "integer")
    assert all(field["description"] for field in answer["fields"].values())


async def test_zero_and_any_number_of_days_are_taken_for_how_long_a_conversation_is_kept(client, store):
    for days in (30, 0, 4_000, 1):
        names = ("retention_log_days", "retention_checkpoint_days", "retention_turn_days")
        answer = await client.patch(URL, json=dict.fromkeys(names, days))
        assert answer.status_code == 200
        assert {getattr(store.live, name) for name in names} == {days}


async def test_a_change_answers_with_what_holds_then(client, store, authenticator):
    answer = await client.patch(URL, json={"memory_retrieve_limit": 3, "memory_extraction_enabled": False})
    assert answer.status_code == 200
    assert answer.json()["values"]["memory_retrieve_limit"] == store.live.memory_retrieve_limit == 3
    answer = await client.patch(URL, json={"memory_retrieve_limit": None})
    assert (answer.json()["values"]["memory_retrieve_limit"], answer.json()["overridden"]) == (
        7,
        ["memory_extraction_enabled"],
    )
    assert {change.changed_by for _, change in await store.history()} == {authenticator.identity("boss")}


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"memory_retrieve_limit": 51}, ["memory_retrieve_limit"]),
        ({"memory_retrieve_limit": "the patient's name"}, ["memory_retrieve_limit"]),
        ({"memory_extraction_model": "the patient's name" * 99}, ["memory_extraction_model"]),
        ({"the patient's name": 1}, []),
        ({"memory_dedup_threshold": 0.99}, []),
    ],
)
async def test_what_cannot_be_used_is_refused_whole_and_not_repeated(client, store, body, fields):
    answer = await client.patch(URL, json={"context_window_size": 8_000, **body})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "setting_invalid")
    assert [field["field"] for field in error["fields"]] == fields
    assert "patient" not in answer.text
    assert await store.overridden() == frozenset()


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("body", ["[]", "[1]", "5", '"x"', "null"])
async def test_what_is_no_object_is_refused(client, store, body):
    answer = await client.patch(URL, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert await store.history() == []


async def test_history_comes_in_pages(client):
    for limit in range(1, 6):
        await client.patch(URL, json={"memory_retrieve_limit": limit})
    await client.patch(URL, json={"memory_extraction_enabled": False})
    first = (await client.get(f"{URL}/history", params={"name": "memory_retrieve_limit", "limit": 3})).json()
    assert [(change["old"], change["new"]) for change in first["changes"]] == [(4, 5), (3, 4), (2, 3)]
    parameters = {"name": "memory_retrieve_limit", "limit": 3, "before": first["next_before"]}
    second = (await client.get(f"{URL}/history", params=parameters)).json()
    assert [(change["old"], change["new"]) for change in second["changes"]] == [(1, 2), (None, 1)]
    assert second["next_before"] is None
    assert first["changes"][0]["changed_at"].endswith("Z")
    assert (await client.get(f"{URL}/history")).json()["changes"][0]["name"] == "memory_extraction_enabled"


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("query", ["limit=0", "limit=501", "before=0", f"before={2**63}", "name=%00", "name=A b"])
async def test_a_page_that_cannot_be_is_refused(client, query):
    assert (await client.get(f"{URL}/history?{query}")).status_code == 422


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("PATCH", ""), ("GET", "/history")])
async def test_settings_are_for_administrators(client, store, authenticator, method, path):
    body = {"json": {"memory_retrieve_limit": 3}} if method == "PATCH" else {}
    unknown = await client.request(method, URL + path, headers={"Authorization": "Bearer nobody"}, **body)
    other = await client.request(method, URL + path, headers=authenticator.headers_of("ann"), **body)
    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in (unknown, other)] == [
        (401, "unauthorised"),
        (403, "forbidden"),
    ]
    assert await store.history() == []


class Down(InMemorySettingsStore):
    async def read(self):
        raise StorageUnavailableError


async def test_a_database_that_is_down_is_503(services, authenticator):
    services = replace(services, memory_settings=Down())
    app = make_app(services)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        answer = await client.get(URL, headers=authenticator.headers_of("boss", admin=True))
    assert answer.status_code == 503


@pytest.mark.slow
def test_openapi_tells_every_setting_and_every_error(app):
    schema = openapi(app)
    get, patch = schema["paths"][URL]["get"], schema["paths"][URL]["patch"]
    assert {"200", "401", "403", "503"} <= get["responses"].keys()
    assert {"200", "400", "401", "403", "413", "415", "422", "503"} <= patch["responses"].keys()
    sent = schema["components"]["schemas"]["SettingsChange"]
    assert sent["properties"].keys() == MemorySettings.model_fields.keys()
    assert sent["additionalProperties"] is False
    limit, null = sent["properties"]["memory_retrieve_limit"]["anyOf"]
    assert (limit["maximum"], "default" in limit, null) == (50, False, {"type": "null"})
    wrong = patch["responses"]["422"]["content"]["application/json"]["schema"]["$ref"]
    assert wrong.endswith("/ErrorAnswer")


def openapi(app: FastAPI):
    from fastapi.openapi.utils import get_openapi

    return get_openapi(title="t", version="1", routes=app.routes)
