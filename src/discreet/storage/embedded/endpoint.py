"""Where a server's socket lies: a short and private folder, which can be asked whether somebody listens there."""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from psycopg import pq

from discreet.errors import EmbeddedServerError
from discreet.storage.embedded.account import Account
from discreet.storage.embedded.supervisor import SOCKET

USER = "discreet"
DATABASE = "discreet"

_PREFIX = "discreet-"
_PRIVATE = 0o700
_BASES = (Path("/tmp"), Path("/var/tmp"), Path("/run"))  # noqa: S108  # each is checked before use
"""Short ones: a socket's path has at most 107 bytes (unix(7)), 103 on macOS."""


def dsn(folder: Path, password: str) -> str:
    """Return the URI of the server that listens in `folder`."""
    return f"postgresql://{USER}:{password}@/{DATABASE}?host={quote(str(folder), safe='')}&port=5432"


def make_temporary_folder(account: Account) -> Path:
    """Make a folder outside of the data folder that only `account` (and root) may enter.

    Raises:
        EmbeddedServerError: No place for it is both writable and safe.
    """
    for base in _BASES:
        if _is_safe(base) and os.access(base, os.W_OK | os.X_OK):
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
            if not account.is_ours:
                os.chown(folder, account.uid, account.gid, follow_symlinks=False)
            return folder
    raise EmbeddedServerError(
        f"The server's socket needs a writable folder with the sticky bit: one of {', '.join(map(str, _BASES))}. "
        "Provide one, or set DISCREET_POSTGRES_DSN."
    )


def is_socket_folder(folder: Path, account: Account) -> bool:
    """Tell whether `folder` is one that `make_temporary_folder` made for `account` and nobody has tampered with."""
    if folder.parent not in _BASES or not folder.name.startswith(_PREFIX) or not _is_safe(folder.parent):
        return False
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == account.uid and stat.S_IMODE(status.st_mode) == _PRIVATE


def answers(folder: Path) -> bool:
    """Tell whether a server that listens in `folder` takes connections."""
    conninfo = f"host={folder} port=5432 user={USER} dbname={DATABASE} connect_timeout=5"
    return pq.PGconn.ping(conninfo.encode()) == pq.Ping.OK


def listener_pid(folder: Path) -> int | None:
    """Return the process that listens in `folder`, as the kernel knows it; None if there is none."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(folder / SOCKET))
        except OSError:
            return None
        if sys.platform == "linux":
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid: int = struct.unpack("3i", credentials)[0]
        else:
            pid = client.getsockopt(0, 2)  # SOL_LOCAL, LOCAL_PEERPID of macOS's <sys/un.h>
    return pid or None


def _is_safe(base: Path) -> bool:
    """Tell whether no other user can replace what we make in `base`.

    Checked, because containers have been seen whose /var/tmp lacks the sticky bit.
    """
    try:
        status = base.stat()
    except OSError:
        return False
    return status.st_uid == 0 and bool(status.st_mode & stat.S_ISVTX or not status.st_mode & 0o022)
