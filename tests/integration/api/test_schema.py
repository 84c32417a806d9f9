"""What OpenAPI says is what the server does, for thousands of requests that nobody thought of, against a real database."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace

import httpx
import psycopg
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import utils as conjecture
from testkit.proposals import plant_proposal

from discreet.api.app import make_app

pytestmark = pytest.mark.filterwarnings(
    "ignore:Do not use the `random` module inside strategies", "ignore:Overriding standard format"
)
"""Schemathesis does both."""

HERE = "http://testserver"

EXAMPLES = 100
"""Of each operation and kind of data."""

OPERATIONS = [
    "POST /memory/store",
    "GET /memory/query",
    "GET /memory/entry/{entry_id}",
    "DELETE /memory/entry/{entry_id}",
    "POST /memory/feedback",
    "POST /memory/search",
    "POST /memory/extraction/start",
    "POST /memory/proposals/{proposal_key}/accept",
    "GET /memory/proposals",
    "DELETE /memory/proposals/{proposal_key}",
    "GET /memory/extraction/jobs",
    "GET /memory/extraction/jobs/{job_key}",
    "POST /memory/extraction/jobs/{job_key}/cancel",
    "POST /memory/extraction/jobs/{job_key}/retry",
    "POST /memory/delegations",
    "GET /memory/delegations",
    "DELETE /memory/delegations/{delegate_key}",
    "GET /memory/extraction/status",
    "POST /memory/session/{session_id}/end",
    "GET /memory/health",
    "GET /memory/health/live",
    "GET /memory/health/ready",
    "GET /memory/metrics",
]

REFUSABLE = [*OPERATIONS[:12], *(label for label in OPERATIONS if "/delegations" in label)]
"""The others take nothing, or any text."""

STORED = """
SELECT json_agg(json_build_array(name, rows, contents) ORDER BY name) FROM (
    SELECT 'memory' AS name, count(*) AS rows, sum(hashtextextended(t::text, 0)) AS contents FROM discreet.memory t
    UNION ALL SELECT 'users', count(*), NULL FROM discreet.users
    UNION ALL SELECT 'store_item', count(*), NULL FROM discreet.store_item
    UNION ALL SELECT 'conversation_log', count(*), NULL FROM discreet.conversation_log
    UNION ALL SELECT 'short_term_session', count(*), NULL FROM discreet.short_term_session
    UNION ALL SELECT 'short_term_work', count(*), NULL FROM discreet.short_term_work
    UNION ALL SELECT 'delegation', count(*) FILTER (WHERE revoked_at IS NULL), NULL FROM discreet.delegation
    UNION ALL SELECT 'memory_proposal', count(*), NULL FROM discreet.memory_proposal
    UNION ALL SELECT 'batch_requests', count(*), NULL FROM discreet.batch_requests
    UNION ALL SELECT 'batch_jobs', count(*) FILTER (WHERE is_cancelled), NULL FROM discreet.batch_jobs
) stored
"""


class _Many:
    """Hypothesis' `many` by the interface that hypothesis-jsonschema 0.23 calls, which Hypothesis 6.170 has no more."""

    def __init__(self, data, **sizes):
        self._many = conjecture.many(data, **sizes)
        self._elements = iter(self._many.__enter__())

    def more(self):
        """Begin another element; False, and the end of it, after the last."""
        try:
            next(self._elements)
        except StopIteration:
            self._many.__exit__(None, None, None)
            return False
        return True

    def reject(self):
        """Let the element that was begun not count."""
        self._many.reject()


@pytest.fixture(scope="module")
def schemathesis():
    """Return Schemathesis, imported whole; here, as it takes three seconds, which each worker would spend at collection.

    It imports the rest of itself at its first use, which rewrites assertions of it. Where another thread parses code at that
    moment, as a traceback of the storage's loop does, CPython 3.11 fails (its issue 106905).
    """
    from hypothesis_jsonschema import _from_schema
    from schemathesis import GenerationMode, checks, openapi
    from schemathesis.specs.openapi import checks as of_openapi

    openapi.from_dict({"openapi": "3.1.0", "info": {"title": "", "version": ""}, "paths": {}})
    checks.load_all_checks()
    # Not that all data of the schema is accepted: a time has its range, an id must not be a sensitive value, a user_id must
    # be the caller's. JSON Schema can't say so.
    always = [
        checks.not_a_server_error,
        of_openapi.status_code_conformance,
        of_openapi.content_type_conformance,
        of_openapi.response_schema_conformance,
        of_openapi.response_headers_conformance,
    ]
    with pytest.MonkeyPatch.context() as patch:
        if not hasattr(conjecture.many, "more"):
            patch.setattr(_from_schema, "cu", SimpleNamespace(many=_Many))
        yield SimpleNamespace(
            openapi=openapi,
            positive=GenerationMode.POSITIVE,
            negative=GenerationMode.NEGATIVE,
            checks=always,
            checks_of_bodies=[*always, of_openapi.negative_data_rejection],
        )


