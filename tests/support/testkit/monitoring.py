"""A process that people use, a Prometheus that scrapes it, and what the files of monitoring/ say."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from discreet.access.development import make_token
from testkit.keys import IDENTITY_KEY_SETTING
from testkit.ports import free_port

ROOT = Path(__file__).resolve().parents[3]
MONITORING = ROOT / "monitoring"
APP = ROOT / "tests" / "integration" / "monitoring" / "app_process.py"
SECRET = secrets.token_hex(32)
_NAME = re.compile(r"\bdiscreet_[a-z_]+\b")


def alert_rules() -> dict[str, dict[str, Any]]:
    """Return the rules of alerts.yml by name."""
    [group] = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def dashboard_queries() -> dict[str, str]:
    """Return the queries of dashboard.json by the title of their panel and their letter."""
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return {
        f"{panel['title']} {target['refId']}": target["expr"] for panel in panels for target in panel.get("targets", ())
    }


def names_in(query: str) -> set[str]:
    """Return the metrics that a query names."""
    return set(_NAME.findall(query))


@dataclass(frozen=True)
class App:
    """A running `app_process.py`."""

    process: subprocess.Popen[str]
    url: str
    metrics_url: str | None = None

    def client(self, subject: str, *, admin: bool = False) -> httpx.Client:
        headers = {"Authorization": f"Bearer {make_token(SECRET, subject, admin=admin)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)


def environment(dsn: str, **settings: str) -> dict[str, str]:
    """Return the environment of a process over the database at `dsn`, with these settings and no others."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")}
    own |= {"DISCREET_POSTGRES_DSN": dsn, "DISCREET_JWT_SECRET": SECRET, "DISCREET_IDENTITY_KEY": IDENTITY_KEY_SETTING}
    return own | settings


@contextmanager
def running(dsn: str, folder: Path, *, port: int | None = None, **settings: str) -> Iterator[App]:
    """Run the application over `dsn` with its metrics at `port`; yield it once it is used."""
    api_port = free_port()
    own = environment(dsn, **settings, **({} if port is None else {"DISCREET_METRICS_PORT": str(port)}))
    log = (folder / f"app-{api_port}.log").open("w")
    command = [sys.executable, APP, str(api_port)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log, "text": True}
    with log, subprocess.Popen(command, cwd=folder, env=own, **pipes) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline().strip()
            assert said == "ready", (folder / f"app-{api_port}.log").read_text()[-2_000:]
            where = None if port is None else f"http://127.0.0.1:{port}/metrics"
            yield App(process, f"http://127.0.0.1:{api_port}", where)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()


def counted(exposition: str, name: str, **labels: str) -> float:
    """Return the sum of the samples of that name that have these labels."""
    total = 0.0
    for line in exposition.splitlines():
        found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if found and found[1] == name and all(f'{key}="{value}"' in (found[2] or "") for key, value in labels.items()):
            total += float(found[3])
    return total


@dataclass(frozen=True)
class Prometheus:
    """A running server."""

    url: str

    def get(self, path: str, **parameters: str) -> Any:
        answer = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=10).json()
        assert answer["status"] == "success", (parameters, answer.get("error"))
        return answer["data"]

    def series(self, query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("query", query=query)["result"]
        return found


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[Prometheus]:
    """Run Prometheus with the rules of monitoring/, and have it scrape `target` every second."""
    binary = require("prometheus")
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(MONITORING / "alerts.yml")],
        "scrape_configs": [{"job_name": "discreet", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    options = {"config.file": folder / "prometheus.yml", "storage.tsdb.path": folder / "tsdb"}
    options |= {"web.listen-address": f"127.0.0.1:{port}", "log.level": "warn"}
    command = [binary, *(f"--{name}={value}" for name, value in options.items())]
    with (
        (folder / "prometheus.log").open("w") as log,
        subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as server,
    ):
        try:
            made = Prometheus(f"http://127.0.0.1:{port}")
            wait_for(lambda: is_ready(made.url), lambda: "Prometheus answers", seconds=30)
            yield made
        finally:
            server.terminate()
            server.wait(20)


def is_ready(url: str) -> bool:
    """Whether Prometheus answers."""
    try:
        return httpx.get(f"{url}/-/ready", timeout=5).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def wait_for(holds: Callable[[], bool], what: Callable[[], str], *, seconds: float = 60) -> None:
    """Wait until `holds` says yes; `what` tells what was waited for."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds:.0f} s: {what()}"
        time.sleep(0.3)


def require(program: str) -> str:
    """Return where `program` is; skip the test without it."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed (Debian: apt-get install prometheus)")
    return found
