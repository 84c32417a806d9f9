"""Each house on an empty database, in each durability."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from testkit.houses import House
from testkit.ports import free_port

from discreet.checkpoint import RedactingSyncSaver

Durability = Literal["sync", "async", "exit"]


@pytest.fixture(params=["sync", "async", "exit"])
def durability(request: pytest.FixtureRequest) -> Durability:
    return request.param  # type: ignore[no-any-return]  # pytest gives no type


@pytest.fixture(scope="session")
def savers_template(make_database: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    """Return the name of a database with the savers' tables."""
    with make_database(template="template1") as dsn:
        with RedactingSyncSaver.from_conn_string(dsn) as saver:
            saver.setup()
        yield urlsplit(dsn).path.removeprefix("/")


@pytest.fixture(scope="session")
def server_files(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the server keeps its heap, write-ahead log and log."""
    return next(tmp_path_factory.getbasetemp().glob("server[0-9]*"))


@pytest.fixture
def house(
    make_database: Callable[..., AbstractContextManager[str]], savers_template: str, server_files: Path
) -> Iterator[House]:
    with make_database(template=savers_template) as dsn:
        yield House(dsn, server_files)


@pytest.fixture
def bare_house(make_database: Callable[..., AbstractContextManager[str]], server_files: Path) -> Iterator[House]:
    """Return a house on a database without any table."""
    with make_database(template="template1") as dsn:
        yield House(dsn, server_files)


@pytest.fixture
def run(durability: Durability) -> Callable[..., Any]:
    """Return what runs a graph in the durability of the test."""

    async def run(graph: Any, given: Any, config: dict[str, Any], **options: Any) -> Any:
        return await graph.ainvoke(given, config, durability=durability, **options)

    return run


@pytest.fixture(scope="session")
def pgbouncer(server_dsn: str) -> Iterator[str]:
    """Return the DSN of a PgBouncer in transaction mode with four server connections a database; its path is to be replaced."""
    binary = shutil.which("pgbouncer")
    if binary is None:
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    server = urlsplit(server_dsn)
    sockets = parse_qs(server.query)["host"][0]
    owner = (
        Path(sockets).stat().st_uid
    )  # only that one may use the server's socket, and PgBouncer refuses to run as root
    port = free_port()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        settings = Path(folder, "pgbouncer.ini")
        settings.write_text(
            f"[databases]\n* = host={sockets} port=5432 user={server.username} password={server.password}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
            "pool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 400\n"
        )
        for path in (Path(folder), settings):
            os.chown(path, owner, -1)
        bouncer = subprocess.Popen(
            [binary, "-q", str(settings)], user=owner if os.geteuid() == 0 else None, stderr=subprocess.PIPE
        )
        try:
            yield _answering(f"postgresql://{server.username}@127.0.0.1:{port}{server.path}", bouncer)
        finally:
            bouncer.terminate()
            bouncer.communicate(timeout=10)


def _answering(dsn: str, bouncer: subprocess.Popen[bytes]) -> str:
    for _ in range(100):
        if bouncer.poll() is not None:
            raise RuntimeError(f"pgbouncer ended with {bouncer.returncode}")
        with suppress(psycopg.OperationalError), psycopg.connect(dsn, autocommit=True, prepare_threshold=None):
            return dsn
        time.sleep(0.05)
    raise RuntimeError("pgbouncer does not answer")
