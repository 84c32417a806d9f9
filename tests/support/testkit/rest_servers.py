"""Servers with the REST API and without LangGraph's: `discreet serve`, and the application of examples/fastapi_app.py."""

from __future__ import annotations

import base64
import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from testkit.api_servers import ApiServer
from testkit.keys import IDENTITY_KEY_SETTING
from testkit.ports import free_port
from testkit.serving import DISCREET, clean_environment, serving

SERVE: Final = "discreet serve"
OWN_APP: Final = "an app of one's own"

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PROCESSES = 2

MODULES = {SERVE: "discreet.api.standalone", OWN_APP: "fastapi_app"}
"""Where the application is, by the server; that of the example if Python looks in `EXAMPLES` too."""


@contextmanager
def rest_server(kind: str, folder: Path, dsn: str, **settings: str) -> Iterator[ApiServer]:
    """Run two processes of a server in `folder`, over the embedded database `dsn` that is in there.

    Those of `discreet serve` share a port, those of the application have one each.
    """
    secret = secrets.token_urlsafe(32)
    ports = [free_port() for _ in range(1 if kind == SERVE else PROCESSES)]
    urls = tuple(f"http://127.0.0.1:{port}" for port in ports)
    environment = clean_environment(DISCREET_JWT_SECRET=secret, DISCREET_IDENTITY_KEY=IDENTITY_KEY_SETTING, **settings)
    with ExitStack() as running:
        for url, port in zip(urls, ports, strict=True):
            one = serving(_command(kind, port), folder, url, environment=environment, log=f"{port}.log")
            running.enter_context(one)
        yield ApiServer(urls=urls, folder=folder, secret=secret, databases=(dsn,))


def shared_vault() -> dict[str, str]:
    """Return settings by which processes share what running turns really said. What is stored is sealed then."""
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    return {"DISCREET_TURN_VAULT": "postgres", "DISCREET_ENCRYPTION_KEYS": f"test:{key}"}


def _command(kind: str, port: int) -> list[str]:
    if kind == SERVE:
        return [DISCREET, "serve", "--port", str(port), "--workers", str(PROCESSES)]
    # Without --no-access-log: the application itself has to keep paths as they were sent out of the log.
    return [sys.executable, "-m", "uvicorn", f"{MODULES[kind]}:app", "--app-dir", str(EXAMPLES), "--port", str(port)]
