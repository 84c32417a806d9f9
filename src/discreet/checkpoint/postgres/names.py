"""Name tables with their schema: which it is, and where in a statement it goes.

A bare name means what search_path says in that moment: another table after somebody has created a schema that is named like
the role, and nothing behind a pooler that resets sessions. So no statement goes out with one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from discreet.errors import ConfigurationError

_NAME = re.compile(
    r"""(
        \b(?: FROM | JOIN | INTO | UPDATE | USING | ON | ONLY | REFERENCES | TRUNCATE
            | TABLE (?:\s+IF\s+(?:NOT\s+)?EXISTS)?
            | DROP\s+INDEX (?:\s+CONCURRENTLY)? (?:\s+IF\s+EXISTS)?
        )\s+
    )
    (checkpoints(?:_\w+)? | checkpoint_(?!(?:id|ns)\b)\w+) \b (?!\s*\.)""",
    re.VERBOSE | re.IGNORECASE,
)
"""A table of LangGraph's or ours where a statement may name one. `checkpoint_id` and `checkpoint_ns` are columns."""

IN_SIGHT = """
SELECT
    s.name::text AS schema,
    EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relname = 'checkpoints')
        AND EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relname = 'checkpoint_migrations') AS threads,
    EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relname = 'checkpoint_spill') AS spill,
    false AS by_role,
    s.number
FROM unnest(current_schemas(false)) WITH ORDINALITY AS s(name, number)
JOIN pg_namespace n ON n.nspname = s.name
UNION ALL
SELECT n.nspname::text, true, true, true, NULL
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname = 'checkpoint_threads_of_runs' AND n.nspname <> ALL (current_schemas(false))
    AND has_function_privilege(p.oid, 'EXECUTE') AND has_schema_privilege(n.oid, 'USAGE')
ORDER BY number NULLS LAST
"""
"""The schemas of search_path in their order, and what is in them; then those in which `discreet roles` let this role use the tables:
LangGraph may have made them in a schema that is named like their owner, which no other role has in its search_path."""


RowSecurity = Literal["off", "on", "on a cluster"]


class Tables:
    """Where one saver's tables are.

    That is the schema that is given, else the one where they are in sight, else where LangGraph would create them, which
    is the first of search_path.
    """

    def __init__(self, schema: str | None = None) -> None:
        """Take a schema's name as PostgreSQL keeps it, without quotes.

        Raises:
            ConfigurationError: No schema can have that name here.
        """
        if schema is not None and (not schema or set(schema) & {"%", "\0"}):
            raise ConfigurationError("schema= is the name of a schema, of one character or more and without %.")
        self.given = schema
        self.schema = schema
        """None until it is known."""
        self.row_security: RowSecurity | None = None
        """Whether statements have to say whose thread they are about; None until it is known."""

    def note_row_security(self, found: Mapping[str, Any] | None) -> RowSecurity:
        """Return whether statements have to say whose thread they are about, given what the database said of its tables."""
        if found is None:
            return "off"  # there are none yet
        self.row_security = "off" if not found["in_force"] else "on a cluster" if found["cluster"] else "on"
        return self.row_security

    def choose(self, in_sight: Sequence[Mapping[str, Any]]) -> str:
        """Return the schema, given the rows of `IN_SIGHT`. Tables that are found are looked for no more.

        Raises:
            ConfigurationError: There is more than one set of tables in sight, or no schema at all.
        """
        by_role = [row["schema"] for row in in_sight if row["by_role"]]
        seen = [row for row in in_sight if not row["by_role"]]
        found = [row["schema"] for row in seen if row["threads"]]
        found = found or [row["schema"] for row in seen if row["spill"]][:1] or by_role
        if len(found) > 1:
            named = " and ".join(f'"{schema}"' for schema in found)
            raise ConfigurationError(
                f"LangGraph's tables are in several schemas that this role may use: {named}. "
                f'Say which are meant: from_conn_string(…, schema="{found[0]}"), discreet migrate --checkpoint-schema "{found[0]}".'
            )
        if found:
            self.schema = Tables(found[0]).given
        elif not seen:
            raise ConfigurationError(
                "No schema of this role's search_path is there, or it may use none. Name one: from_conn_string(…, schema=…)."
            )
        return self.schema or str(seen[0]["schema"])


@lru_cache(maxsize=512)
def qualify(statement: str, schema: str) -> str:
    """Return `statement` with the tables that it names in `schema`.

    Example:
        >>> qualify("SELECT checkpoint_id FROM checkpoints", "public")
        'SELECT checkpoint_id FROM "public".checkpoints'
    """
    return _NAME.sub(lambda found: f"{found[1]}{quoted(schema)}.{found[2]}", statement)


OWN_SCHEMA: Final = object()
"""Stands for the schema of the tables among the parameters of a statement."""


def with_schema(params: Any, schema: str) -> Any:
    """Return `params` with `schema` in the place of `OWN_SCHEMA`."""
    if isinstance(params, Mapping) and params.get("schema") is OWN_SCHEMA:
        return {**params, "schema": schema}
    return params


def quoted(name: str) -> str:
    """Return `name` as an identifier (PostgreSQL docs, section 4.1.1)."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
