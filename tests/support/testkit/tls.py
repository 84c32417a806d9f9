"""Servers that speak TLS: a layer in front of a database, and a PostgreSQL and a Redis of this machine, where there is one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from testkit.ports import free_port

_WANTS_TLS = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
"""PostgreSQL docs, section 54.7, SSLRequest."""


@asynccontextmanager
async def tls_before(dsn: str, certificate: Path, key: Path) -> AsyncIterator[int]:
    """Yield the port of a layer that speaks TLS as a PostgreSQL server does, before that of `dsn`."""
    where = urlsplit(dsn)
    options = {name: values[0] for name, values in parse_qs(where.query).items()}
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if await reader.readexactly(8) != _WANTS_TLS:
                writer.close()
                return
            writer.write(b"S")
            await writer.start_tls(context)
            there = await asyncio.open_unix_connection(f"{options['host']}/.s.PGSQL.{options['port']}")
            await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def installed_postgres() -> Path | None:
    """Return the folder of the programs of a PostgreSQL that speaks TLS, where Debian puts them."""
    for programs in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        linked = subprocess.run(["ldd", programs / "postgres"], capture_output=True, text=True, check=False)
        if "libssl" in linked.stdout:
            return programs
    return None


@contextmanager
def tls_postgres(programs: Path, certificate: Path, key: Path) -> Iterator[int]:
    """Yield the port of a server of its own, which speaks nothing but TLS."""
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="tls-", dir="/tmp") as made:
        folder, port = Path(made), free_port()
        for file, name in ((certificate, "server.crt"), (key, "server.key")):
            shutil.copyfile(file, folder / name)
            (folder / name).chmod(0o600)
        if user is not None:
            for path in (folder, *folder.iterdir()):
                os.chown(path, pwd.getpwnam(user).pw_uid, -1)
        data, identity = folder / "data", {} if user is None else {"user": user}
        initdb = [programs / "initdb", "-D", data, "-A", "trust", "-U", "ann", "--no-sync"]
        subprocess.run(initdb, cwd="/", check=True, capture_output=True, **identity)
        (data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 trust\n")
        settings = {"port": port, "unix_socket_directories": "", "ssl": "on", "fsync": "off"}
        settings |= {"ssl_cert_file": folder / "server.crt", "ssl_key_file": folder / "server.key"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [programs / "postgres", "-D", data, *options]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(command, cwd="/", stdout=log, stderr=log, **identity) as server,
        ):
            try:
                for _ in range(400):
                    with contextlib.suppress(psycopg.OperationalError):
                        psycopg.connect(f"postgresql://ann@127.0.0.1:{port}/postgres?sslmode=require").close()
                        break
                    time.sleep(0.05)
                yield port
            finally:
                server.terminate()


@contextmanager
def tls_redis(binary: str, certificate: Path, key: Path, folder: Path) -> Iterator[int]:
    """Yield the port of a server of its own, which speaks nothing but TLS."""
    port = free_port()
    options = {"port": 0, "tls-port": port, "bind": "127.0.0.1", "dir": folder, "save": "", "appendonly": "no"}
    options |= {"tls-cert-file": certificate, "tls-key-file": key, "tls-auth-clients": "no"}
    options |= {"tls-ca-cert-file": certificate}
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    with subprocess.Popen([binary, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(200):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            yield port
        finally:
            server.terminate()
