"""Run a server in a process of its own, by the command that its users would give."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from testkit.clients import NO_CERTIFICATES

START_SECONDS = 120
STOP_SECONDS = 60

DISCREET = str(Path(sys.executable).parent / "discreet")
"""The installed command."""

_FOREIGN = ("DISCREET_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "PG")


def clean_environment(**settings: str) -> dict[str, str]:
    """Return the environment without settings of whoever runs the tests, and with these."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)} | settings


@contextmanager
def serving(
    command: Sequence[str], folder: Path, url: str, *, environment: Mapping[str, str], log: str = "server.log"
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in `folder` until the block ends; SIGTERM must then stop it in order. What it prints goes to `log`."""
    with (folder / log).open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, url, folder / log)
        yield process
    finally:
        process.terminate()
        try:
            ended = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert ended in {0, -15}, (folder / log).read_text()[-3000:]


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(verify=NO_CERTIFICATES, trust_env=False) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"The server ended with {process.returncode}:\n{log.read_text()[-5000:]}")
            try:
                if client.get(f"{url}/ok").is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
    raise RuntimeError(f"The server did not start in {START_SECONDS} s:\n{log.read_text()[-5000:]}")
