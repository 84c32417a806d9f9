"""Keep folders and files to their owner, whatever the umask is and however they were made."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection
from contextlib import suppress
from fnmatch import fnmatch
from glob import escape
from pathlib import Path

from discreet.errors import ConfigurationError

OURS = (
    "postgres-*",
    ".postgres-*",
    "upgrade",
    "demo",
    "scans",
    "imports",
    "bad-rows",
    "*.key",
    "*.key.*",
    "lost+found",
)
"""What lies in a data folder, or in a new volume."""

_OTHERS = 0o077
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe that somebody put there must not keep us waiting


def make_private(folder: Path, *, owners: Collection[int] = (), only: Collection[str] = OURS) -> None:
    """Make `folder` and its missing parents for this user alone; what others could enter is closed, with all below it.

    Folders are looked into only if the topmost was open: nobody gets past one that is closed. Besides this user `owners`
    may own what is there. A folder that holds other names than `only` has (patterns; empty: any) is left as it is.

    Raises:
        ConfigurationError: Others may enter the folder, and it belongs to somebody else, or something else lies there.
        OSError: It can't be made or opened.
    """
    if sys.platform == "win32":  # which has no such modes: what lies in a user's folders is for that user there
        folder.mkdir(parents=True, exist_ok=True)
        return
    for missing in [path for path in (*reversed(folder.parents), folder) if not path.exists()]:
        missing.mkdir(mode=0o700, exist_ok=True)
    top = os.open(folder, _FOLDER)
    try:
        status = os.fstat(top)
        if not status.st_mode & _OTHERS:
            return
        known = {os.geteuid(), *owners}
        with os.scandir(top) as entries:
            strangers = [entry for entry in entries if only and not any(fnmatch(entry.name, each) for each in only)]
        if status.st_uid not in known or strangers:
            raise ConfigurationError(
                f"Other users of this machine may enter {folder}, which "
                + ("holds other files too" if status.st_uid in known else "belongs to somebody else")
                + ". Let nobody but its owner in (chmod 700), or choose another folder, see DISCREET_DATA_DIR."
            )
        os.fchmod(top, stat.S_IMODE(status.st_mode) & ~_OTHERS)
        for _, folders, files, parent in os.fwalk(dir_fd=top, topdown=True):
            for name in folders:
                _close(name, _FILE | os.O_DIRECTORY, parent, known)
            for name in files:
                _close(name, _FILE, parent, known)
    finally:
        os.close(top)


def replace_private(path: Path, content: bytes) -> None:
    """Put a file with `content`, for this user alone, in the place of the one before: whole or not at all, a crash of the machine included.

    Raises:
        OSError: It can't be written. The one before is there still.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}.new")  # another process may be writing the same file
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def remove_private(path: Path) -> None:
    """Delete a file that `replace_private` has written, and what processes left of it that were killed while they wrote."""
    path.unlink(missing_ok=True)
    for left in path.parent.glob(f".{escape(path.name)}.*.new"):
        writer = left.suffixes[-2].removeprefix(".")
        if writer.isdigit() and not _is_running(int(writer)):
            left.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if sys.platform == "win32":  # where signal 0 is one that ends processes
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _close(name: str, flags: int, parent: int, owners: Collection[int]) -> None:
    """Take a folder's or file's modes for others away, unless it is a link, or has another name somewhere else."""
    with suppress(OSError):  # a link, or gone meanwhile; the folder above is closed already
        descriptor = os.open(name, flags, dir_fd=parent)
        try:
            status = os.fstat(descriptor)
            single = stat.S_ISDIR(status.st_mode) or status.st_nlink == 1
            if single and (status.st_uid in owners or os.geteuid() == 0) and status.st_mode & _OTHERS:
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~_OTHERS)
        finally:
            os.close(descriptor)
