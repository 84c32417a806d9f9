"""`discreet serve` without what it needs."""

from __future__ import annotations

import socket
import sys

import pytest
from testkit.ports import free_port

from discreet.cli.child_server import check_free, first_free
from discreet.cli.serve import run_serve
from discreet.errors import ConfigurationError, MissingDependencyError


def test_without_uvicorn_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(sys.modules[run_serve.__module__], "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="pip install uvicorn"):
        run_serve(host="127.0.0.1", port=8080, workers=1)


def test_a_port_for_metrics_that_is_taken_is_told_before_anything_starts(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(sys.modules[run_serve.__module__], "run_server", None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("DISCREET_METRICS_PORT", str(taken.getsockname()[1]))
        with pytest.raises(ConfigurationError, match="DISCREET_METRICS_PORT"):
            run_serve(host="127.0.0.1", port=free_port(), workers=2)


def test_the_first_free_port_is_the_next_one_that_nothing_listens_on():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert first_free("127.0.0.1", port, command="discreet x") > port
        with pytest.raises(ConfigurationError, match=r"Choose another one: discreet x --port"):
            check_free("127.0.0.1", port, command="discreet x")
