"""PgBouncer in transaction mode in front of the tests' server."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

import psycopg

from testkit.ports import free_port

SERVERS = 4
"""Connections to the server for all clients of a database together."""

CONFIGURATION = """
[databases]
* = host={host} port={server_port} user={user}{password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
auth_file = {users}
pool_mode = transaction
default_pool_size = {servers}
max_client_conn = 400
logfile = {log}
{further}
"""


def installed() -> str | None:
    """Return where PgBouncer is, if it is."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def pooled(dsn: str, **further: object) -> Iterator[str]:
    """Yield a DSN of the same database through a PgBouncer of our own, on loopback; it serves the server's others too.

    `further` are settings of PgBouncer's.
    """
    where = urlsplit(dsn)
    options = {name: values[0] for name, values in parse_qs(where.query).items()}
    host, server_port = where.hostname or options["host"], where.port or options.get("port", 5432)
    user, port = unquote(where.username or "postgres"), free_port()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        users, log, ini = folder / "users.txt", folder / "log", folder / "pgbouncer.ini"
        users.write_text(f'"{user}" ""\n')
        ini.write_text(
            CONFIGURATION.format(
                host=unquote(host),
                server_port=server_port,
                user=user,
                password=f" password={unquote(where.password)}" if where.password else "",
                port=port,
                users=users,
                log=log,
                servers=SERVERS,
                further="\n".join(f"{name} = {value}" for name, value in further.items()),
            )
        )
        owner = _owner(Path(unquote(host)), folder)
        command = [installed() or "pgbouncer", "--quiet", str(ini)]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=owner)
        try:
            through = f"postgresql://{quote(user)}@127.0.0.1:{port}{where.path}"
            _wait(server, through, log)
            yield through
        finally:
            server.terminate()
            server.wait(10)


def _owner(host: Path, folder: Path) -> int | None:
    """Return whom to run it as: it refuses to be root, and whoever runs the server can reach its socket."""
    if os.geteuid() != 0:
        return None
    owner = next((path.stat().st_uid for path in host.glob(".s.PGSQL.*") if path.is_socket()), 0)
    owner = owner or pwd.getpwnam("nobody").pw_uid
    for path in (folder, *folder.iterdir()):
        os.chown(path, owner, -1)
    return owner


def _wait(server: subprocess.Popen[bytes], dsn: str, log: Path) -> None:
    for _ in range(200):
        if server.poll() is not None:
            raise RuntimeError(
                f"pgbouncer ended with {server.returncode}: {log.read_text()[-500:] if log.exists() else ''}"
            )
        try:
            psycopg.connect(dsn, connect_timeout=5).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"pgbouncer does not answer: {log.read_text()[-500:] if log.exists() else ''}")
