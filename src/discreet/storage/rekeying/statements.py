"""The statements of a rekeying, for any table with sealed columns."""

from __future__ import annotations

from typing import Final, LiteralString

from psycopg.sql import SQL, Composed, Identifier

from discreet.storage.database.sealed_columns import SealedColumn, SealedTable

FEW_ROWS: Final[LiteralString] = "1000"
"""That are looked at when a process starts."""


def look(table: SealedTable) -> LiteralString:
    """Look at the next rows by key, and say of each whether something of it is to be moved."""
    return f"""
SELECT t.user_key, t.{table.key} AS row_key, {_is_pending(table)} AS is_pending
FROM discreet.{table.name} t
WHERE (t.user_key, t.{table.key}) > (%(after_user)s::uuid, %(after_key)s::{table.key_type})
ORDER BY t.user_key, t.{table.key}
LIMIT %(limit)s
"""


def count(table: SealedTable) -> LiteralString:
    """Count the rows of which something is to be moved."""
    return f"SELECT count(*) AS rows FROM discreet.{table.name} t WHERE {_is_pending(table)}"


def count_plain(table: SealedTable) -> LiteralString:
    """Count the rows of which something is plain."""
    return f"SELECT count(*) AS rows FROM discreet.{table.name} t WHERE {_has_plain(table)}"


def has_plain(table: SealedTable) -> LiteralString:
    """Look whether something is plain in the first rows of the file, which are the oldest."""
    return f"SELECT FROM (SELECT * FROM discreet.{table.name} LIMIT {FEW_ROWS}) t WHERE {_has_plain(table)} LIMIT 1"


def inspect(table: SealedTable) -> LiteralString:
    """Read the next rows by key: what is sealed, and of the rest whether it is plain."""
    columns = ", ".join(
        f"t.{column.name} AS sealed_{n}, {_is_plain(column)} AS is_plain_{n}" for n, column in enumerate(table.columns)
    )
    return f"""
SELECT t.user_key, t.{table.key} AS row_key, {columns}{_bound(table)}
FROM discreet.{table.name} t
WHERE (t.user_key, t.{table.key}) > (%(after_user)s::uuid, %(after_key)s::{table.key_type})
ORDER BY t.user_key, t.{table.key}
LIMIT %(limit)s
"""


def read(table: SealedTable) -> LiteralString:
    """Read what some of a user's rows hold."""
    columns = ", ".join(
        f"t.{column.plain}::text AS plain_{n}, t.{column.name} AS sealed_{n}" for n, column in enumerate(table.columns)
    )
    return f"""
SELECT t.{table.key} AS row_key, {columns}{_bound(table)}{_told(table)}
FROM discreet.{table.name} t
WHERE t.user_key = %(user_key)s AND t.{table.key} = ANY (%(row_keys)s::{table.key_type}[])
"""


def write(table: SealedTable) -> LiteralString:
    """Put new values in the place of those that were read, unless somebody has the row locked or has changed it.

    It is locked by a query of its own, which skips it, since an UPDATE would wait. Whoever changed it meanwhile is seen: the
    conditions are looked at anew once the row is locked (PostgreSQL docs, section 13.2.1).
    """
    changes = ", ".join(
        f"{column.plain} = CASE WHEN %(new_{n})s::bytea IS NULL THEN t.{column.plain} ELSE {_empty(column)} END, "
        f"{column.name} = coalesce(%(new_{n})s::bytea, t.{column.name})"
        for n, column in enumerate(table.columns)
    )
    unchanged = " ".join(
        f"AND t.{column.plain}::text IS NOT DISTINCT FROM %(plain_{n})s::text "
        f"AND t.{column.name} IS NOT DISTINCT FROM %(sealed_{n})s::bytea"
        for n, column in enumerate(table.columns)
    )
    if table.bound:
        unchanged += f" AND {_row(table)} = %(told)s"
    return f"""
UPDATE discreet.{table.name} t SET {changes}
WHERE t.user_key = %(user_key)s AND t.{table.key} = (
    SELECT f.{table.key} FROM discreet.{table.name} f
    WHERE f.user_key = %(user_key)s AND f.{table.key} = %(row_key)s
    FOR NO KEY UPDATE SKIP LOCKED
) {unchanged}
"""


SHORT_LIVED: Final[LiteralString] = """
SELECT count(*) AS number, max(expires_at) AS until
FROM (
    SELECT s.expires_at, v.sealed
    FROM discreet.short_term_round r
    JOIN discreet.short_term_session s USING (user_key, thread_key)
    CROSS JOIN LATERAL (VALUES (r.sealed_input), (r.sealed_output)) AS v (sealed)
    UNION ALL
    SELECT expires_at, sealed_answer FROM discreet.short_term_work
    UNION ALL
    SELECT t.expires_at, v.sealed FROM discreet.vault_value v JOIN discreet.vault_turn t USING (turn_key)
) kept
WHERE expires_at > now() AND substring(sealed FROM 1 FOR octet_length(%(header)s::bytea)) <> %(header)s::bytea
"""
"""Values that expire, and are under another key: there is nothing to move."""

SPILLS: Final[LiteralString] = """
SELECT n.nspname AS schema
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'checkpoint_spill' AND c.relkind = 'r' AND has_table_privilege(c.oid, 'SELECT')
"""
"""Where checkpointers keep paused turns: beside their tables, wherever these are."""


def spilled(schema: str) -> Composed:
    """Count as `SHORT_LIVED` does what a checkpointer keeps."""
    return SQL(
        "SELECT count(*) AS number, max(expires_at) AS until FROM {}.checkpoint_spill WHERE expires_at > now() "
        "AND substring(sealed FROM 1 FOR octet_length(%(header)s::bytea)) <> %(header)s::bytea"
    ).format(Identifier(schema))


def _bound(table: SealedTable) -> LiteralString:
    """Return the columns that values are bound to, each after a comma."""
    return "".join(f", t.{name}::text AS {name}" if name == "type" else f", t.{name}" for name in table.bound)


def _told(table: SealedTable) -> LiteralString:
    return f", {_row(table)} AS told" if table.bound else ""


def _row(table: SealedTable) -> LiteralString:
    """Return all of these as one text."""
    return f"ROW({', '.join(f't.{name}' for name in table.bound)})::text"


def _is_pending(table: SealedTable) -> LiteralString:
    return " OR ".join(f"({_is_elsewhere(column)})" for column in table.columns)


def _is_elsewhere(column: SealedColumn) -> LiteralString:
    """Return whether a value is under another key than that of the header, which stands in front of it, or plain and to be sealed."""
    return (
        f"CASE WHEN {_is_plain(column)} THEN %(seal_plain)s WHEN t.{column.name} IS NULL THEN false ELSE "
        f"substring(t.{column.name} FROM 1 FOR octet_length(%(header)s::bytea)) <> %(header)s::bytea END"
    )


def _has_plain(table: SealedTable) -> LiteralString:
    return " OR ".join(_is_plain(column) for column in table.columns)


def _is_plain(column: SealedColumn) -> LiteralString:
    return f"t.{column.name} IS NULL AND t.{column.plain} IS DISTINCT FROM {_empty(column)}"


def _empty(column: SealedColumn) -> LiteralString:
    """Return what the plain column holds while the sealed one holds the value."""
    return f"NULL::{column.plain_type}" if column.empty is None else f"'{column.empty}'::{column.plain_type}"
