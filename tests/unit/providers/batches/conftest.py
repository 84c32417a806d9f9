"""A server of batches, and providers of all companies at it."""

import pytest

from discreet.ports import BatchRequest
from discreet.providers.batches import AnthropicBatchProvider, GoogleBatchProvider, OpenAIBatchProvider
from discreet.testing.batch_server import batch_server

pytest.register_assert_rewrite("discreet.testing.batch_conformance")

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
PROVIDERS = {each.name: each for each in (OpenAIBatchProvider, AnthropicBatchProvider, GoogleBatchProvider)}


@pytest.fixture
def ask():
    """Return a function that makes so many prompts."""

    def make(count=2, **options):
        return [
            BatchRequest(custom_id=f"p-{number}", instruction="Echo.", data=f"Data {number}", schema=SCHEMA, **options)
            for number in range(count)
        ]

    return make


@pytest.fixture
def server():
    with batch_server(str.upper) as server:
        yield server


@pytest.fixture
async def open_provider(server):
    """Return a function that opens a provider at the server, by its name. It tries again for longer than its client takes to load."""
    opened = []

    def make(name, **options):
        given = {"api_keys": ["key-1"], "base_url": server.base_urls[name], "retry_seconds": 20.0, **options}
        opened.append(PROVIDERS[name](**given))
        return opened[-1]

    yield make
    for each in opened:
        await each.aclose()


@pytest.fixture(params=PROVIDERS)
def company(request):
    return request.param


@pytest.fixture
def provider(company, open_provider):
    return open_provider(company)
