"""A hot standby of the tests' server, streaming from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import psycopg

from discreet.storage.embedded.binaries import find_binaries


class Standby:
    """One standby, which can be made the primary."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        """Of the same database, there."""

    def promote(self) -> None:
        """Let it take writes."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def catch_up(self, primary: str) -> None:
        """Wait until it has all that is written at `primary` now."""
        with psycopg.connect(primary, autocommit=True) as connection:
            (place,) = connection.execute("SELECT pg_current_wal_lsn()").fetchone() or (None,)
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for _ in range(600):
                (done,) = connection.execute("SELECT pg_last_wal_replay_lsn() >= %s", (place,)).fetchone() or (False,)
                if done:
                    return
                time.sleep(0.05)
        raise RuntimeError("the standby doesn't follow")


@contextmanager
def standing_by(dsn: str) -> Iterator[Standby]:
    """Yield a standby of the server of `dsn`, as its user."""
    where = urlsplit(dsn)
    host = Path({name: values[0] for name, values in parse_qs(where.query).items()}["host"])
    socket = host / ".s.PGSQL.5432"
    owner = socket.stat().st_uid
    with psycopg.connect(dsn, autocommit=True) as connection:
        (version,) = connection.execute("SHOW server_version_num").fetchone() or ("0",)
    postgres = _running(host)
    with tempfile.TemporaryDirectory(prefix="standby-", dir="/tmp") as made:  # a socket's path is short
        folder = Path(made)
        backup = find_binaries(int(version) // 10_000) / "bin" / "pg_basebackup"
        command = [
            backup,
            "-D",
            folder / "data",
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
            "-d",
            where._replace(path="/postgres").geturl(),
        ]
        subprocess.run(command, check=True, capture_output=True)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner, -1, follow_symlinks=False)
        identity = {"user": owner} if os.geteuid() == 0 else {}
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [postgres, "-D", folder / "data", "-k", str(folder)],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **identity,
            )
        try:
            there = where._replace(query=f"host={quote(str(folder), safe='')}&port=5432").geturl()
            _wait(server, there, folder / "log")
            yield Standby(there)
        finally:
            server.terminate()
            server.wait(20)
            shutil.rmtree(folder / "data", ignore_errors=True)


def _running(host: Path) -> str:
    """Return the program of the server whose socket is in `host`: its user may run that."""
    pid = (host / ".s.PGSQL.5432.lock").read_text().split()[0]
    return str(Path(f"/proc/{pid}/exe").readlink())


def _wait(server: subprocess.Popen[bytes], dsn: str, log: Path) -> None:
    for _ in range(400):
        if server.poll() is not None:
            raise RuntimeError(f"the standby ended with {server.returncode}: {log.read_text()[-500:]}")
        try:
            psycopg.connect(dsn, connect_timeout=5).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the standby does not answer: {log.read_text()[-500:]}")
