"""Whose user the server runs as: PostgreSQL refuses to run as root."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from discreet.errors import EmbeddedServerError


class ProcessIdentity(TypedDict, total=False):
    """Arguments of `subprocess.Popen` that start a process as another user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """The user who runs the server and owns all that it reads and writes."""

    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        """Whether this process already runs as that user."""
        return self.uid == os.geteuid()

    def identity(self) -> ProcessIdentity:
        """Return what `subprocess.Popen` needs to run as this user; nothing if we are it."""
        return {} if self.is_ours else {"user": self.uid, "group": self.gid, "extra_groups": []}

    def take(self, descriptor: int) -> None:
        """Give the open file or folder, which this process has just made, to this user."""
        if not self.is_ours:
            os.fchown(descriptor, self.uid, self.gid)


def account_for(folder: Path) -> Account:
    """Return the user whose server may keep its data in `folder`, which need not exist.

    Everybody but root uses their own account. For root it is the owner of `folder` or of its nearest existing
    ancestor, so that `sudo` in a user's project leaves files which that user can still use; where root owns them too,
    `postgres`, else `nobody`.

    Raises:
        EmbeddedServerError: This is root, and there is no other user to turn to.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    owner = existing.stat()
    if owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedServerError(
        "PostgreSQL refuses to run as root, and this system has neither a user 'postgres' nor 'nobody'. "
        "Run as another user, or set DISCREET_POSTGRES_DSN."
    )


def user_name(uid: int) -> str:
    """Return the login name of `uid`, or its number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
