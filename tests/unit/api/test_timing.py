"""Requests count under their route's template, whatever they name and however they end."""

import asyncio

import httpx
import pytest
from prometheus_client import REGISTRY

from discreet.api.app import make_app
from discreet.api.timing import timed


def counted(**labels):
    return REGISTRY.get_sample_value("discreet_request_seconds_count", labels) or 0


@pytest.fixture
def client(services):
    return httpx.AsyncClient(transport=httpx.ASGITransport(make_app(services)), base_url="http://testserver")


async def test_a_request_counts_under_its_route_and_status(client):
    labels = {"method": "GET", "route": "/memory/entry/{entry_id}", "status": "401"}
    before = counted(**labels)
    for entry in ("ann@example.com", "another"):
        await client.get(f"/memory/entry/{entry}")
    assert counted(**labels) == before + 2
    routes = {
        sample.labels["route"] for metric in REGISTRY.collect() for sample in metric.samples if "route" in sample.labels
    }
    assert not {route for route in routes if "ann" in route}


async def test_a_method_that_a_route_has_not_is_no_label(client):
    answer = await client.request("ANN", "/memory/search")
    labels = {"method": "OTHER", "route": "/memory/search", "status": str(answer.status_code)}
    assert counted(**labels) >= 1


@pytest.mark.parametrize(("raised", "status"), [(RuntimeError, "500"), (asyncio.CancelledError, "499")])
async def test_an_answer_that_never_began_counts_by_what_stopped_it(raised, status):
    labels = {"method": "GET", "route": "/memory/x", "status": status}
    before = counted(**labels)
    with pytest.raises(raised), timed("/memory/x", {"GET"}, {"method": "GET"}, None):
        raise raised
    assert counted(**labels) == before + 1
