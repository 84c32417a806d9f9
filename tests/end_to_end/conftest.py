"""A server as `make dev` starts it, in a project folder of its own."""

import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from discreet.access.development import token_for
from discreet.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


@dataclass(frozen=True)
class DevServer:
    """A running `discreet dev`."""

    url: str
    project: Path
    pid: int

    @property
    def data_dir(self) -> Path:
        """Folder of the embedded database."""
        return self.project / ".discreet"

    def headers(self, subject):
        """Return the headers of somebody who has a token."""
        settings = Settings(_env_file=None, data_dir=self.data_dir)
        return {"authorization": f"Bearer {token_for(settings, subject)}"}


@pytest.fixture(scope="session")
def discreet_command():
    """Path of the installed command."""
    return str(Path(sys.executable).parent / "discreet")


@pytest.fixture(scope="session")
def clean_environment():
    """The environment without settings of whoever runs the tests."""
    private = ("DISCREET_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")
    return {name: value for name, value in os.environ.items() if not name.startswith(private)}


@pytest.fixture(scope="session")
def make_project():
    """Return what puts into a folder what langgraph.json names, and nothing else of the checkout."""

    def make_project(folder):
        shutil.copy(ROOT / "langgraph.json", folder)
        (folder / "graph").mkdir()
        shutil.copy(ROOT / "graph" / "server.py", folder / "graph")
        return folder

    return make_project


@pytest.fixture(scope="session")
def project(tmp_path_factory, make_project):
    """The folder of `dev_server`."""
    return make_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def dev_server(project, discreet_command, clean_environment, wait_until_ready):
    """`discreet dev` until the tests are over; SIGTERM must then stop all of it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = project / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [discreet_command, "dev", "--port", str(port)],
            cwd=project,
            env=clean_environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_ready(process, f"http://127.0.0.1:{port}", log)
        yield DevServer(f"http://127.0.0.1:{port}", project, process.pid)
    finally:
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture(scope="session")
def wait_until_ready():
    """Return what waits until a server answers; it fails with the server's log."""
    return _wait_until_ready


def _wait_until_ready(process, url, log):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/ok").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail(f"The server did not start in {START_SECONDS} s:\n{log.read_text()}")
