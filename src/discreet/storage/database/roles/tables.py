"""What is in a database that roles are made for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg.sql import Identifier

NOBODY: Final = UUID(int=0)
"""Owner of what belongs to nobody: rows of a checkpointer that another saver stored, tombstones, entries about no user."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of ours, or of the checkpointer."""

    schema: str
    name: str
    owner: str
    of_users: bool
    """Whether it has rows of users: by a user_key, or the checkpointer's by their thread."""

    @property
    def sql(self) -> Identifier:
        """Its name with its schema."""
        return Identifier(self.schema, self.name)

    @property
    def is_checkpoints(self) -> bool:
        """Whether it is one of the checkpointer's, whose rows are found by their thread."""
        return self.name.startswith("checkpoint")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy of one of these tables, ours or whoever's."""

    schema: str
    table: str
    name: str
    permissive: bool
    roles: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Database:
    """What is there."""

    schema: str
    """Of our tables."""
    tables: Sequence[Table]
    policies: Sequence[Policy]
    roles: frozenset[str]
    """Those of the server."""
    closed_schema: str | None
    """Where pgvector is, if not everybody may use it there."""
    superusers: frozenset[str]

    @property
    def app_role(self) -> str | None:
        """The application's role, as the policies that are there name it."""
        of_users = (
            each for each in self.policies if (each.schema, each.table, each.name) == (self.schema, "users", "app")
        )
        return next((each.roles[0] for each in of_users), None)
