"""A development server in a process of its own, and what it leaves on disk while it runs and afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from kit.places import files, log, make_talkative, rows
from kit.planter import Planter
from kit.search import search
from testkit.ports import free_port

START_SECONDS = 120
STOP_SECONDS = 60
LOOK_SECONDS = 0.03
"""How often the watcher looks; the server writes its rows every tenth of a second."""

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


@contextmanager
def running(folder: Path, environment: Mapping[str, str], dsn: str, plants: Planter) -> Iterator[Server]:
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


def left_behind(server: Server, plants: Planter, dsn: str, cluster: Path) -> Found:
    """Return what stands on disk and what stood there: rows of every table, all files of PostgreSQL, the log, the pickles."""
    found = search(_places(server, dsn, cluster), plants).leaks
    for name, places in server.seen.items():
        found.setdefault(name, set()).update(places)
    return found


def _places(server: Server, dsn: str, cluster: Path) -> Iterator[tuple[str, bytes]]:
    yield from rows(dsn)
    yield from log("log", server.log.read_bytes())
    paths = [path for path in server.folder.rglob("*") if path != server.log]
    at = f"{cluster.relative_to(server.folder)}{os.sep}"
    for path, data in files(server.folder, paths):
        yield f"postgres {path.removeprefix(at)}" if path.startswith(at) else path, data


def _watch(server: Server, plants: Planter, over: threading.Event) -> None:
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
