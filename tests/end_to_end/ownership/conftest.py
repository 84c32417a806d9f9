"""A `langgraph dev` where two people have tokens."""

import json
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_asyncio
from ownership_battery.things import Untouched, make_things
from testkit.api_servers import ApiServer
from testkit.clients import local_client, local_sdk
from testkit.ports import free_port

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


@pytest.fixture(scope="session")
def ownership_server(tmp_path_factory, clean_environment, wait_until_ready):
    """`langgraph dev` with the auth of this project, until the tests are over."""
    project = tmp_path_factory.mktemp("ownership")
    (project / "langgraph.json").write_text(json.dumps(CONFIG))
    (project / "graph").mkdir()
    shutil.copy(ROOT / "graph" / "server.py", project / "graph")
    shutil.copy(Path(__file__).with_name("wiring.py"), project)
    port = free_port()
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
        urls = (f"http://127.0.0.1:{port}",)
        yield ApiServer(urls=urls, folder=project, secret=secret)
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
async def nobody(ownership_server):
    """Somebody without a token."""
    async with local_client(ownership_server.url) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def strangers(ownership_server, nobody):
    """Those who have no token, by what one calls them."""
    async with local_client(ownership_server.url, {"x-auth-scheme": "langsmith"}) as studio:
        yield {"nobody": nobody, "the Studio": studio}


@pytest_asyncio.fixture(loop_scope="session")
async def carol(ownership_server, token):
    """Somebody new in each test: what a test leaves behind, also under names of Ann's, is in nobody else's lists."""
    async with ownership_server.client(f"carol-{token}@example.com") as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def carols_sdk(ownership_server, token):
    """The same with LangGraph's SDK."""
    async with local_sdk(ownership_server.url, ownership_server.headers(f"carol-{token}@example.com")) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def things(ann):
    """What is Ann's."""
    return await make_things(ann)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def untouched(ann, things):
    """What is told of Ann's things; after all tests it has to be the same."""
    untouched = Untouched(ann, things)
    await untouched.check()
    yield untouched
    await untouched.check()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def bobs(bob):
    """What is Bob's."""
    return await make_things(bob)
