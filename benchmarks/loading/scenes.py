"""What is measured: servers are started, people talk with them, and a report is made of it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import psycopg
from loading.chaos import Trouble, redis_server, troubles_of
from loading.checking import as_lines, missing_entries, missing_turns
from loading.crowd import FIRST, Pace
from loading.levels import Report, rows_of, told
from loading.processes import postgres_pid, python_path
from loading.servers import Embedding, Server, rest_server, started, turn_server, worker
from loading.tally import Tally
from loading.watching import PERIOD_SECONDS, Watch, watched

from discreet.access.development import make_token

INSIDE = "graph and people"
"""A process that ends with the run tells its CPU by itself."""

FEW_LOOKS = 8
"""At the least, of a run that is shorter than as many periods."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is asked for."""

    pace: Pace
    workers: int = 1
    jobs: int = 10
    embedding: Embedding = "stub"
    chaos: bool = False
    json: bool = False
    only: Sequence[str] = ()


@dataclass(frozen=True)
class Scene:
    """One scene, over a database of its own."""

    options: Options
    folder: Path
    dsn: str = field(repr=False)
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def settings(self) -> dict[str, str]:
        """What all servers of the scene share."""
        return {
            "DISCREET_POSTGRES_DSN": self.dsn,
            "DISCREET_DATA_DIR": str(self.folder),
            "DISCREET_JWT_SECRET": self.secret,
        }

    @property
    def tokens(self) -> list[str]:
        """One a user."""
        return [make_token(self.secret, f"user-{number}") for number in range(self.options.pace.users)]


def rest(scene: Scene) -> Report:
    """Load the REST API; with chaos two servers, and one that logs to a full disk."""
    options, settings = scene.options, dict(scene.settings)
    if not options.chaos:
        server = rest_server(scene.folder / "rest", settings, embedding=options.embedding, workers=options.workers)
        title = f"rest: {options.workers} process(es), embedding: {options.embedding}"
        with started(server):
            tally, watch = _play("rest", scene, [server])
            return _report(title, scene, tally, watch)
    with redis_server(scene.folder) as redis:
        settings["DISCREET_REDIS_URL"] = redis.url
        servers = [
            rest_server(scene.folder / name, settings, workers=options.workers, name=name)
            for name in ("first", "second", "full disk")
        ]
        servers[-1].log = "/dev/full"
        with started(*servers):
            tally, watch = _play("rest", scene, servers, troubles_of(scene.dsn, servers[:1], redis))
            missing = asyncio.run(missing_entries(servers[1].url, tally.kept))
            return _report(
                "rest, with chaos", scene, tally, watch, as_lines(tally.kept, missing, "entries"), lost=bool(missing)
            )


def inside(scene: Scene) -> Report:
    """Load the graph in one process, which the people are in too."""
    asked = {"dsn": scene.dsn, "pace": asdict(scene.options.pace)}
    process = _start("loading.inside", asked, scene.settings)
    pids = {INSIDE: lambda: [process.pid], "postgres": lambda: _postgres(scene.dsn)}
    with watched(pids, _period(scene.options.pace)) as watch:
        tally = _read(process)
    return _report("inside: turns in one process, offline model, people in it", scene, tally, watch)


def turns(scene: Scene) -> Report:
    """Load `langgraph dev`."""
    options, settings = scene.options, dict(scene.settings)
    title = f"turns: langgraph dev, {options.jobs} at a time, offline model"
    server = turn_server(scene.folder / "turns", settings, jobs=options.jobs)
    if not options.chaos:
        with started(server):
            tally, watch = _play("turns", scene, [server])
            return _report(title, scene, tally, watch)
    with redis_server(scene.folder) as redis:
        server.environment = {**server.environment, "DISCREET_REDIS_URL": redis.url}
        extracting = worker(scene.folder / "worker", server.environment)
        with started(server, extracting):
            tally, watch = _play("turns", scene, [server], troubles_of(scene.dsn, [server, extracting], redis))
        missing, wordless = asyncio.run(missing_turns(scene.dsn, scene.folder, tally.kept))
        lines = [*as_lines(tally.kept, missing, "turns"), f"{len(wordless):,} are there without their words"]
        return _report(f"{title}, with chaos", scene, tally, watch, lines, lost=bool(missing))


