"""What LangSmith gets: a server of our own on loopback takes its place and keeps what is sent."""

import gzip
import json
import os
import secrets
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("traced_turn.py")
BATCHES = {
    "use_multipart_endpoint": True,
    "scale_up_qsize_trigger": 1000,
    "scale_up_nthreads_limit": 16,
    "scale_down_nempty_trigger": 4,
    "size_limit": 100,
    "size_limit_bytes": 20_000_000,
}


class Collector(BaseHTTPRequestHandler):
    """Takes what a LangSmith client sends."""

    def do_GET(self):
        self._answer({"version": "0.13", "batch_ingest_config": BATCHES})

    def do_POST(self):
        body = self._chunks() if self.headers.get("Transfer-Encoding") == "chunked" else self._sized()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.headers.get("Content-Encoding") in {None, "gzip"}, "could not be searched"
        self.server.received.append(f"{self.path} {self.headers}".encode() + body)
        self._answer({})

    do_PATCH = do_POST

    def _sized(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _chunks(self):
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Keep the tests' output clean."""


@pytest.fixture
def langsmith_server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.received = []
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def planted():
    """Values that no recogniser knows, so that hiding is what is tested; letters, so that no encoding changes them."""
    places = ("said", "answered", "argument", "failure", "tag", "about", "run name", "header")
    return {place: f"planted {place} of {secrets.token_hex(8)}" for place in places}


@pytest.fixture
def traced(langsmith_server, planted):
    def run(mode, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LANG")}
        environment["LANGSMITH_ENDPOINT"] = f"http://127.0.0.1:{langsmith_server.server_port}"
        environment |= {"LANGSMITH_API_KEY": secrets.token_hex(8), "LANGSMITH_DISABLE_RUN_COMPRESSION": "true"}
        command = [sys.executable, str(SCRIPT), mode, *planted.values()]
        done = subprocess.run(
            command, env=environment | variables, check=True, capture_output=True, text=True, timeout=60
        )
        sent = b"\n".join(langsmith_server.received).decode(errors="replace")
        return sent, done.stderr, {place for place, value in planted.items() if value in sent}

    return run


ON = {"LANGSMITH_TRACING": "true"}


def test_without_us_every_planted_value_would_be_sent(traced, planted):
    _, _, found = traced("control", **ON)
    assert found == set(planted)


def test_langsmiths_own_switches_leave_errors_tags_and_names(traced):
    hide = {f"LANGSMITH_HIDE_{what}": "true" for what in ("INPUTS", "OUTPUTS", "METADATA")}
    _, _, found = traced("control", **ON, **hide)
    assert {"failure", "tag", "run name"} <= found


def test_hidden_traces_tell_what_ran_and_hold_no_planted_value(traced):
    sent, _, found = traced("hidden", **ON)
    assert found == set()
    for told in ("assistant", "look_up", "FakeListChatModel", "ValueError", "langgraph_node", "dotted_order"):
        assert told in sent


def test_hidden_allows_tracing_and_does_not_turn_it_on(traced, planted):
    planted["header"] = ""
    sent, _, _ = traced("hidden", LANGSMITH_TRACING="false")
    assert sent == ""


@pytest.mark.parametrize("variables", [ON, {}])
def test_off_sends_nothing_whatever_langsmiths_variables_say(traced, variables):
    sent, log, _ = traced("off", **variables)
    assert sent == ""
    assert ("tracing_turned_off" in log) == bool(variables)
