"""Database servers beside the tests' own, which nobody watches: copies that stand alone, and hot standbys that stream from it.

Servers with an HTTP API are in `testkit.api_servers`.
"""

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


class Server:
    """A copy of the tests' server in a folder of its own, run by the same program as the same user."""

    def __init__(self, folder: Path, *, program: str, user: int, dsn: str) -> None:
        self.dsn = dsn
        """Of the same database, there."""
        self._folder = folder
        self._command = [program, "-D", folder / "data", "-k", str(folder)]
        self._identity = {"user": user} if os.geteuid() == 0 else {}
        self._process = self._start()

    def kill(self) -> None:
        """End it as a lost machine does."""
        self._process.kill()
        self._process.wait(20)

    def start(self) -> None:
        """Start it again, as soon as the last process of the killed one is gone."""
        self._process = self._start()

    def stop(self) -> None:
        """End it for good."""
        self._process.terminate()
        self._process.wait(20)

    def promote(self) -> None:
        """Let a standby take writes."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def catch_up(self, primary: str) -> None:
        """Wait until a standby has all that is written at `primary` now."""
        with psycopg.connect(primary, autocommit=True) as connection:
            (place,) = connection.execute("SELECT pg_current_wal_lsn()").fetchone() or (None,)
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for _ in range(600):
                (done,) = connection.execute("SELECT pg_last_wal_replay_lsn() >= %s", (place,)).fetchone() or (False,)
                if done:
                    return
                time.sleep(0.05)
        raise RuntimeError("the standby doesn't follow")

    def _start(self) -> subprocess.Popen[bytes]:
        """Return its first process, once it answers. It gives up by itself while a killed one's processes are there."""
        process = self._run()
        for _ in range(400):
            try:
                psycopg.connect(self.dsn, connect_timeout=5).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return process
            if process.poll() is not None:
                process = self._run()
        process.terminate()
        raise RuntimeError(f"the server does not answer: {self._log.read_text()[-500:]}")

    def _run(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._identity
            )

    @property
    def _log(self) -> Path:
        return self._folder / "log"


@contextmanager
def copy_of(dsn: str, *, follows: bool = False) -> Iterator[Server]:
    """Yield a copy of the server of `dsn`, as its user; one that `follows` is its hot standby."""
    where = urlsplit(dsn)
    host = Path({name: values[0] for name, values in parse_qs(where.query).items()}["host"])
    owner = (host / ".s.PGSQL.5432").stat().st_uid
    with psycopg.connect(dsn, autocommit=True) as connection:
        (version,) = connection.execute("SHOW server_version_num").fetchone() or ("0",)
    with tempfile.TemporaryDirectory(prefix="server-", dir="/tmp") as made:  # a socket's path is short
        folder = Path(made)
        backup = find_binaries(int(version) // 10_000) / "bin" / "pg_basebackup"
        command = [backup, "-D", folder / "data", "-X", "stream", "-c", "fast", "--no-sync"]
        command += ["-R"] if follows else []
        subprocess.run([*command, "-d", where._replace(path="/postgres").geturl()], check=True, capture_output=True)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner, -1, follow_symlinks=False)
        there = where._replace(query=f"host={quote(str(folder), safe='')}&port=5432").geturl()
        server = Server(folder, program=_running(host), user=owner, dsn=there)
        try:
            yield server
        finally:
            server.stop()
            shutil.rmtree(folder / "data", ignore_errors=True)


def _running(host: Path) -> str:
    """Return the program of the server whose socket is in `host`: its user may run that."""
    pid = (host / ".s.PGSQL.5432.lock").read_text().split()[0]
    return str(Path(f"/proc/{pid}/exe").readlink())
