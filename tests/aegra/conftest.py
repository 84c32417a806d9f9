"""Aegra with two processes that take requests and two that run graphs, over one PostgreSQL and one Redis."""

import json
import secrets
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import pytest_asyncio
from testkit.aegra import aegra

HERE = Path(__file__).parent
SUPPORT = HERE.parent / "support"
LEAKY = HERE.parent / "end_to_end" / "leaks" / "leaky_project" / "leaky.py"

# Aegra needs Python >= 3.12 and pins libraries of its own: `make test-aegra` runs these in an environment that has it.
collect_ignore_glob = ["test_*.py"] if find_spec("aegra_api") is None else []

CONFIG = {
    "dependencies": ["."],
    "graphs": {name: f"./wiring.py:{name}" for name in ("agent", "extract", "leaky", "offline", "waiting")},
    "auth": {"path": "discreet.api.aegra.server:auth"},
    "http": {"app": "discreet.api.aegra.server:app"},
}
sys.path.insert(0, str(HERE))


@pytest.fixture(scope="session")
def seed():
    """What the values that are planted follow from; the server has it too."""
    return secrets.randbits(64)


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A folder with all that aegra.json names."""
    folder = tmp_path_factory.mktemp("aegra")
    (folder / "aegra.json").write_text(json.dumps(CONFIG))
    shutil.copy(HERE / "wiring.py", folder)
    shutil.copy(LEAKY, folder)
    for package in (SUPPORT / "leak_suite", HERE.parent / "kit"):
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="session")
def server(project, seed, make_database, redis_server):
    """The server, until the tests are over."""
    with aegra(project, make_database, redis_server, config="aegra.json", LEAK_SEED=str(seed)) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def ann(server):
    """Somebody who has things."""
    async with server.client("ann@example.com") as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def ann_there(server):
    """The same person at the other process."""
    async with server.client("ann@example.com", url=server.urls[1]) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def bob(server):
    """Somebody else, at the other process."""
    async with server.client("bob@example.com", url=server.urls[1]) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def nobody(server):
    """Somebody without a token."""
    async with server.client(None) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def carol(server, token):
    """Somebody new in each test, at the other process."""
    async with server.client(f"carol-{token}@example.com", url=server.urls[1]) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def carol_here(server, token):
    """The same person at the first process."""
    async with server.client(f"carol-{token}@example.com") as client:
        yield client
