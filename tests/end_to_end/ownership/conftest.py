"""A `langgraph dev` where two people have tokens."""

import json
import secrets
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from discreet.access.development import make_token

sys.path.insert(0, str(Path(__file__).parent))

from ownership_battery.things import make_things

ROOT = Path(__file__).resolve().parents[3]

CONFIG = {
    "dependencies": ["."],
    "graphs": {"agent": "./graph/server.py:graph", "waiting": "./wiring.py:waiting"},
    "checkpointer": {"path": "./graph/server.py:checkpointer"},
    "store": {"path": "./graph/server.py:store"},
    "auth": {"path": "discreet.api.server:auth", "disable_studio_auth": False},
    "http": {
        "app": "./wiring.py:app",
        "disable_mcp": True,
        "disable_a2a": True,
        "disable_webhooks": True,
        "configurable_headers": {"excludes": ["*"]},
        "logging_headers": {"excludes": ["*"]},
    },
}


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    project: Path
    secret: str

    def headers(self, subject):
        """Return the headers that `subject` sends."""
        return {"authorization": f"Bearer {make_token(self.secret, subject)}"}

    def client(self, subject):
        """Return a client with a token of `subject`."""
        return httpx.AsyncClient(base_url=self.url, headers=self.headers(subject), timeout=60)


@pytest.fixture(scope="session")
def ownership_server(tmp_path_factory, clean_environment, wait_until_ready):
    """`langgraph dev` with the auth of this project, until the tests are over."""
    project = tmp_path_factory.mktemp("ownership")
    (project / "langgraph.json").write_text(json.dumps(CONFIG))
    (project / "graph").mkdir()
    shutil.copy(ROOT / "graph" / "server.py", project / "graph")
    shutil.copy(Path(__file__).with_name("wiring.py"), project)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    secret = secrets.token_urlsafe(32)
    environment = {
        **clean_environment,
        "DISCREET_JWT_SECRET": secret,
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
    }
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    command += ["--n-jobs-per-worker", "10"]
    with (project / "server.log").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=project, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait_until_ready(process, f"http://127.0.0.1:{port}", project / "server.log")
        yield Server(f"http://127.0.0.1:{port}", project, secret)
    finally:
        process.terminate()
        process.wait(60)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def ann(ownership_server):
    """Somebody who has things."""
    async with ownership_server.client("ann@example.com") as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def bob(ownership_server):
    """Somebody who wants them."""
    async with ownership_server.client("bob@example.com") as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def things(ann):
    """What is Ann's."""
    return await make_things(ann)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def bobs(bob):
    """What is Bob's."""
    return await make_things(bob)
