"""Finding the server of a folder, starting it, and handing it to a supervisor. All of it under `ServerFolder.alone`."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded import cluster, endpoint, supervisor
from discreet.storage.embedded.account import Account
from discreet.storage.embedded.binaries import copy_binaries, runs_for
from discreet.storage.embedded.folder import LEASE, POLL_SECONDS, SUPERVISOR, ServerFolder
from discreet.storage.embedded.supervisor import SERVER

_SOCKET = "socket"
_LOG = "server.log"
_MAX_LOG_BYTES = 1_000_000
"""A log that has grown larger starts anew with the next server; months of ordinary use stay below it."""


@dataclass(frozen=True)
class Server:
    """The server of one folder, running or not."""

    folder: ServerFolder
    binaries: Path
    version: int

    def ensure_running(self, deadline: float) -> str:
        """Return the DSN of the server once it takes connections; start or adopt it if need be.

        The caller holds a lease already, so a server that is found running stays.

        Raises:
            EmbeddedServerError: It ended while starting, or did not answer before `deadline` (`time.monotonic`).
        """
        started = False
        while time.monotonic() < deadline:
            if not self.folder.is_free(SUPERVISOR):
                socket_folder = self._socket_folder()
                if socket_folder and endpoint.answers(socket_folder):
                    return endpoint.dsn(socket_folder, self.folder.read(cluster.PASSWORD))
            elif started:
                raise EmbeddedServerError(f"The server ended while it started. {self.folder.path / _LOG} tells why.")
            elif self.folder.is_free(SERVER):
                self._start()
                started = True
            else:
                # Killed supervisor: its server is adopted. Killed server: its last processes are waited for.
                self.adopt()
            time.sleep(POLL_SECONDS)
        raise EmbeddedServerError(
            f"A server uses {self.folder.path} but can't be reached: it hangs, or runs in another container. "
            f"{self.folder.path / _LOG} may tell more."
        )

    def is_down(self) -> bool:
        """Tell whether neither a process of the server nor its supervisor is left."""
        return self.folder.is_free(SUPERVISOR) and self.folder.is_free(SERVER)

    def adopt(self) -> None:
        """Give a new supervisor to a server that listens but has lost its own."""
        socket_folder = self._socket_folder()
        orphan = endpoint.listener_pid(socket_folder) if socket_folder else None
        if socket_folder and orphan and self.folder.is_free(SUPERVISOR):
            with self._open(SUPERVISOR) as held, self._open(SERVER) as server:
                fcntl.flock(held, fcntl.LOCK_EX)
                self._supervise(held, server, socket_folder, orphan=orphan)

    def clear(self) -> None:
        """Remove the socket's folder of a server that crashed, once nobody needs its DSN any more."""
        socket_folder = self._socket_folder()
        if socket_folder:
            shutil.rmtree(socket_folder, ignore_errors=True)

    def _start(self) -> None:
        socket_folder = self._socket_folder() or self._new_socket_folder()
        with self._open(SUPERVISOR) as held, self._open(SERVER) as server, ExitStack() as unless_started:
            for descriptor in (held, server):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            binaries, programs = self._usable_binaries(unless_started)
            cluster.ensure_cluster(self.folder, binaries, self.version)
            supervisor.forget_dead_server(self.folder.descriptor, str(socket_folder))
            command = cluster.server_command(self.folder, binaries, socket_folder)
            self._supervise(held, server, socket_folder, command=command, programs=programs)
            unless_started.pop_all()

    def _supervise(
        self,
        held: int,
        server: int,
        socket_folder: Path,
        *,
        command: Sequence[str] = (),
        orphan: int | None = None,
        programs: Path | None = None,
    ) -> None:
        """Start a supervisor that inherits the locks on `held` and `server` and all that has to be cleared away."""
        with self._open(LEASE) as leases, self._open(SERVER) as server_end, self._open_log() as log:
            orders = supervisor.Orders(
                command=list(command),
                orphan=orphan,
                identity={**self.folder.account.identity()},
                environment=cluster.ENVIRONMENT,
                socket_folder=str(socket_folder),
                programs=str(programs) if programs else None,
                leases=leases,
                server=server,
                server_end=server_end,
                data=self.folder.descriptor,
            )
            subprocess.run(
                [sys.executable, "-I", "-S", supervisor.__file__, json.dumps(asdict(orders))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[held, server, leases, server_end, self.folder.descriptor],
                cwd="/",
                start_new_session=True,  # Ctrl-C in the client's terminal is not meant for it
                check=False,  # whether it lives is told by its lock, and why not by the log
            )

    def _usable_binaries(self, unless_started: ExitStack) -> tuple[Path, Path | None]:
        """Return programs that the server's user can run and, if these had to be copied, the folder to remove later.

        The copy belongs to us: in a folder of the server's user a link could lead us astray.
        """
        if runs_for(self.folder.account, self.binaries):
            return self.binaries, None
        programs = endpoint.make_temporary_folder(Account(os.geteuid(), os.getegid()))
        unless_started.callback(shutil.rmtree, programs)
        copy = copy_binaries(self.binaries, programs)
        if not runs_for(self.folder.account, copy):
            raise EmbeddedServerError(
                f"Programs can't be run from {programs.parent}, and root's own are out of reach for the server's user. "
                "Install into a folder that everybody may enter, or set DISCREET_POSTGRES_DSN."
            )
        return copy, programs

    def _socket_folder(self) -> Path | None:
        """Return the folder on record: that of the running server, or of one that crashed. None after an orderly end."""
        recorded = Path(self.folder.read(_SOCKET))
        return recorded if endpoint.is_socket_folder(recorded, self.folder.account) else None

    def _new_socket_folder(self) -> Path:
        socket_folder = endpoint.make_temporary_folder(self.folder.account)
        self.folder.write(_SOCKET, str(socket_folder))
        return socket_folder

    @contextmanager
    def _open(self, name: str) -> Iterator[int]:
        descriptor = self.folder.open(name)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _open_log(self) -> Iterator[int]:
        descriptor = self.folder.open(_LOG, os.O_WRONLY | os.O_APPEND)
        try:
            if os.fstat(descriptor).st_size > _MAX_LOG_BYTES:
                os.ftruncate(descriptor, 0)
            yield descriptor
        finally:
            os.close(descriptor)
