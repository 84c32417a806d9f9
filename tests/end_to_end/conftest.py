"""A server as `make dev` starts it, in a project folder of its own."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from testkit.clients import NO_CERTIFICATES
from testkit.ports import free_port

from discreet.access.development import token_for
from discreet.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


@dataclass(frozen=True)
class DevServer:
    """A running `discreet dev`, and how long it took."""

    url: str
    project: Path
    pid: int
    tokens: dict[str, str]
    """As `discreet token` makes them, of ann and bob."""
    start_seconds: float
    """From the start of the process to the first `/ok`."""
    answer_seconds: float
    """From there to the end of the first run that was waited for."""
    first_answer: str

    @property
    def data_dir(self) -> Path:
        """Folder of the embedded database."""
        return self.project / ".discreet"

    def headers(self, subject):
        """Return the headers of anybody, with a token as `discreet token` makes it."""
        return {"authorization": f"Bearer {_token(self.data_dir, subject)}"}


def _token(data_dir, subject):
    return token_for(Settings(_env_file=None, data_dir=data_dir), subject)


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
    port = free_port()
    url, log = f"http://127.0.0.1:{port}", project / "server.log"
    command = [discreet_command, "dev", "--port", str(port), "--token-for", "ann", "--token-for", "bob"]
    with log.open("wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=project,
            env=clean_environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0,  # test_files_are_of_their_owner_alone
        )
    try:
        wait_until_ready(process, url, log)
        started = time.monotonic()
        tokens = {subject: _token(project / ".discreet", subject) for subject in ("ann", "bob")}
        answer = _first_answer(url, tokens["bob"])
        answered = time.monotonic()
        yield DevServer(url, project, process.pid, tokens, started - began, answered - started, answer)
    finally:
        process.terminate()
        assert process.wait(60) == 0


def _first_answer(url, token):
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60, verify=NO_CERTIFICATES) as client:
        thread = client.post("/threads", json={}).raise_for_status().json()["thread_id"]
        run = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Hello!"}]}}
        state = client.post(f"/threads/{thread}/runs/wait", json=run).raise_for_status().json()
    return state["messages"][-1]["content"]


@pytest.fixture(scope="session")
def wait_until_ready():
    """Return what waits until a server answers; it fails with the server's log."""
    return _wait_until_ready


def _wait_until_ready(process, url, log):
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(verify=NO_CERTIFICATES) as client:  # one: to make a client takes as long as to ask ten times
        while time.monotonic() < deadline:
            assert process.poll() is None, log.read_text()
            try:
                if client.get(f"{url}/ok").is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
    pytest.fail(f"The server did not start in {START_SECONDS} s:\n{log.read_text()}")
