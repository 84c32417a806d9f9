"""`discreet mcp` as a client starts it, over one embedded database."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from testkit.keys import IDENTITY_KEY_SETTING

from discreet.storage.embedded import lease_server


@pytest.fixture(scope="session")
def held_folder(tmp_path_factory):
    """The data folder, whose database runs until the tests are over."""
    folder = tmp_path_factory.mktemp("mcp")
    with lease_server(folder / ".discreet") as dsn:
        yield folder, dsn


@pytest.fixture(scope="session")
def variables(held_folder):
    """What a client's configuration has under `env`."""
    folder, _ = held_folder
    return {"DISCREET_DATA_DIR": str(folder / ".discreet"), "DISCREET_IDENTITY_KEY": IDENTITY_KEY_SETTING}


@pytest.fixture
def on_stdio(discreet_command, variables, tmp_path):
    """Return a session of the SDK's client with a process of its own; what that says besides is in `stderr`."""

    @asynccontextmanager
    async def connect(*arguments, **more):
        server = StdioServerParameters(
            command=discreet_command, args=["mcp", *arguments], env={**variables, **more}, cwd=tmp_path
        )
        with (tmp_path / "stderr").open("a+") as stderr:
            async with stdio_client(server, errlog=stderr) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                yield session

    return connect
