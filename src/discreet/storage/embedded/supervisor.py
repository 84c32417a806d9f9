"""The process that keeps a server for as long as somebody holds a lease on it.

It runs as a program of its own with the standard library alone, so that it outlives the client that started it and
comes up in some 30 ms. All it knows comes in as `Orders`; everything it locks comes in as an open file, because under
root the folders may lie where nobody else can go.

Two locks tell it what happens. The kernel grants the exclusive lock on the leases when the last client has closed its
shared one or has died; then the server is stopped. Every process of the server inherits the lock on `server`, so that
lock becomes free when the last of them is gone, whatever became of the pid file; then the server is started again, in
the same place, unless it was stopped or keeps ending.
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

DATA = "data"
SERVER = "server.lock"
SOCKET = ".s.PGSQL.5432"

GRACE_SECONDS = 30.0
"""A fast shutdown writes a checkpoint, which took 20 ms here. After this long the server is ended without one, and
recovers at its next start."""

QUICK_SECONDS = 10.0
"""A server that ended sooner after its start counts as one that may not be able to run."""
MAX_QUICK_ENDS = 6
"""So many of these in a row, and it is not started again."""
FIRST_PAUSE_SECONDS = 0.1
"""Before it is started again; doubled with each quick end, so that all of them take some three seconds."""

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@dataclass(frozen=True, kw_only=True)
class Orders:
    """What a supervisor shall do. Numbers of files are those it inherits."""

    command: list[str]
    """The server to start; empty to look after one that has lost its supervisor, which is not started again."""
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
    """Folder of the server, which `command` may name by this number."""


class Supervisor:
    """Keeps one server running until the last lease is gone."""

    def __init__(self, orders: Orders) -> None:
        """Start or adopt the server."""
        self._orders = orders
        self._locked, self._waiting = orders.server, orders.server_end
        self._current = threading.Lock()  # which process is the server changes under it alone
        self._server: subprocess.Popen[bytes] | None = None
        self._pid = orders.orphan
        self._stopping = threading.Event()
        if orders.command:
            self._start()
        else:
            os.close(self._locked)

    def stop_after_last_lease(self) -> None:
        """Wait for the last lease to end, then stop the server."""
        fcntl.flock(self._orders.leases, fcntl.LOCK_EX)
        self.stop()

    def stop(self) -> None:
        """Stop the server for good."""
        with self._current:
            self._stopping.set()
            self._kill(signal.SIGINT)  # "fast": connections are closed, nothing is lost
        time.sleep(GRACE_SECONDS)
        with self._current:
            self._kill(signal.SIGQUIT)

    def keep(self) -> bool:
        """Start the server again whenever it ends. Return whether it was stopped; if not, it keeps ending.

        One that could not even start the first time is left alone: whoever wants it is waiting to be told.
        """
        quick, started = 0, time.monotonic()
        status = self._end()
        could_start = not (status and status > 0 and time.monotonic() - started < QUICK_SECONDS)
        while not self._stopping.is_set() and self._orders.command and could_start:
            quick = quick + 1 if time.monotonic() - started < QUICK_SECONDS else 1
            if quick == MAX_QUICK_ENDS:
                _log(
                    f"the server ended {quick} times within seconds and is not started again; the lines above tell why"
                )
                break
            pause = FIRST_PAUSE_SECONDS * 2 ** (quick - 1)
            _log(f"the server ended (status {status}) while it was needed and is started again in {pause:g} s")
            self._stopping.wait(pause)
            started = time.monotonic()
            status = self._restart()
        return self._stopping.is_set()

    def _end(self) -> int | None:
        """Wait until the last process of the server is gone; return the status of the first, if it was ours."""
        fcntl.flock(self._waiting, fcntl.LOCK_EX)
        with self._current:
            self._pid = None
            return self._server.wait() if self._server else None

    def _restart(self) -> int | None:
        """Start the server under the lock that its end has left to us, unless it is to stop; return how it ended."""
        with self._current:
            if self._stopping.is_set():
                return None
            self._locked = self._waiting
            try:
                forget_dead_server(self._orders.data, self._orders.socket_folder)
                again = os.open(SERVER, os.O_RDWR | os.O_NOFOLLOW, dir_fd=self._orders.data)
                try:
                    self._start()
                except OSError:
                    os.close(again)
                    raise
            except OSError as error:  # the data folder was moved away, the programs are gone
                _log(f"the server can't be started: {error}")
                return error.errno
            self._waiting = again
        return self._end()

    def _start(self) -> None:
        orders = self._orders
        self._server = subprocess.Popen(
            orders.command,
            stdin=subprocess.DEVNULL,
            env=orders.environment,
            pass_fds=[self._locked, orders.data],
            **orders.identity,
        )
        self._pid = self._server.pid
        os.close(self._locked)  # from here on the lock tells of the server's processes alone

    def _kill(self, number: signal.Signals) -> None:
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)


def main(orders: Orders) -> None:
    """Keep the server for as long as somebody needs it, then clear up."""
    if os.fork():
        os._exit(0)  # the client waits for this process only; the other one has no parent that must reap it
    supervisor = Supervisor(orders)
    threading.Thread(target=supervisor.stop_after_last_lease, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=supervisor.stop, daemon=True).start())
    stopped = supervisor.keep()
    if orders.programs:
        shutil.rmtree(orders.programs, ignore_errors=True)
    if stopped:
        # After a crash the folder stays: the next server listens there again, under the DSN that clients hold.
        shutil.rmtree(orders.socket_folder, ignore_errors=True)


def forget_dead_server(folder: int, socket_folder: str) -> None:
    """Remove the pid files that a killed server left in the data of the open `folder` and beside its socket.

    PostgreSQL refuses to start if one is truncated, or if its number is still or again that of a process: a dead one
    that nobody has reaped, or another one altogether (both a matter of course in containers). The caller holds the lock
    that every process of a living server would hold. Should somebody have started one by hand, the new one still finds
    the shared memory of the data folder in use and gives up.
    """
    _remove("postmaster.pid", os.open(DATA, FOLDER_FLAGS, dir_fd=folder))
    _remove(f"{SOCKET}.lock", os.open(socket_folder, FOLDER_FLAGS))


def _remove(name: str, folder: int) -> None:
    """Remove a file, if there is one, and close its `folder`."""
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def _log(line: str) -> None:
    """Write to the server's log, in the form of its own lines."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())} [{os.getpid()}] {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main(Orders(**json.loads(sys.argv[1])))
