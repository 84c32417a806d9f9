"""Whoever is killed with `kill -9`, nothing stays behind and the next client gets its data."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded import lease_server
from discreet.storage.embedded.account import account_for
from discreet.storage.embedded.binaries import copy_binaries, find_binaries
from discreet.storage.embedded.endpoint import make_temporary_folder

BOTH = pytest.mark.parametrize("version", [16, 18])


@pytest.fixture
def ends(alive):
    """Return a function that waits until a process has ended."""

    def wait(process):
        deadline = time.monotonic() + 20
        while alive(process):
            assert time.monotonic() < deadline, "still running"
            time.sleep(0.02)

    return wait


@pytest.mark.slow
@BOTH
def test_the_server_stops_when_its_last_client_is_killed(data_dir, version, start_client, postmaster, ends):
    client = start_client(data_dir, version)
    server = postmaster(client.dsn())
    client.kill()
    ends(server)
    with lease_server(data_dir, version=version) as dsn:
        assert postmaster(dsn) != server


@pytest.mark.slow
def test_a_killed_client_does_not_take_the_server_from_others(data_dir, start_client, postmaster, alive):
    client = start_client(data_dir)
    client.dsn()
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        client.kill()
        with lease_server(data_dir) as again:
            assert postmaster(again) == server
    assert not alive(server)


@pytest.mark.slow
def test_a_client_killed_during_the_very_first_start_is_no_obstacle(tmp_path, start_client, ask):
    client = start_client(tmp_path / "data")
    folder = tmp_path / "data" / "postgres-18"
    while not list(folder.glob("new-*/PG_VERSION")):
        assert client.process.poll() is None
        time.sleep(0.005)
    client.kill()
    for _ in range(2):  # what the killed client's initdb still writes during the first is removed by the second
        with lease_server(tmp_path / "data") as dsn:
            assert ask(dsn, "SELECT 1") == 1
    assert not list(folder.glob("new-*"))


@pytest.mark.slow
@BOTH
def test_a_killed_server_is_restarted_by_the_next_client_under_the_same_dsn(data_dir, version, postmaster, ends, ask):
    with lease_server(data_dir, version=version) as dsn:
        with psycopg.connect(dsn) as connection:
            connection.execute("UPDATE kept SET answer = 43")
        server = postmaster(dsn)
        server.kill()
        ends(server)
        with lease_server(data_dir, version=version) as again:
            assert again == dsn
            assert ask(dsn, "SELECT answer FROM kept") == 43
            assert postmaster(dsn) != server


@pytest.mark.slow
def test_a_client_may_leave_after_its_server_was_killed(data_dir, postmaster, ends, ask):
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        server.kill()
        ends(server)
    assert not Path((data_dir / "postgres-18" / "socket").read_text()).exists()
    with lease_server(data_dir) as dsn:
        assert ask(dsn, "SELECT answer FROM kept") == 42


@pytest.mark.slow
def test_a_server_that_lost_its_supervisor_is_adopted_and_stops_with_the_last_lease(data_dir, postmaster, ends, alive):
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        supervisor = server.parent()
        supervisor.kill()
        ends(supervisor)
        with lease_server(data_dir) as again:
            assert postmaster(again) == server
        assert alive(server)
    assert not alive(server)


@pytest.mark.slow
def test_the_last_lease_stops_a_server_that_lost_its_supervisor(data_dir, postmaster, ends, alive):
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        supervisor = server.parent()
        supervisor.kill()
        ends(supervisor)
    assert not alive(server)


@pytest.mark.slow
def test_an_orphan_of_killed_client_and_supervisor_is_adopted(data_dir, start_client, postmaster, ends, alive):
    client = start_client(data_dir)
    server = postmaster(client.dsn())
    supervisor = server.parent()
    supervisor.kill()
    client.kill()
    ends(supervisor)
    with lease_server(data_dir) as dsn:
        assert postmaster(dsn) == server
    assert not alive(server)


@pytest.mark.slow
def test_client_supervisor_and_server_killed_together_lose_nothing(data_dir, start_client, postmaster, ends, ask):
    client = start_client(data_dir)
    server = postmaster(client.dsn())
    supervisor = server.parent()
    for process in (supervisor, server, client):
        process.kill()
    ends(server)
    with lease_server(data_dir) as dsn:
        assert ask(dsn, "SELECT answer FROM kept") == 42


@pytest.mark.slow
def test_a_terminated_supervisor_stops_its_server_in_order(data_dir, postmaster, ends):
    with lease_server(data_dir) as dsn:
        server = postmaster(dsn)
        server.parent().terminate()
        ends(server)
    assert "database system is shut down" in (data_dir / "postgres-18" / "server.log").read_text()


@pytest.mark.fast_cases(1)
@BOTH
@pytest.mark.parametrize("left_behind", ["", "1", "pid of a living process"])
def test_a_useless_pid_file_is_no_obstacle(data_dir, version, left_behind, ask):
    """It is truncated, or somebody else has got the number since; PostgreSQL itself refuses to start over either."""
    account = account_for(data_dir)
    with subprocess.Popen(["sleep", "60"], **account.identity()) as stranger:
        text = f"{stranger.pid}\n{data_dir}\n1\n5432\n" if left_behind.startswith("pid") else left_behind
        (data_dir / f"postgres-{version}" / "data" / "postmaster.pid").write_text(text)
        with lease_server(data_dir, version=version) as dsn:
            assert ask(dsn, "SELECT answer FROM kept") == 42
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.slow
@BOTH
def test_a_server_that_somebody_started_by_hand_is_left_alone(data_dir, version):
    folder = data_dir / f"postgres-{version}"
    account = account_for(folder)
    socket_folder = make_temporary_folder(account)
    descriptor = os.open(folder, os.O_RDONLY)
    place = folder / "data" if account.is_ours else f"/proc/self/fd/{descriptor}/data"
    # Copied, because the server's user may have no way to those that root has installed.
    programs = copy_binaries(find_binaries(version), socket_folder / "programs")
    by_hand = subprocess.Popen(
        [programs / "bin" / "postgres", "-D", place, "-k", socket_folder],
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[descriptor],
        **account.identity(),
    )
    os.close(descriptor)
    with by_hand:
        while "ready to accept" not in by_hand.stderr.readline():
            assert by_hand.poll() is None
        with (
            pytest.raises(EmbeddedServerError, match=r"server\.log tells why"),
            lease_server(data_dir, version=version),
        ):
            pass
        assert "still in use" in (folder / "server.log").read_text()
        assert by_hand.poll() is None
        by_hand.send_signal(signal.SIGINT)
    shutil.rmtree(socket_folder)
