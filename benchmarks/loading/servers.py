"""Servers in processes of their own: the REST API, and the LangGraph server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
from loading.processes import free_port, python_path

Embedding = Literal["stub", "local"]

START_SECONDS = 120.0
STOP_SECONDS = 60.0

_REST = {"stub": "loading.rest_stub:app", "local": "discreet.api.standalone:app"}

_TURNS = {
    "graph/server.py": "import loading.stub_embedding\n\n{server}",
    "graph/app.py": "import loading.stub_embedding\n\nfrom discreet.api.server import app, auth\n",
}
"""Files of the project that `langgraph dev` is started in: the template's, with the stubbed embedding before it."""

_PRIVATE = ("DISCREET_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")
"""What the environment of whoever measures may set."""


@dataclass
class Server:
    """One server, which can be killed and started again at its address."""

    name: str
    url: str
    """Where it answers; empty: it takes no requests, as a worker."""
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    log: str = "server.log"
    """Name in the folder, or a path such as /dev/full."""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process is not None, "it was started"
        return self.process.pid

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / self.log).open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait until it answers.

        Raises:
            RuntimeError: It has ended.
            TimeoutError: It doesn't answer.
        """
        if not self.url:
            return
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"{self.name} has ended: {self.said()}")
            try:
                if httpx.get(f"{self.url}/ok", timeout=5).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.2)
        raise TimeoutError(f"{self.name} does not answer: {self.said()}")

    def said(self) -> str:
        """Return the end of its log."""
        path = self.folder / self.log
        return path.read_text(errors="replace")[-2000:] if path.is_file() else ""

    def kill(self) -> None:
        """End it and all of its processes as a lost machine does."""
        os.killpg(self.pid, signal.SIGKILL)
        self._ended()

    def stop(self) -> None:
        """Have it end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self._ended()

    def _ended(self) -> None:
        assert self.process is not None
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait(STOP_SECONDS)


@contextmanager
def started(*servers: Server) -> Iterator[None]:
    """Keep servers running; they start at once."""
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.stop)
            server.start(wait=False)
        for server in servers:
            server.wait()
        yield


def rest_server(
    folder: Path,
    settings: Mapping[str, str],
    *,
    embedding: Embedding = "stub",
    workers: int = 1,
    cpus: Sequence[int] | None = None,
    name: str = "rest",
) -> Server:
    """Return a server of the REST API that runs on `cpus`, as `discreet serve` starts it."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", _REST[embedding], "--port", str(port), "--workers", str(workers)]
    command += ["--no-access-log", "--log-level", "warning"]
    return Server(name, f"http://127.0.0.1:{port}", [*_pinned(cpus), *command], folder, _environment(settings))


def turn_server(
    folder: Path, settings: Mapping[str, str], *, jobs: int, cpus: Sequence[int] | None = None, name: str = "turns"
) -> Server:
    """Return a `langgraph dev` of the template with the offline model, which runs `jobs` turns at a time."""
    root = Path(__file__).resolve().parents[2]
    (folder / "graph").mkdir(parents=True, exist_ok=True)
    template = (root / "graph" / "server.py").read_text()
    for path, text in _TURNS.items():
        (folder / path).write_text(
            text.replace("{server}", template).replace("from __future__ import annotations\n", "")
        )
    config: dict[str, Any] = json.loads((root / "langgraph.json").read_text())
    config["http"]["app"] = "./graph/app.py:app"
    config["dependencies"] = ["."]
    (folder / "langgraph.json").write_text(json.dumps(config))
    port = free_port()
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    command += ["--n-jobs-per-worker", str(jobs)]
    return Server(name, f"http://127.0.0.1:{port}", [*_pinned(cpus), *command], folder, _environment(settings))


def worker(folder: Path, settings: Mapping[str, str]) -> Server:
    """Return a `discreet worker`."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "worker"]
    return Server("worker", "", command, folder, _environment(settings))


def _pinned(cpus: Sequence[int] | None) -> list[str]:
    return [] if cpus is None else ["taskset", "--cpu-list", ",".join(map(str, cpus))]


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_PRIVATE)}
    quiet = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false"}
    return {**inherited, **quiet, "PYTHONPATH": python_path(), **settings}
