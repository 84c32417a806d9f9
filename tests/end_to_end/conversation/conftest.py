"""A `discreet dev` that gives tokens to two people, and the time from its start to its first answer."""

import re
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

TOKEN = re.compile(r"^Token of (\S+?), who is one user:\n(\S+)$", re.MULTILINE)
"""As the command prints them."""


@dataclass(frozen=True)
class TalkServer:
    """A running `discreet dev`, and how long it took."""

    url: str
    project: Path
    tokens: dict[str, str]
    start_seconds: float
    """From the start of the process to the first `/ok`."""
    answer_seconds: float
    """From there to the end of the first run that was waited for."""
    first_answer: str

    def headers(self, subject):
        """Return the headers of ann or bob."""
        return {"authorization": f"Bearer {self.tokens[subject]}"}


@pytest.fixture(scope="session")
def talk_server(tmp_path_factory, make_project, discreet_command, clean_environment, wait_until_ready):
    """The server until the tests are over, in a folder of its own."""
    project = make_project(tmp_path_factory.mktemp("conversation"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
        )
    try:
        wait_until_ready(process, url, log)
        started = time.monotonic()
        tokens = dict(TOKEN.findall(log.read_text()))
        answer = _first_answer(url, tokens["bob"])
        answered = time.monotonic()
        yield TalkServer(url, project, tokens, started - began, answered - started, answer)
    finally:
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture(scope="session")
def admin_token(talk_server, discreet_command, clean_environment):
    """What `discreet token` prints for an administrator in that folder."""
    printed = subprocess.run(
        [discreet_command, "token", "developer", "--admin"],
        cwd=talk_server.project,
        env=clean_environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return printed.stdout.strip()


def _first_answer(url, token):
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
        thread = client.post("/threads", json={}).raise_for_status().json()["thread_id"]
        run = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Hello!"}]}}
        state = client.post(f"/threads/{thread}/runs/wait", json=run).raise_for_status().json()
    return state["messages"][-1]["content"]
