"""`discreet dev`: the LangGraph development server over the embedded database."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from discreet.access.development import configured, development_secret, token_for
from discreet.errors import ConfigurationError, MissingDependencyError
from discreet.private_files import make_private
from discreet.settings import child_environment, load_settings

CONFIG = Path("langgraph.json")
HOST = "127.0.0.1"
DEFAULT_PORT = 2024
"""LangGraph's own default, which its Studio and its documentation name."""

SERVER_FILES = Path(".langgraph_api")
"""Where the server keeps threads and runs, in the folder that it was started in."""

STOP_SECONDS = 20
"""The server finishes running turns before it ends."""

KEEP_CLOSED = 20
"""Turns of a thread that the Studio can fork, unless the settings say how many."""

QUIET = {
    # What the server would otherwise send out: usage figures, a version check, traces. A value set by the user wins.
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
}

DEVELOPER = "developer"
"""Who a token is made for if nobody says for whom."""


def run_dev(*, port: int | None, subjects: Sequence[str] = ()) -> int:
    """Run `langgraph dev` on 127.0.0.1 until it ends; return its exit code.

    The server opens the database. If it ends by an error, the database is tried here. Without `port` it is the first free one from 2024 on. Unless the settings say
    how callers are known, or that they need not be, tokens for `subjects` are printed that it takes.

    Raises:
        ConfigurationError: There is no langgraph.json here, the port is taken, or others may enter .langgraph_api.
        MissingDependencyError: langgraph-cli[inmem] is not installed.
        StorageError: The database can't be used.
    """
    if not CONFIG.is_file():
        raise ConfigurationError("There is no langgraph.json here. Run this in the folder that holds yours.")
    if find_spec("langgraph_cli") is None or find_spec("langgraph_api") is None:
        raise MissingDependencyError("`discreet dev` needs the LangGraph server: pip install 'langgraph-cli[inmem]'")
    console = Console(stderr=True)
    port = _chosen_port(port)
    console.print(f"API on http://{HOST}:{port}, its documentation on /docs. Ctrl-C stops it.")
    access = _access(port, subjects, console)
    settings = load_settings()
    if "keep_closed" not in settings.model_fields_set:
        access |= {"DISCREET_KEEP_CLOSED": str(KEEP_CLOSED)}
    if "worker" not in settings.model_fields_set:
        access |= {"DISCREET_WORKER": "true"}
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--config", str(CONFIG), "--no-browser"]
    command += ["--no-reload", "--host", HOST, "--port", str(port)]
    make_private(SERVER_FILES, only=())
    try:
        with _running(command, child_environment(**QUIET, **access)) as server:
            code = server.wait()
    except KeyboardInterrupt:
        return 0
    if code:
        _tell_what_is_wrong(console)
    return code


def _tell_what_is_wrong(console: Console) -> None:
    """Say in one line what is wrong with the database, if it is that.

    Raises:
        StorageError: The database can't be used.
    """
    from discreet.cli.session import opened_storage  # noqa: PLC0415  seconds of imports, for which no server need wait

    with opened_storage(console):
        pass


def _access(port: int, subjects: Sequence[str], console: Console) -> dict[str, str]:
    """Return what tells the server who may call. Tokens are printed here, and so are in no log of the server."""
    settings = load_settings()
    if settings.allow_anonymous and not subjects:
        console.print("Requests from this machine need no token (DISCREET_ALLOW_ANONYMOUS).")
        return {}
    if configured(settings) and not subjects:
        console.print("Requests need a token or an API key, as your settings say.")
        return {}
    for subject in subjects or (DEVELOPER,):
        console.print(f"Token of {subject}, who is one user:", markup=False)
        print(token_for(settings, subject, admin=subject == DEVELOPER), flush=True)  # a file would get it at the end
    console.print(
        f"Use one: curl -H 'Authorization: Bearer …' http://{HOST}:{port}/threads/search -d '{{}}'", markup=False
    )
    console.print(
        f'   get_client(url="http://{HOST}:{port}", headers={{"Authorization": "Bearer …"}}, api_key=None)',
        markup=False,
    )
    console.print("More users: discreet token SUBJECT. The Studio needs no token, and is a user of its own.")
    return {} if configured(settings) else {"DISCREET_JWT_SECRET": development_secret(settings)}


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


@contextmanager
def _running(command: Sequence[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server for as long as the block lasts; SIGTERM ends the block as Ctrl-C does."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with subprocess.Popen(command, env=environment, umask=0o077) as server:  # noqa: S603  # our own arguments
            try:
                yield server
            finally:
                _stop(server)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Stop the server in an orderly way, if it runs still."""
    server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
