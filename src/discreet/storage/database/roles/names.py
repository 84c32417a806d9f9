"""What the roles are called. Roles belong to the whole server: two databases of one server may need names of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from discreet.errors import ConfigurationError

APP_SUFFIX = "_app"
_PREFIX = re.compile(r"[a-z_][a-z0-9_]{0,40}")


@dataclass(frozen=True)
class RoleNames:
    """The roles of one database.

    Raises:
        ConfigurationError: The prefix is not 1 to 41 of a-z 0-9 _.
    """

    prefix: str = "discreet"

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise ConfigurationError("A prefix of roles has 1 to 41 of a-z 0-9 _ and begins with no digit.")

    @classmethod
    def of_app(cls, role: str) -> Self:
        """Return those of which the application's is `role`."""
        return cls(role.removesuffix(APP_SUFFIX))

    @property
    def app(self) -> str:
        """Serves users: sees and changes the rows of the one user that a transaction names."""
        return self.prefix + APP_SUFFIX

    @property
    def several(self) -> str:
        """Nobody's login. The application takes this role to read, of the users that a transaction names, the rows of several."""
        return f"{self.prefix}_several"

    @property
    def worker(self) -> str:
        """Sweeps, re-embeds, extracts: sees and changes the rows of all users."""
        return f"{self.prefix}_worker"

    @property
    def auditor(self) -> str:
        """Reads the audit trail, and nothing that a user said."""
        return f"{self.prefix}_auditor"

    @property
    def analyst(self) -> str:
        """Reads views of counts, in which there are no users and no words."""
        return f"{self.prefix}_analyst"

    @property
    def backup(self) -> str:
        """Reads everything, for pg_dump."""
        return f"{self.prefix}_backup"

    @property
    def all(self) -> tuple[str, ...]:
        """All of them, in the order in which they are made."""
        return self.app, self.several, self.worker, self.auditor, self.analyst, self.backup
