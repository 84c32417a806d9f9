"""`discreet demo --web`: the playground in a browser on this machine, over the database of the demonstration."""

from __future__ import annotations

import socket
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from threading import Thread

from rich.console import Console

from discreet.cli.child_server import check_free, first_free, run_server
from discreet.cli.demo import fresh_folder
from discreet.errors import MissingDependencyError
from discreet.settings import child_environment

APP = "discreet.api.playground.alone:app"
HOST = "127.0.0.1"
DEFAULT_PORT = 8100
PATH = "/memory/playground"

COMMAND = "discreet demo --web"

START_SECONDS = 120
"""That a slow machine may need until the page is there."""
STOP_SECONDS = 15


def run_demo_web(*, port: int | None) -> int:
    """Serve the playground until Ctrl-C or SIGTERM; return the exit code. Without `port` it is the first free one from 8100 on.

    Raises:
        ConfigurationError: The port is taken, or the folder of the demonstration can't be used.
        MissingDependencyError: uvicorn is not installed.
    """
    if find_spec("uvicorn") is None or find_spec("fastapi") is None:
        raise MissingDependencyError("`discreet demo --web` needs a server: pip install uvicorn fastapi-offline")
    if port is None:
        port = first_free(HOST, DEFAULT_PORT, command=COMMAND)
    check_free(HOST, port, command=COMMAND)
    fresh_folder()
    console = Console(stderr=True)
    console.print("Starting the embedded database …")
    command = [sys.executable, "-m", "uvicorn", APP, "--host", HOST, "--port", str(port), "--lifespan", "on"]
    command += ["--log-level", "warning", "--no-access-log", "--no-proxy-headers", "--no-server-header"]
    tell = Thread(target=_tell_when_there, args=(port, console), name="discreet demo", daemon=True)
    code = run_server(command, child_environment(), stop_seconds=STOP_SECONDS, meanwhile=tell.start)
    return code or 0


def _tell_when_there(port: int, console: Console) -> None:
    """Say where the page is, once it is there."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            console.print(
                f"Open http://{HOST}:{port}{PATH} in a browser on this machine. Ctrl-C stops it.", soft_wrap=True
            )
            return
        time.sleep(0.1)
