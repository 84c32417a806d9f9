"""Aegra as it is deployed: processes that take requests, processes that run graphs, one PostgreSQL, one Redis."""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import redis
from kit.places import redis_keys

from testkit.api_servers import ApiServer
from testkit.clients import NO_CERTIFICATES
from testkit.ports import free_port

START_SECONDS = 120
STOP_SECONDS = 60
HIDDEN = ("DISCREET_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "AEGRA_", "POSTGRES_", "REDIS_", "PG")

MakeDatabase = Callable[..., AbstractContextManager[str]]


@dataclass
class AegraProcess:
    """One process of the server."""

    name: str
    folder: Path
    environment: Mapping[str, str]
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What it wrote to its output."""
        return self.folder / f"{self.name}.log"

    def start(self) -> None:
        """Start it; `wait` tells when it is there."""
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "aegra_api.main:app",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
        ]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait until it takes requests."""
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        with httpx.Client(verify=NO_CERTIFICATES) as client:
            while time.monotonic() < deadline:
                if self.process.poll() is not None:
                    raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{self._end_of_log()}")
                try:
                    if client.get(f"{self.url}/ready").is_success:
                        return
                except httpx.TransportError:
                    pass
                time.sleep(0.1)
        raise RuntimeError(f"{self.name} did not start in {START_SECONDS} s:\n{self._end_of_log()}")

    def kill(self) -> None:
        """End it as a lost machine does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_SECONDS)

    def stop(self) -> None:
        """End it as whoever runs it does."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def _end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-6000:]


@dataclass(frozen=True, kw_only=True)
class Aegra(ApiServer):
    """A running server of several processes."""

    apis: tuple[AegraProcess, ...]
    workers: tuple[AegraProcess, ...]
    redis_url: str

    def redis_keys(self) -> Iterator[tuple[str, bytes]]:
        """Yield each key of its Redis with all that it holds; at times there is none."""
        with redis.Redis.from_url(self.redis_url) as client:
            yield from redis_keys(client, may_be_empty=True)

    def everything(self) -> Iterator[tuple[str, bytes]]:
        """Yield all that it has left: tables, keys of Redis, logs and files."""
        yield from self.places()
        yield from self.redis_keys()


@contextmanager
def aegra(
    folder: Path,
    make_database: MakeDatabase,
    redis_url: str,
    *,
    config: str,
    apis: int = 2,
    workers: int = 2,
    **settings: str,
) -> Iterator[Aegra]:
    """Run Aegra by `config`, a file in `folder`, until the block ends; its two databases are dropped then.

    `settings` are further variables of its environment.
    """
    secret = secrets.token_urlsafe(32)
    with ExitStack() as stack:
        theirs = stack.enter_context(make_database(template="template1"))
        ours = stack.enter_context(make_database(template="template1"))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)},
            "AEGRA_CONFIG": config,
            "AUTH_TYPE": "custom",
            "DATABASE_URL": theirs,
            "ENV_MODE": "PRODUCTION",
            "REDIS_BROKER_ENABLED": "true",
            "REDIS_URL": redis_url,
            "CRON_ALLOW_SECONDS_SCHEDULE": "true",
            "CRON_POLL_INTERVAL_SECONDS": "2",
            "LEASE_DURATION_SECONDS": "7",
            "HEARTBEAT_INTERVAL_SECONDS": "2",
            "REAPER_INTERVAL_SECONDS": "2",
            "SQLALCHEMY_POOL_SIZE": "3",
            "LANGGRAPH_MIN_POOL_SIZE": "1",
            "LANGGRAPH_MAX_POOL_SIZE": "5",
            "DISCREET_POSTGRES_DSN": ours,
            "DISCREET_DATA_DIR": str(folder / "data"),
            "DISCREET_JWT_SECRET": secret,
            "DISCREET_TURN_VAULT": "postgres",
            "DISCREET_SPILL": "true",
            "DISCREET_ENCRYPTION_KEYS": f"test:{base64.b64encode(secrets.token_bytes(32)).decode()}",
            **settings,
        }
        made = [
            AegraProcess(f"{kind}{number}", folder, {**environment, "WORKER_COUNT": count})
            for kind, many, count in (("api", apis, "0" if workers else "2"), ("worker", workers, "2"))
            for number in range(many)
        ]
        for process in made:
            stack.callback(process.stop)
        made[0].start()  # it migrates
        made[0].wait()
        for process in made[1:]:
            process.start()
        for process in made[1:]:
            process.wait()
        yield Aegra(
            urls=tuple(process.url for process in made[:apis]),
            folder=folder,
            secret=secret,
            databases=(theirs, ours),
            apis=tuple(made[:apis]),
            workers=tuple(made[apis:]),
            redis_url=redis_url,
        )
