"""Spans say what ran, with ids and counts, to a collector on this machine; nothing that anybody said is in what is sent."""

from __future__ import annotations

import gzip
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from testkit.scripts import run_script

from discreet import spans
from discreet.errors import MissingDependencyError
from discreet.otel import exported_spans
from discreet.settings import Settings

TURNS = Path(__file__).with_name("traced_turns.py")
THREAD = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def collector():
    """Where a collector listens, and what it got."""
    bodies = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):  # the library's name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            zipped = self.headers.get("Content-Encoding") == "gzip"
            bodies.append(gzip.decompress(body) if zipped else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_turns_nodes_and_memories_are_told_without_a_word_of_them(database, collector, tmp_path):
    endpoint, bodies = collector
    planted = f"{uuid4().hex[:12]}@example.com"
    environment = {
        **os.environ,
        "DISCREET_DATA_DIR": str(tmp_path),
        "DISCREET_POSTGRES_DSN": database,
        "DISCREET_OTEL": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "DISCREET_EXTRACTION_MODEL": "offline",
        "DISCREET_SENSITIVE_IDS": "hash",  # the planted value is the id of user and thread, too
    }
    done = run_script(TURNS, planted, environment=environment)
    assert done.returncode == 0, done.stderr
    sent = b"".join(bodies)
    assert planted.encode() not in sent
    assert planted.split("@", maxsplit=1)[0].encode() not in sent
    found = [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    names = {span.name for span in found}
    assert names >= {
        "discreet.turn",
        "discreet.node.save_input",
        "discreet.node.memory_gate",
        "discreet.node.retrieve_memories",
        "discreet.node.assistant",
        "discreet.node.persist_filtered",
        "discreet.memory.search",
        "discreet.memory.save",
        "discreet.checkpoint.put",
        "discreet.extraction.take",
    }
    assert not any(span.events for span in found)
    assert not any(span.status.message for span in found)
    turn = next(span for span in found if span.name == "discreet.turn" and THREAD in str(span.attributes))
    below = [span for span in found if span.trace_id == turn.trace_id]
    assert {"discreet.node.assistant", "discreet.memory.search", "discreet.checkpoint.put"} <= {e.name for e in below}
    search = next(span for span in below if span.name == "discreet.memory.search")
    assert {each.key for each in search.attributes} >= {"discreet.user_key", "discreet.limit", "discreet.found"}


@pytest.fixture
def recorded(monkeypatch):
    """The spans that this process makes."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans.trace, "get_tracer", provider.get_tracer)
    return exporter


def test_a_failure_is_told_by_its_class(recorded):
    with pytest.raises(ValueError, match="secret"), spans.span("work"):
        raise ValueError("secret words")
    [span] = recorded.get_finished_spans()
    assert dict(span.attributes) == {"error.type": "ValueError"}
    assert (span.status.is_ok, span.status.description, span.events) == (False, None, ())


def test_only_ids_counts_and_words_of_the_code_are_told(recorded):
    key = uuid4()
    with spans.span(
        "work", key=key, same=str(key), count=3, state="submitting", said="Ann Lee", mail="a@b.example", none=None
    ):
        pass
    [span] = recorded.get_finished_spans()
    told = {"key": str(key), "same": str(key), "count": 3, "state": "submitting"}
    assert dict(span.attributes) == {f"discreet.{name}": value for name, value in told.items()}


async def test_a_stream_that_is_given_up_ends_its_span_without_an_error(recorded):
    async def numbers():
        for number in range(10):
            with spans.span("inside"):
                yield number

    events = spans.under_span(numbers(), "turn")
    assert await anext(events) == 0
    await events.aclose()
    inside, turn = recorded.get_finished_spans()
    assert (inside.name, turn.name) == ("discreet.inside", "discreet.turn")
    assert inside.parent.span_id == turn.context.span_id
    assert turn.status.is_unset


def test_without_the_extra_the_setting_is_refused(monkeypatch):
    monkeypatch.setattr("discreet.otel.find_spec", lambda _: None)
    with (
        pytest.raises(MissingDependencyError, match="opentelemetry-sdk"),
        exported_spans(Settings(_env_file=None, otel=True)),
    ):
        pass
    with exported_spans(Settings(_env_file=None)):
        pass
