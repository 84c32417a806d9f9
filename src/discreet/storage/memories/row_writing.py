"""Write rows of `discreet.memory`: several new ones by COPY, one or replaced ones by statement.

PostgreSQL refuses COPY into a table with row-level security; there new ones are written one by one, in one round trip.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, LiteralString, cast
from uuid import UUID

from psycopg import AsyncCursor

from discreet.storage.database.connecting.connection import StorageConnection

COLUMN_TYPES: Final[Mapping[LiteralString, str]] = {
    "user_key": "uuid",
    "entry_id": "uuid",
    "app_key": "uuid",
    "space_key": "int2",
    "type": "text",  # an enum: in COPY's binary format it is its label
    "created_at": "timestamptz",
    "valid_from": "timestamptz",
    "valid_to": "timestamptz",
    "embedding": "halfvec",
    "sketch": "bit",
    "lexical": "sparsevec",
    "app_name": "text",
    "text": "text",
    "sealed_text": "bytea",
    "request_id": "text",
    "thread_id": "text",
    "thread_key": "uuid",
    "position": "int8",
    "agent_id": "text",
    "importance": "int2",
    "confidence": "float8",
    "tags": "text[]",
    "conflict_flags": "text[]",
    "loop_flag": "bool",
    "provenance": "jsonb",
    "sealed_provenance": "bytea",
    "feedback": "jsonb",
    "sealed_feedback": "bytea",
    "reasoning": "text",
    "sealed_reasoning": "bytea",
}
"""Of `discreet.memory`, with their types in COPY's binary format."""

_NAMES: LiteralString = ", ".join(COLUMN_TYPES)
_KEY = ("user_key", "entry_id")

_COPY: LiteralString = f"COPY discreet.memory ({_NAMES}) FROM STDIN (FORMAT BINARY)"

_INSERT: LiteralString = (
    f"INSERT INTO discreet.memory ({_NAMES}) VALUES ("  # noqa: S608 - names of ours
    + ", ".join(f"%({name})b::discreet.memory_type" if name == "type" else f"%({name})b" for name in COLUMN_TYPES)
    + ")"
)

_REPLACE: LiteralString = (
    "UPDATE discreet.memory SET "  # noqa: S608 - names of ours
    + ", ".join(f"{name} = %({name})s" for name in COLUMN_TYPES if name not in _KEY)
    + " WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s"
)


async def write_rows(
    cursor: AsyncCursor[dict[str, Any]], rows: Sequence[Mapping[str, Any]], *, replaced: Collection[UUID] = ()
) -> None:
    """Write `rows`, each with all of `COLUMN_TYPES`. Those of the entries `replaced` must exist, the others must not.

    The user must be locked. COPY takes 6.5 ms for 100 rows of 512 dims where INSERT takes 15, and 2.7 instead of 6.7 of
    them on the client. One row is a statement that stays prepared, in one round trip instead of two.
    """
    new = [row for row in rows if row["entry_id"] not in replaced]
    if new and cast("StorageConnection[Any]", cursor.connection).row_security:
        await cursor.executemany(_INSERT, new)
    elif len(new) == 1:
        await cursor.execute(_INSERT, new[0])
    elif new:
        async with cursor.copy(_COPY) as copy:
            copy.set_types(list(COLUMN_TYPES.values()))
            for row in new:
                await copy.write_row([row[name] for name in COLUMN_TYPES])
    if len(new) < len(rows):
        await cursor.executemany(_REPLACE, [row for row in rows if row["entry_id"] in replaced])
