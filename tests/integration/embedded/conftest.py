"""Data folders that need no initdb of their own, and clients in processes of their own."""

import contextlib
import os
import subprocess
import sys

import psutil
import psycopg
import pytest
from testkit.scripts import ScriptProcess

from discreet.storage.embedded import lease_server

collect_ignore = [] if os.geteuid() == 0 else ["test_as_root.py"]  # these tests switch between users

_CLIENT = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
from discreet.storage.embedded import lease_server
with lease_server(Path(sys.argv[1]), version=int(sys.argv[2])) as dsn:
    print(dsn, flush=True)
    sys.stdin.read()
"""


class Client:
    """A process that holds a lease until it is told to end, or killed."""

    def __init__(self, data_dir, version=18, *, python=sys.executable, **options):
        """Start it; with options of `subprocess.Popen` in an interpreter of its own."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = (
            subprocess.Popen([python, "-c", _CLIENT, data_dir, str(version)], text=True, **pipes, **options)
            if options
            else ScriptProcess(_CLIENT, data_dir, version)
        )

    def dsn(self):
        """Wait for the server."""
        line = self.process.stdout.readline().strip()
        assert line, self.process.stderr.read()
        return line

    def refusal(self):
        """Wait until the client has failed; return what it wrote to stderr."""
        assert self.process.stdout.readline() == ""
        return self.process.stderr.read()

    def end(self):
        """End in an orderly way; return what it wrote to stderr."""
        self.process.stdin.close()
        self.process.wait(60)
        return self.process.stderr.read()

    def kill(self):
        """End as by `kill -9`."""
        self.process.kill()
        self.process.wait(60)

    def close(self):
        """Leave nothing behind, whatever the test did."""
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


@pytest.fixture
def start_client():
    """Return a function that starts a client; takes what `Client` takes."""
    with contextlib.ExitStack() as clients:

        def start(*arguments, **options):
            client = Client(*arguments, **options)
            clients.callback(client.close)
            return client

        yield start


@pytest.fixture
def version():
    """Return the version under test; a test of both parametrises it."""
    return 18


@pytest.fixture(scope="session")
def made_folder(tmp_path_factory):
    """Return a function that gives the data folder of a version, made once a session, with the table `kept` in it."""
    made = {}

    def make(version):
        if version not in made:
            made[version] = tmp_path_factory.mktemp(f"made-{version}") / "data"
            with lease_server(made[version], version=version) as dsn, psycopg.connect(dsn) as connection:
                connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        return made[version]

    return make


@pytest.fixture
def data_dir(tmp_path, made_folder, version):
    """Return a data folder of this test alone: a copy of a made one, which takes a tenth of the time of initdb."""
    target = tmp_path / "data"
    subprocess.run(["cp", "-a", made_folder(version), target], check=True)
    return target


@pytest.fixture
def ask():
    """Return a function that runs a query and gives the first value of its first row."""

    def run(dsn, query):
        with psycopg.connect(dsn) as connection:
            return connection.execute(query).fetchone()[0]

    return run


@pytest.fixture
def postmaster():
    """Return a function that gives the first process of a server; its parent is the supervisor."""

    def find(dsn):
        with psycopg.connect(dsn) as connection:
            return psutil.Process(connection.info.backend_pid).parent()

    return find


@pytest.fixture
def alive():
    """Return a function that tells whether a process runs; an ended one may still wait for init to reap it."""

    def test(process):
        try:
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:  # it ended between the two questions
            return False

    return test
