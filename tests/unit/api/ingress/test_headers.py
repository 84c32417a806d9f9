"""Headers that the server stores or logs."""

import uuid

import pytest

from discreet.api.headers import clean_headers

TRACE = f"20260101T000000000000Z{uuid.UUID(int=7)}"


@pytest.fixture
def passed_on(call, recorder):
    async def passed_on(name, value):
        await call("POST", "/threads", {}, headers=[(name.encode(), value.encode())])
        return dict(recorder.requests[-1]["headers"]).get(name.encode())

    return passed_on


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("baggage", "langsmith-tags=ann@example.com"),
        ("baggage", "langsmith-project=hers"),
        ("tracestate", "a=ann@example.com"),
        ("langsmith-trace", "ann@example.com"),
        ("langsmith-trace", f"{TRACE}.ann@example.com"),
        ("x-request-id", "ann@example.com"),
        ("x-request-id", "4111111111111111"),
        ("x-request-id", "two words"),
        ("x-request-id", "a" * 129),
        ("x-request-id", ""),
    ],
)
async def test_words_of_a_client_are_not_passed_on(passed_on, name, value):
    assert await passed_on(name, value) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("langsmith-trace", TRACE),
        ("langsmith-trace", f"{TRACE}.{TRACE}"),
        ("x-request-id", str(uuid.UUID(int=7))),
        ("x-request-id", "edge-01:req.42_b"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("accept", "text/event-stream"),
    ],
)
async def test_ids_are_passed_on(passed_on, name, value):
    assert await passed_on(name, value) == value.encode()


def test_names_may_be_in_capitals(redactor):
    assert clean_headers([(b"Baggage", b"a=b"), (b"Accept", b"*/*")], redactor) == [(b"Accept", b"*/*")]
