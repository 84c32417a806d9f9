"""The example with its packages, in a folder of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = Path("examples", "javascript")
OPENAPI = Path("src", "discreet", "api", "openapi.json")
MADE = shutil.ignore_patterns("node_modules", "build", "dist")
OLDEST_NODE = (20, 19)
SECONDS = 600
"""That `npm ci`, a build or the tests under Node may take."""


@pytest.fixture(scope="session")
def npm(tmp_path_factory, clean_environment):
    """Return what runs npm in a copy of the example that has its packages and the OpenAPI beside it."""
    command, node = shutil.which("npm"), shutil.which("node")
    if command is None or node is None:
        pytest.skip("Node.js and npm are not on PATH")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST_NODE:
        pytest.skip(f"Node.js {version.strip()} is older than the example takes")
    root = tmp_path_factory.mktemp("javascript")
    shutil.copytree(ROOT / EXAMPLE, root / EXAMPLE, ignore=MADE)
    (root / OPENAPI.parent).mkdir(parents=True)
    shutil.copy(ROOT / OPENAPI, root / OPENAPI)

    def run(*arguments, **environment):
        done = subprocess.run(
            [command, *arguments],
            cwd=root / EXAMPLE,
            env={**clean_environment, **environment},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]
        return done.stdout

    run("ci", "--prefer-offline", "--no-audit", "--no-fund")
    run.folder = root / EXAMPLE
    return run


@pytest.fixture(scope="session")
def site(npm, dev_server):
    """The address of the example as it is built for `dev_server`: another origin than the server's."""
    npm("run", "build", VITE_DISCREET_URL=dev_server.url)
    handler = partial(_Quiet, directory=npm.folder / "dist")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_said):
        """Say nothing."""
