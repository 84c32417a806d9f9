"""What holds for every route: who may call it, and what OpenAPI tells of it."""

from __future__ import annotations

import re
from uuid import uuid4

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.routing import Route

from discreet.api.admin.area import PREFIX
from discreet.api.app import make_app

OPEN = {"/memory/health", "/memory/health/live", "/memory/health/ready"}
CONTRACT = {
    ("POST", "/memory/store"),
    ("GET", "/memory/query"),
    ("GET", "/memory/entry/{entry_id}"),
    ("DELETE", "/memory/entry/{entry_id}"),
    ("POST", "/memory/feedback"),
    ("POST", "/memory/search"),
    ("POST", "/memory/session/{session_id}/end"),
    ("GET", "/memory/health"),
    ("GET", "/memory/metrics"),
}


@pytest.fixture
def app(services):
    return make_app(services)


def operations(app):
    return [
        (method, path, operation)
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_contract_is_served(app):
    assert {(method, route.path) for route in app.routes for method in route.methods} >= CONTRACT


async def test_what_a_client_wrote_is_in_no_span(services, authenticator, monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    transport = httpx.ASGITransport(make_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        for path in ("/memory/query?tags=divorced", "/memory/entry/divorced", "/nowhere/divorced"):
            await client.get(path, headers=authenticator.headers_of("ann"))
    assert "divorced" not in "".join(each.to_json() for each in exporter.get_finished_spans())


async def test_no_route_but_health_answers_a_stranger(app):
    """Also with what it would take, and with credentials that are none."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as client:
        for route in app.routes:
            assert isinstance(route, Route)
            if not route.include_in_schema:  # the admin page, which has a form to sign in by, and tests of its own
                assert route.path.startswith(PREFIX)
                continue
            path = re.sub(r"\{\w+\}", str(uuid4()), route.path)
            for method in route.methods:
                for headers in ({}, {"Authorization": "Bearer none"}, {"X-API-Key": "none"}):
                    answer = await client.request(method, path, json={"short_answer": "x"}, headers=headers)
                    assert (answer.status_code == 401) == (route.path not in OPEN), (method, path)
                    assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)


@pytest.mark.slow
def test_the_openapi_is_valid_and_names_the_credentials(app):
    from schemathesis import openapi  # here, as it takes three seconds

    openapi.from_dict(app.openapi()).validate()
    for method, path, operation in operations(app):
        schemes = {name for scheme in operation.get("security", []) for name in scheme}
        assert schemes == (set() if path in OPEN else {"HTTPBearer", "APIKeyHeader"}), (method, path)


def test_every_error_is_documented_in_the_form_that_it_has(app):
    for method, path, operation in operations(app):
        answers = operation["responses"]
        assert path in OPEN or {"401", "503"} <= answers.keys(), (method, path)
        assert "requestBody" not in operation or {"400", "413", "415", "422"} <= answers.keys(), (method, path)
        for status, answer in answers.items():
            if status.startswith(("4", "5")) and path not in OPEN:
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorAnswer"}, (method, path, status)
