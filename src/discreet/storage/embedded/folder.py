"""The folder of one server: what lies in it, who owns it, and the locks by which processes agree.

    <data_dir>/postgres-<version>/
        data/               the cluster (appears whole, by a rename)
        password            of the superuser `discreet`
        socket              path of the folder that holds the server's socket
        server.log
        acquire.lock        exclusive: one process at a time starts or ends a lease
        lease.lock          shared: held by every client; exclusive: the supervisor, while it stops the server
        supervisor.lock     exclusive: held while a supervisor lives
        server.lock         exclusive: held while any process of the server lives
        upgraded            in a copy of older data: the state of the original, until that has become a backup

All locks are flock(2): they belong to an open file and vanish with the process, however it ends. Only folders and files
that we made ourselves are ever changed in owner or mode. Everything is opened relative to the folder and never through a
link, because root may be working in a folder that belongs to somebody else.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded.account import Account, account_for, user_name
from discreet.storage.embedded.supervisor import FOLDER_FLAGS, SERVER
from discreet.storage.embedded.versions import folder_name

ACQUIRE, LEASE, SUPERVISOR = "acquire.lock", "lease.lock", "supervisor.lock"
_LOCKS = (ACQUIRE, LEASE, SUPERVISOR, SERVER)
POLL_SECONDS = 0.01


class ServerFolder:
    """One open `postgres-<version>` folder."""

    def __init__(self, path: Path, account: Account) -> None:
        """Open `path`, which exists.

        Raises:
            EmbeddedServerError: It belongs to somebody else.
        """
        self.path, self.account = path, account
        self.descriptor = os.open(path, FOLDER_FLAGS)
        owner = os.fstat(self.descriptor).st_uid
        if owner != account.uid:
            self.close()
            raise EmbeddedServerError(
                f"{path} belongs to {user_name(owner)}, but the server would run as {user_name(account.uid)}. "
                "Choose another folder with DISCREET_DATA_DIR, or set DISCREET_POSTGRES_DSN."
            )

    @classmethod
    def ensure(cls, data_dir: Path, version: int) -> Self:
        """Open the folder of `version` below `data_dir`, made if it isn't there."""
        path = data_dir.resolve() / folder_name(version)
        while not path.exists():
            _make_tree(path, account_for(path))
        return cls.existing(data_dir, version)

    @classmethod
    def existing(cls, data_dir: Path, version: int) -> Self:
        """Open the folder of `version` below `data_dir`.

        Raises:
            FileNotFoundError: There is none.
        """
        path = data_dir.resolve() / folder_name(version)
        return cls(path, account_for(path))

    def close(self) -> None:
        """Close the folder; locks that were taken through `open` stay."""
        os.close(self.descriptor)

    def is_in_place(self) -> bool:
        """Tell whether `path` is this folder still, and not moved away meanwhile."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self.descriptor))
        except FileNotFoundError:
            return False

    def as_seen_by_server(self, name: str) -> str:
        """Return a path of `name` that the server's processes can use if they inherit `descriptor`.

        A user other than us may lack search permission on a folder above this one, such as /root. Linux doesn't ask for
        it on the way through an open folder (proc(5), /proc/pid/fd).
        """
        if self.account.is_ours or sys.platform != "linux":
            return str(self.path / name)
        return f"/proc/self/fd/{self.descriptor}/{name}"

    def open(self, name: str, flags: int = os.O_RDWR) -> int:
        """Open a file of this folder, made if it isn't there.

        Raises:
            EmbeddedServerError: It isn't a plain file of the server's user alone.
        """
        descriptor = _open_file(name, flags, self.descriptor, self.account)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != self.account.uid:
            os.close(descriptor)
            raise EmbeddedServerError(
                f"{self.path / name} is not a plain file of {user_name(self.account.uid)}. Move it away and try again."
            )
        return descriptor

    def read(self, name: str) -> str:
        """Return a small file's text; empty if there is none."""
        with os.fdopen(self.open(name)) as file:
            return file.read()

    def write(self, name: str, text: str) -> None:
        """Replace a small file's text, safe from a crash of the system once this returns."""
        with os.fdopen(self.open(name), "w") as file:
            file.truncate(0)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def names(self) -> list[str]:
        """Return what is in the folder."""
        with os.scandir(self.descriptor) as entries:
            return [entry.name for entry in entries]

    def make_folder(self, prefix: str) -> str:
        """Make an empty folder that belongs to the server's user; return its name."""
        name = f"{prefix}{os.urandom(6).hex()}"
        os.close(_make_folder(name, self.descriptor, self.account))
        return name

    def remove_folders(self, prefix: str) -> None:
        """Remove what `make_folder` made for a client that was killed. Its initdb may still run: that one then fails."""
        for name in self.names():
            if name.startswith(prefix):
                shutil.rmtree(name, ignore_errors=True, dir_fd=self.descriptor)

    @contextmanager
    def alone(self, deadline: float) -> Iterator[None]:
        """Keep all other clients, in this process and in others, from starting or ending a lease meanwhile."""
        descriptor = self.open(ACQUIRE)
        try:
            wait_for_lock(descriptor, fcntl.LOCK_EX, deadline)
            yield
        finally:
            # A child that this process forked meanwhile shares the open file: closing it alone would not unlock it.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def is_free(self, name: str) -> bool:
        """Tell whether nobody holds the lock. Under `alone` only: it takes the lock for a moment."""
        descriptor = self.open(name)
        try:
            return try_lock(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)

    def is_shared(self, name: str) -> bool:
        """Tell whether somebody holds a shared lock. Under `alone` only."""
        descriptor = self.open(name)
        try:
            return not try_lock(descriptor, fcntl.LOCK_EX) and try_lock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)


def try_lock(descriptor: int, kind: int) -> bool:
    """Take the lock if that is possible at once."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, kind: int, deadline: float) -> None:
    """Take the lock before `deadline` (`time.monotonic`). Polled, because flock(2) knows no time-out.

    Raises:
        EmbeddedServerError: Somebody held it all that time.
    """
    while not try_lock(descriptor, kind):
        if time.monotonic() > deadline:
            raise EmbeddedServerError("Another process has been starting or stopping this server for too long.")
        time.sleep(POLL_SECONDS)


def _make_tree(path: Path, account: Account) -> None:
    """Make `path` and its missing parents, private to `account`.

    They are built aside and renamed into place, so that nobody ever sees one without its owner or its locks. If another
    process was faster the rename fails, as its folder isn't empty, and ours is dropped.
    """
    missing = path
    while not missing.parent.exists():
        missing = missing.parent
    with tempfile.TemporaryDirectory(prefix=f".{missing.name}-", dir=missing.parent) as aside:
        with ExitStack() as opened:
            descriptor = os.open(aside, FOLDER_FLAGS)
            opened.callback(os.close, descriptor)
            for name in ("new", *path.relative_to(missing).parts):
                descriptor = _make_folder(name, descriptor, account)
                opened.callback(os.close, descriptor)
            for name in _LOCKS:
                os.close(_open_file(name, os.O_RDWR, descriptor, account))
        try:
            Path(aside, "new").rename(missing)
        except OSError:
            if not missing.exists():
                raise


def _make_folder(name: str, parent: int, account: Account) -> int:
    os.mkdir(name, 0o700, dir_fd=parent)
    descriptor = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    account.take(descriptor)
    return descriptor


def _open_file(name: str, flags: int, parent: int, account: Account) -> int:
    try:
        descriptor = os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=parent)
    except FileExistsError:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=parent)
    account.take(descriptor)
    return descriptor