def cores(scene: Scene) -> Report:
    """Load the REST API on one core and on two, by people who don't wait, a process a core. The database is on the same cores."""
    pace = replace(scene.options.pace, users=16, per_second=1e3, wait_seconds=(0.0, 0.0))
    pace = replace(pace, seconds=min(60.0, pace.seconds))
    narrow, rates, lines = replace(scene, options=replace(scene.options, pace=pace)), list[float](), list[str]()
    for number in range(1, min(2, os.cpu_count() or 1) + 1):
        cpus = list(range(number))
        _pin(scene.dsn, cpus)
        server = rest_server(scene.folder / f"on {number}", scene.settings, workers=number, cpus=cpus)
        with started(server):
            tally, _ = _play("rest", narrow, [server])
        rates.append(tally.messages / pace.seconds)
        lines.append(f"on {number} core(s), {number} process(es): {rates[-1]:,.1f} messages a second")
    lines.append(
        f"one more core brings {rates[-1] / rates[0]:.2f} times as many; the people share {os.cpu_count()} cores"
    )
    return Report("cores: the REST API by people who don't wait, embedding: stub", [], lines, failed=False)


def _play(kind: str, scene: Scene, servers: Sequence[Server], troubles: Sequence[Trouble] = ()) -> tuple[Tally, Watch]:
    """Have people talk with servers, and bring trouble meanwhile."""
    pace = scene.options.pace
    asked = {"kind": kind, "urls": [server.url for server in servers], "tokens": scene.tokens, "pace": asdict(pace)}
    pids: dict[str, Any] = {server.name: lambda server=server: [server.pid] for server in servers}
    pids["postgres"] = lambda: _postgres(scene.dsn)
    _read(_start("loading.generator", {**asked, "pace": asdict(FIRST)}, {}))
    with watched(pids, _period(pace)) as watch:
        process = _start("loading.generator", asked, {})
        for trouble in troubles:
            trouble.arm(pace.seconds)
        tally = _read(process)
        for trouble in troubles:
            trouble.wait()
    return tally, watch


def _report(
    title: str, scene: Scene, tally: Tally, watch: Watch, lines: Sequence[str] = (), *, lost: bool = False
) -> Report:
    seconds, chaos = scene.options.pace.seconds, scene.options.chaos and bool(lines)
    more = [*told(tally, seconds), *lines]
    for name in watch.seen:
        each = (
            ""
            if chaos or name == INSIDE
            else f"{1e3 * watch.cpu_seconds(name) / max(1, tally.messages):.2f} ms of CPU a message, "
        )
        more.append(f"{name}: {each}{watch.memory(name)}")
    failed = lost or (bool(tally.errors) and not chaos) or not tally.messages
    return Report(title, rows_of(tally, title), more, failed)


def _start(module: str, asked: Mapping[str, Any], settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": python_path(), **settings}
    process = subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asked).encode())
    process.stdin.close()
    return process


def _read(process: subprocess.Popen[bytes]) -> Tally:
    assert process.stdout is not None
    written = process.stdout.read()
    if process.wait():
        raise RuntimeError(f"the people's process ended with {process.returncode}")
    return Tally.read(json.loads(written))


def _period(pace: Pace) -> float:
    return min(PERIOD_SECONDS, pace.seconds / FEW_LOOKS)


def _postgres(dsn: str) -> list[int]:
    """Return the process id of the server; none while it is down."""
    try:
        return [postgres_pid(dsn)]
    except (psycopg.OperationalError, psutil.NoSuchProcess):
        return []


def _pin(dsn: str, cpus: Sequence[int]) -> None:
    server = psutil.Process(postgres_pid(dsn))
    for process in [server, *server.children()]:
        process.cpu_affinity(list(cpus))
