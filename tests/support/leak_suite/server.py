"""A development server in a process of its own, and what it leaves on disk while it runs and afterwards."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
from psycopg import sql
from testkit.haystacks import files_of, tables_of
from testkit.ports import free_port

from leak_suite.plants import Plants

START_SECONDS = 120
STOP_SECONDS = 60
LOOK_SECONDS = 0.03
"""How often the watcher looks; the server writes its rows every tenth of a second."""

TALKATIVE = (
    "log_min_messages = 'info'",
    "log_statement = 'all'",
    "log_min_error_statement = 'error'",
    "log_error_verbosity = 'default'",
    "log_parameter_max_length = -1",
    "log_parameter_max_length_on_error = -1",
)
"""Settings with which PostgreSQL writes into its log whatever it is told, so that nothing passes it unseen."""

COLOURS = re.compile(rb"\x1b\[[0-9;]*m")
"""What may stand amidst a value in a coloured log."""

Found = dict[str, set[str]]
"""Where values were found, by the name of the value."""


@dataclass
class Server:
    """A running server."""

    url: str
    folder: Path
    log: Path
    seen: Found = field(default_factory=dict)
    """What stood in files of `.langgraph_api` at some time."""
    looks: int = 0
    """How many versions of those files were searched."""


def make_talkative(dsn: str) -> None:
    """Have PostgreSQL log all that it is told from now on in this database."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for setting in TALKATIVE:
            database = sql.Identifier(connection.info.dbname)
            connection.execute(sql.SQL("ALTER DATABASE {} SET {}").format(database, sql.SQL(setting)))


@contextmanager
def running(folder: Path, environment: Mapping[str, str], dsn: str, plants: Plants) -> Iterator[Server]:
    """Run the server of the project in `folder` over the database `dsn`; watch what it writes."""
    make_talkative(dsn)
    port = free_port()
    server = Server(f"http://127.0.0.1:{port}", folder, folder / "server.out")
    command = [
        sys.executable,
        "-m",
        "langgraph_cli",
        "dev",
        "--config",
        "langgraph.json",
        "--no-browser",
        "--no-reload",
    ]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n-jobs-per-worker", "8"]
    with server.log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--server-log-level", "INFO"],
            cwd=folder,
            env={**environment, "DISCREET_POSTGRES_DSN": dsn, "LEAK_SEED": str(plants.seed)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(server, plants, over))
    try:
        _wait_until_ready(process, server)
        watcher.start()
        yield server
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        over.set()
        if watcher.ident is not None:
            watcher.join()


def environment_of_server(secret: str, hooks: str) -> dict[str, str]:
    """Return the environment of the server, without settings of whoever runs the tests.

    Tokens are signed with `secret`. What would be sent to LangSmith goes to `hooks`.
    """
    private = ("DISCREET_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "PG")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    return inherited | {
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        "LANGSMITH_ENDPOINT": hooks,
        "DISCREET_JWT_SECRET": secret,
        "CRON_SCHEDULER_SLEEP_TIME": "1",
        "COLUMNS": "5000",  # no value is broken over two lines of a traceback
        "NO_COLOR": "1",
    }


def left_behind(server: Server, plants: Plants, dsn: str, cluster: Path) -> Found:
    """Return what stands on disk and what stood there: rows of every table, all files of PostgreSQL, the log, the pickles."""
    found = search(_haystacks(server, dsn, cluster), plants)
    for name, places in server.seen.items():
        found.setdefault(name, set()).update(places)
    return found


def search(haystacks: Iterable[tuple[str, bytes]], plants: Plants) -> Found:
    """Return which values are in what was left, which comes as pairs of a place and what stands there."""
    found: Found = {}
    for where, data in haystacks:
        for name in plants.within(data):
            found.setdefault(name, set()).add(where)
    return found


def _haystacks(server: Server, dsn: str, cluster: Path) -> Iterator[tuple[str, bytes]]:
    for table, rows in tables_of(dsn):
        yield f"table {table}", rows
    log = server.log.read_bytes()
    yield "log", log
    yield "log", COLOURS.sub(b"", log)
    for path, data in files_of(server.folder):
        if path != server.log:
            kind = "postgres " if path.is_relative_to(cluster) else ""
            yield f"{kind}{path.relative_to(cluster if kind else server.folder)}", data


def _watch(server: Server, plants: Plants, over: threading.Event) -> None:
    """Search the files that the server keeps its rows in whenever they change; once more when it has ended."""
    searched: dict[Path, int] = {}
    last = False
    while True:
        for path in (server.folder / ".langgraph_api").glob("*"):
            with suppress(FileNotFoundError):  # a file that is about to replace another
                changed = path.stat().st_mtime_ns
                if searched.get(path) != changed:
                    searched[path] = changed
                    server.looks += 1
                    for name in plants.within(path.read_bytes()):
                        server.seen.setdefault(name, set()).add(path.name)
        if last:
            return
        last = over.wait(LOOK_SECONDS)


def _wait_until_ready(process: subprocess.Popen[bytes], server: Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The server ended with {process.returncode}:\n{server.log.read_text()[-5000:]}")
        try:
            if httpx.get(f"{server.url}/ok", verify=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError(f"The server did not start in {START_SECONDS} s:\n{server.log.read_text()[-5000:]}")
