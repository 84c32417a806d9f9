"""Taking a lease on a server and giving it back."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from discreet.errors import EmbeddedServerError
from discreet.private_files import make_private
from discreet.storage.embedded.binaries import find_binaries
from discreet.storage.embedded.folder import LEASE, POLL_SECONDS, SUPERVISOR, ServerFolder, wait_for_lock
from discreet.storage.embedded.server import Server
from discreet.storage.embedded.supervisor import GRACE_SECONDS
from discreet.storage.embedded.versions import check_version

START_SECONDS = 120.0
"""A first start takes about a second; recovery after a crash on a slow disk can take much longer."""
STOP_SECONDS = GRACE_SECONDS + 5.0

logger = logging.getLogger(__name__)


@contextmanager
def hold_lease(data_dir: Path, version: int) -> Iterator[str]:
    """Do what `lease_server` says, on a system that has flock(2)."""
    binaries = find_binaries(version)
    with ExitStack() as resources:
        try:
            check_version(data_dir, version)
            folder = ServerFolder.ensure(data_dir, version)
            resources.callback(folder.close)
            make_private(folder.path.parent, owners=[folder.account.uid])
            server = Server(folder, binaries, version)
            lease = ExitStack()
            resources.callback(_give_back, server, lease)
            dsn = _take(server, lease)
        except OSError as error:
            raise EmbeddedServerError(
                f"The embedded server can't use {data_dir}: {error}. Choose another folder with DISCREET_DATA_DIR, or "
                "set DISCREET_POSTGRES_DSN."
            ) from error
        yield dsn


def bring_back(data_dir: Path, version: int) -> None:
    """See to it that a server on which somebody holds a lease has a supervisor, which looks after the rest.

    Raises:
        EmbeddedServerError: It can't be started.
        OSError: Its folder is out of reach.
    """
    folder = ServerFolder.existing(data_dir, version)
    try:
        deadline = time.monotonic() + START_SECONDS
        with folder.alone(deadline):
            if folder.is_shared(LEASE) and folder.is_free(SUPERVISOR):
                Server(folder, find_binaries(version), version).ensure_running(deadline)
    finally:
        folder.close()


def _take(server: Server, lease: ExitStack) -> str:
    """Put a shared lock into `lease` and return the DSN of the server, which runs from now on.

    The lock comes first: a server that is found running can't stop any more, and one that is about to (its supervisor
    holds the exclusive lock until it is down) is waited for.
    """
    deadline = time.monotonic() + START_SECONDS
    with server.folder.alone(deadline):
        if not server.folder.is_in_place():
            raise EmbeddedServerError(f"{server.folder.path} was moved away meanwhile. Try again.")
        descriptor = server.folder.open(LEASE)
        lease.callback(os.close, descriptor)
        wait_for_lock(descriptor, fcntl.LOCK_SH, deadline)
        return server.ensure_running(deadline)


def _give_back(server: Server, lease: ExitStack) -> None:
    """Release `lease`; if it was the last one return when the server is down and its data folder quiet.

    Closed, not unlocked: a child forked by this process may still be using the server, and shares the lock.
    """
    deadline = time.monotonic() + STOP_SECONDS
    with lease:
        try:
            with server.folder.alone(deadline):
                lease.close()
                if not server.folder.is_shared(LEASE):
                    await_end(server, deadline)
        except (EmbeddedServerError, OSError) as error:
            # Whatever the caller's block computed stands, and without a lease the server will stop.
            logger.warning("embedded server may still be stopping: %s", error)


def await_end(server: Server, deadline: float) -> None:
    """Return when the server, on which nobody holds a lease, is down. Under `ServerFolder.alone` only.

    Raises:
        EmbeddedServerError: It isn't before `deadline` (`time.monotonic`).
    """
    while not server.is_down():
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"The server of {server.folder.path} takes too long to stop.")
        server.adopt()  # should its supervisor have been killed, a new one stops it
        time.sleep(POLL_SECONDS)
    server.clear()
