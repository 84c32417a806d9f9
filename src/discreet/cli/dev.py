"""`discreet dev`: the LangGraph development server over the embedded database."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from discreet.cli.session import opened_storage
from discreet.errors import ConfigurationError, MissingDependencyError
from discreet.settings import child_environment, load_settings

CONFIG = Path("langgraph.json")
HOST = "127.0.0.1"
DEFAULT_PORT = 2024
"""LangGraph's own default, which its Studio and its documentation name."""

STOP_SECONDS = 20
"""The server finishes running turns before it ends."""

QUIET = {
    # What the server would otherwise send out: usage figures, a version check, traces. A value set by the user wins.
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
}

STUDIO_USER = "studio"
"""Who speaks when the Studio names nobody."""


def run_dev(*, port: int | None) -> int:
    """Run `langgraph dev` on 127.0.0.1 until it ends; return its exit code.

    Without `port` it is the first free one from 2024 on.

    Raises:
        ConfigurationError: There is no langgraph.json here, or the port is taken.
        MissingDependencyError: langgraph-cli[inmem] is not installed.
        StorageError: The database can't be used.
    """
    if not CONFIG.is_file():
        raise ConfigurationError("There is no langgraph.json here. Run this in the folder that holds yours.")
    if find_spec("langgraph_cli") is None or find_spec("langgraph_api") is None:
        raise MissingDependencyError("`discreet dev` needs the LangGraph server: pip install 'langgraph-cli[inmem]'")
    console = Console(stderr=True)
    port = _chosen_port(port)
    with opened_storage(console):
        console.print(f"API on http://{HOST}:{port}, its documentation on /docs. Ctrl-C stops it.")
        command = [sys.executable, "-m", "langgraph_cli", "dev", "--config", str(CONFIG), "--no-browser"]
        command += ["--no-reload", "--host", HOST, "--port", str(port)]
        environment = child_environment(**QUIET, DISCREET_DEFAULT_USER=load_settings().default_user or STUDIO_USER)
        with subprocess.Popen(command, env=environment) as server:  # noqa: S603  # our own arguments
            return _wait(server)


def _chosen_port(port: int | None) -> int:
    candidates = range(DEFAULT_PORT, DEFAULT_PORT + 100) if port is None else [port]
    free = next((candidate for candidate in candidates if _is_free(candidate)), None)
    if free is None:
        raise ConfigurationError(f"Port {candidates[0]} on {HOST} is taken. Choose another one: discreet dev --port …")
    return free


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server will: one that just ended is free
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _wait(server: subprocess.Popen[bytes]) -> int:
    """Wait for the server; on Ctrl-C or SIGTERM stop it in an orderly way."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return server.wait()
    except KeyboardInterrupt:
        server.terminate()
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
        return 0
    finally:
        signal.signal(signal.SIGTERM, previous)
