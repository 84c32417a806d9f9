"""What the storage and the checkpointer both have to know of row-level security: docs/roles.md has the policies."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, LiteralString

from discreet.errors import StorageError

SEES_EVERYBODY: Final[LiteralString] = """EXISTS (
    SELECT FROM pg_policy p
    WHERE p.polrelid = {table} AND p.polname IN ('owner', 'worker')
      AND EXISTS (SELECT FROM unnest(p.polroles) AS r (oid) WHERE pg_has_role(r.oid, 'USAGE'))
)"""
"""Whether who asks has the rights of a role whose policy shows the rows of all users, by the oid of a table."""

HAND_ON: Final[LiteralString] = "SET LOCAL citus.propagate_set_commands = 'local'"
"""Has a Citus cluster hand on to its nodes what SET LOCAL sets, which is how they learn of a user."""

_TABLE = re.compile(
    r"""\b(?:FROM|JOIN|INTO|UPDATE|USING|ONLY)\s+(?:(?:"(?:[^"]|"")+"|\w+)\s*\.\s*)?"?(\w+)""", re.IGNORECASE
)


@lru_cache(maxsize=1_000)
def tables_of(statement: str) -> frozenset[str]:
    """Return the tables that a statement of ours names, without their schema."""
    return frozenset(_TABLE.findall(statement))


def names_nobody(what: str) -> StorageError:
    """Return what refuses a statement that has to say whose rows it is about. The database would find none, and change none."""
    return StorageError(
        f"This work names no {what}, and the database shows this role the rows of one {what} at a time (docs/roles.md). Name it, or do the "
        "work as the role of the worker."
    )
