"""What the storage and the checkpointer both have to know of row-level security: docs/roles.md has the policies."""

from __future__ import annotations

from typing import Final, LiteralString

SEES_EVERYBODY: Final[LiteralString] = """EXISTS (
    SELECT FROM pg_policy p
    WHERE p.polrelid = {table} AND p.polname IN ('owner', 'worker')
      AND EXISTS (SELECT FROM unnest(p.polroles) AS r (oid) WHERE pg_has_role(r.oid, 'USAGE'))
)"""
"""Whether who asks has the rights of a role whose policy shows the rows of all users, by the oid of a table."""

HAND_ON: Final[LiteralString] = "SET LOCAL citus.propagate_set_commands = 'local'"
"""Has a Citus cluster hand on to its nodes what SET LOCAL sets, which is how they learn of a user."""
