"""The process that keeps a server for as long as somebody holds a lease on it.

It runs as a program of its own with the standard library alone, so that it outlives the client that started it and
comes up in some 30 ms. All it knows comes in as `Orders`; everything it locks comes in as an open file, because under
root the folders may lie where nobody else can go.

Two locks end its life. The kernel grants the exclusive lock on the leases when the last client has closed its shared
one or has died; then the server is stopped. Every process of the server inherits the lock on `server`, so that lock
becomes free when the last of them is gone, whatever became of the pid file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

GRACE_SECONDS = 30.0
"""A fast shutdown writes a checkpoint, which took 20 ms here. After this long the server is ended without one, and
recovers at its next start."""


@dataclass(frozen=True, kw_only=True)
class Orders:
    """What a supervisor shall do. Numbers of files are those it inherits."""

    command: list[str]
    """The server to start; empty to look after one that has lost its supervisor."""
    orphan: int | None
    """Process id of that orphan."""
    identity: dict[str, Any]
    """`account.ProcessIdentity` of the server."""
    environment: dict[str, str]
    """All of its environment."""
    socket_folder: str
    """Removed after an orderly stop."""
    programs: str | None
    """Copy of the programs for this server alone, removed after its end."""
    leases: int
    """File on which clients hold shared locks."""
    server: int
    """File whose exclusive lock goes to the server that is started."""
    server_end: int
    """The same file, opened once more to wait for that lock."""
    data: int
    """Folder that `command` may name by this number."""


def main(orders: Orders) -> None:
    """Start or adopt the server, wait for its end, and bring that about when the last lease is gone."""
    if os.fork():
        os._exit(0)  # the client waits for this process only; the other one has no parent that must reap it
    stopping = threading.Event()
    pid = orders.orphan or _start(orders)

    def stop() -> None:
        stopping.set()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)  # "fast": connections are closed, nothing is lost
            time.sleep(GRACE_SECONDS)
            os.kill(pid, signal.SIGQUIT)

    def stop_after_last_lease() -> None:
        fcntl.flock(orders.leases, fcntl.LOCK_EX)
        stop()

    threading.Thread(target=stop_after_last_lease, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=stop, daemon=True).start())
    fcntl.flock(orders.server_end, fcntl.LOCK_EX)
    with contextlib.suppress(ChildProcessError):  # an orphan is not ours to reap
        os.waitpid(pid, 0)
    if orders.programs:
        shutil.rmtree(orders.programs, ignore_errors=True)
    if stopping.is_set():
        # After a crash the folder stays: the next server listens there again, under the DSN that clients hold.
        shutil.rmtree(orders.socket_folder, ignore_errors=True)


def _start(orders: Orders) -> int:
    server = subprocess.Popen(  # noqa: S603  our own binaries, no shell
        orders.command,
        stdin=subprocess.DEVNULL,
        env=orders.environment,
        pass_fds=[orders.server, orders.data],
        **orders.identity,
    )
    os.close(orders.server)  # from here on the lock tells of the server's processes alone
    return server.pid


if __name__ == "__main__":
    main(Orders(**json.loads(sys.argv[1])))