@pytest.fixture
def database_rows(database):
    """Return what tells the rows of the database, as a value that changes with them."""
    with psycopg.connect(database, autocommit=True) as connection:
        yield lambda: connection.execute(STORED).fetchone()


@pytest.fixture
def make_things(storage, database, authenticator):
    """Return what makes a thing of a kind that a path names, and returns its id."""

    def make(name):
        if name == "proposal_key":
            return plant_proposal(database, storage.background.key_of(authenticator.identity("ann")))
        if name == "delegate_key":
            ann = authenticator.identity("ann")
            return asyncio.run(storage.delegations.grant(ann, "somebody", by=ann)).delegate_key
        return asyncio.run(storage.background.jobs.open("offline", "rules", lease_seconds=60)).job_key

    return make


@pytest.fixture
def app(storage, make_services):
    return make_app(make_services(storage))


@pytest.fixture
def send(app):
    """Return what sends one request. Schemathesis' own way starts the application each time, and leaves streams open."""

    async def sent(request):
        headers = [(_latin(name), _latin(value)) for name, value in request.headers.items()]
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.request(request.method, request.url, headers=headers, content=request.body)

    with asyncio.Runner() as runner:
        yield lambda **request: runner.run(sent(requests.Request(**request).prepare()))


@pytest.mark.slow
@pytest.mark.parametrize("label", OPERATIONS)
def test_the_server_keeps_to_its_openapi_and_a_refused_call_stores_nothing(
    app, send, authenticator, database_rows, make_things, schemathesis, label
):
    schema = schemathesis.openapi.from_dict(app.openapi())
    operation = schema.find_operation_by_label(label)
    headers = authenticator.headers_of("ann", admin=True)
    known = _some_entries(send, headers)
    seen: Counter[int] = Counter()

    def call(case, chosen):
        if chosen is not None:
            _name_entry(case, known[chosen % len(known)])
            for name in {"proposal_key", "job_key", "delegate_key"} & set(case.path_parameters or ()):
                case.path_parameters[name] = str(make_things(name))
        before = database_rows()
        response = send(**case.as_transport_kwargs(base_url=HERE, headers=headers))
        case.validate_response(response, checks=checks, headers=headers)
        seen[response.status_code] += 1
        if response.status_code >= 400:
            assert database_rows() == before

    modes = [schemathesis.positive, schemathesis.negative] if label in REFUSABLE else [schemathesis.positive]
    # In a query string or a path anything is a text, so that wrong data may be right there.
    checks = schemathesis.checks_of_bodies if operation.body else schemathesis.checks
    for mode in modes:
        # An id that was stored is one of the right kind: with wrong data it would hide what is wrong.
        chosen = st.none() | st.integers(0, 9) if mode is schemathesis.positive else st.none()
        bounded = settings(
            max_examples=EXAMPLES,
            database=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )
        bounded(given(case=operation.as_strategy(generation_mode=mode), chosen=chosen)(call))()
    assert any(status < 300 for status in seen), seen
    assert len(modes) == 1 or any(status >= 400 for status in seen), seen


def _some_entries(send, headers):
    """Store some entries and return their ids."""
    entries = ({"short_answer": f"entry {n}"} for n in range(10))
    stored = [send(method="POST", url=f"{HERE}/memory/store", headers=headers, json=entry) for entry in entries]
    return [answer.json()["entry_id"] for answer in stored]


def _latin(text):
    """Return what a header holds as it goes over the wire."""
    return text if isinstance(text, bytes) else text.encode("latin-1")


def _name_entry(case, entry_id):
    """Make a case one of an entry that is there, if it names one."""
    if "entry_id" in (case.path_parameters or {}):
        case.path_parameters["entry_id"] = entry_id
    elif case.path == "/memory/feedback" and isinstance(case.body, dict):
        # Without a rating or a comment it is refused, which no schema of one field can say, and few cases are drawn with one.
        rating = case.body.get("rating")
        case.body = {"entry_id": entry_id, "rating": 1 if rating is None else rating}
