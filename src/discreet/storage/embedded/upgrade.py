"""Taking the data of one major version of PostgreSQL along to a later one: copied, compared, and only then used.

The copy is made in `<data_dir>/upgrade`, where nobody looks, and moved into place in one step when it is complete. Until
then the old data is what everybody uses; they wait meanwhile. Then the old folder becomes a backup.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.driver_errors import storage_errors
from discreet.errors import EmbeddedServerError, ServerInUseError
from discreet.storage.embedded.binaries import find_binaries
from discreet.storage.embedded.copying import copy_server, verify_copy
from discreet.storage.embedded.folder import LEASE, ServerFolder, wait_for_lock
from discreet.storage.embedded.lease import START_SECONDS, STOP_SECONDS, await_end, hold_lease
from discreet.storage.embedded.server import Server
from discreet.storage.embedded.supervisor import DATA, FOLDER_FLAGS
from discreet.storage.embedded.versions import folder_name, found_versions

STAGING = "upgrade"
_MARK = "upgraded"
"""In a folder that was moved into place: the state of the old data that it was copied from, until that has become a backup."""

Tell = Callable[[str], None]


def upgrade(data_dir: Path, version: int, *, tell: Tell) -> Path | None:
    """Take the newest older data in `data_dir` along to `version`. Return its backup; None if there is nothing to do.

    `tell` gets lines of progress. However it is interrupted, one of both folders is in use and complete, and the next
    call does the rest.

    Raises:
        ServerInUseError: Another process uses the old data.
        EmbeddedServerError: A version is unknown, a program failed, or both versions have been used since the copy.
        StorageError: A server refused.
    """
    data_dir = data_dir.resolve()
    programs = find_binaries(version)
    try:
        with storage_errors():
            found = found_versions(data_dir)
            older = max((each for each in found if each < version), default=None)
            if older is None or (version in found and not _mark(data_dir, version)):
                return None
            with _Upgrade.begun(data_dir, older, version) as begun:
                if version not in found:
                    begun.copy(programs, tell)
                return begun.put_old_away()
    except OSError as error:
        raise EmbeddedServerError(
            f"The data in {data_dir} can't be upgraded: {error}. It is in use as before."
        ) from error


def _mark(data_dir: Path, version: int, new: str | None = None) -> str:
    """Return what is in the mark of a copy; set it to `new` before, if that is given."""
    folder = ServerFolder.existing(data_dir, version)
    try:
        if new is not None:
            folder.write(_MARK, new)
        return folder.read(_MARK)
    finally:
        folder.close()


@dataclass(frozen=True)
class _Upgrade:
    """An upgrade under way; nobody else starts the old server meanwhile."""

    data_dir: Path
    old: ServerFolder
    version: int
    older: int

    @classmethod
    @contextmanager
    def begun(cls, data_dir: Path, older: int, version: int) -> Iterator[_Upgrade]:
        """Keep everybody from the old server inside the block.

        Raises:
            ServerInUseError: Somebody uses it.
        """
        with ExitStack() as resources:
            old = ServerFolder.existing(data_dir, older)
            resources.callback(old.close)
            resources.enter_context(old.alone(time.monotonic() + STOP_SECONDS))
            if old.is_shared(LEASE):
                raise ServerInUseError(old.path)
            await_end(Server(old, find_binaries(older), older), time.monotonic() + STOP_SECONDS)
            yield cls(data_dir, old, version, older)

    def copy(self, programs: Path, tell: Tell) -> None:
        """Copy all data into a new folder, compare both, and move the new one into place."""
        self._remove_leftovers()
        tell(f"Copying the data of PostgreSQL {self.older} in {self.old.path} for PostgreSQL {self.version}")
        with self._old_running() as old, hold_lease(self.data_dir / STAGING, self.version) as new:
            copy_server(programs, old, new, tell)
            verify_copy(old, new, tell)
        _mark(self.data_dir / STAGING, self.version, self._state())
        self._move(f"{STAGING}/{folder_name(self.version)}", folder_name(self.version))

    def put_old_away(self) -> Path:
        """Make the old data a backup; return where it is.

        Raises:
            EmbeddedServerError: It was used after an interrupted upgrade.
        """
        if _mark(self.data_dir, self.version) != self._state():
            raise EmbeddedServerError(
                f"{self.data_dir / folder_name(self.version)} is a copy of {self.old.path}, which was used again after an "
                "interrupted upgrade. Move away the one that you don't want to keep, and run `discreet upgrade` again."
            )
        backup = f"{self.old.path.name}-backup-{time.strftime('%Y%m%d-%H%M%S')}"
        self._move(self.old.path.name, backup)
        _mark(self.data_dir, self.version, "")
        self._remove(STAGING)
        return self.data_dir / backup

    @contextmanager
    def _old_running(self) -> Iterator[str]:
        server = Server(self.old, find_binaries(self.older), self.older)
        deadline = time.monotonic() + START_SECONDS
        lease = self.old.open(LEASE)
        try:
            wait_for_lock(lease, fcntl.LOCK_SH, deadline)
            yield server.ensure_running(deadline)
        finally:
            os.close(lease)
            await_end(server, time.monotonic() + STOP_SECONDS)

    def _remove_leftovers(self) -> None:
        """Remove what an interrupted upgrade, or a start that failed, left where the copy goes."""
        if self.data_dir.joinpath(STAGING, folder_name(self.version)).exists():
            left = ServerFolder.existing(self.data_dir / STAGING, self.version)
            try:
                with left.alone(time.monotonic() + STOP_SECONDS):
                    server = Server(left, find_binaries(self.version), self.version)
                    await_end(server, time.monotonic() + STOP_SECONDS)
            finally:
                left.close()
        self._remove(STAGING)
        self._remove(folder_name(self.version))  # there is no data in it, see `upgrade`

    def _state(self) -> str:
        """Return what changes whenever the old server runs (PostgreSQL docs, pg_controldata)."""
        descriptor = os.open(f"{DATA}/global/pg_control", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self.old.descriptor)
        with os.fdopen(descriptor, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def _move(self, source: str, target: str) -> None:
        """Rename within the data folder, safe from a crash of the system once this returns."""
        with self._opened() as place:
            os.rename(source, target, src_dir_fd=place, dst_dir_fd=place)
            os.fsync(place)

    def _remove(self, name: str) -> None:
        """Remove a folder of the data folder, if there is one."""
        with self._opened() as place, suppress(FileNotFoundError):
            shutil.rmtree(name, dir_fd=place)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        place = os.open(self.data_dir, FOLDER_FLAGS)
        try:
            yield place
        finally:
            os.close(place)
