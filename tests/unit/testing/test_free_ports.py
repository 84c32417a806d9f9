import itertools
import socket

import pytest
from testkit import ports


@pytest.fixture(autouse=True)
def anew(monkeypatch):
    monkeypatch.setattr(ports, "_turns", itertools.count())


def test_no_port_is_given_twice():
    given = [ports.free_port() for _ in range(50)]
    assert len(set(given)) == 50


def test_workers_of_one_run_share_none(monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    given = []
    for worker in ("gw0", "gw1", "gw2"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        monkeypatch.setattr(ports, "_turns", itertools.count())
        given.append({ports.free_port() for _ in range(50)})
    assert len(set.union(*given)) == 150


def test_what_the_kernel_gives_to_connections_is_left_to_it(monkeypatch, tmp_path):
    monkeypatch.setattr(ports, "EPHEMERAL", tmp_path / "range")
    ports.EPHEMERAL.write_text("32768\t60999\n")
    assert 20_000 <= ports.free_port() < 32_768
    ports.EPHEMERAL.write_text("1024\t65535\n")
    assert 20_000 <= ports.free_port() < 60_000


def test_a_port_that_is_taken_is_passed_over(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", ports.free_port()))
        monkeypatch.setattr(ports, "_turns", itertools.count())
        assert ports.free_port() != taken.getsockname()[1]
