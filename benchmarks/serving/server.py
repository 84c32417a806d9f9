"""A `langgraph dev` of a project, in a process of its own."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from discreet.access.development import make_token

WAIT_SECONDS = 90


@contextmanager
def served(
    project: Path, *, user: str, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address of the server, which has more `settings`, and the headers that `user` sends."""
    secret = secrets.token_urlsafe(32)
    port = free_port()
    environment = {
        **os.environ,
        "DISCREET_JWT_SECRET": secret,
        "DISCREET_DEFAULT_USER": user,
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        **(settings or {}),
    }
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    with (project / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=project, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(process, url, project / "server.log")
        yield url, {"authorization": f"Bearer {make_token(secret, user)}"}
    finally:
        process.terminate()
        process.wait(60)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    for _ in range(WAIT_SECONDS * 5):
        if process.poll() is not None:
            raise RuntimeError(log.read_text())
        try:
            if httpx.get(f"{url}/ok").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise TimeoutError(log.read_text())
