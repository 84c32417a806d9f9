"""Write rows of `discreet.memory`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.types.json import Jsonb

from discreet.state.records import MemoryRecord
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.memories.rows import changed_columns

_TYPES: Final[Mapping[LiteralString, LiteralString]] = {
    "user_key": "uuid",
    "entry_id": "uuid",
    "app_key": "uuid",
    "space_key": "smallint",
    "type": "discreet.memory_type",
    "created_at": "timestamptz",
    "valid_from": "timestamptz",
    "valid_to": "timestamptz",
    "app_name": "text",
    "text": "text",
    "sealed_text": "bytea",
    "request_id": "text",
    "thread_id": "text",
    "thread_key": "uuid",
    "position": "bigint",
    "agent_id": "text",
    "importance": "smallint",
    "confidence": "double precision",
    "tags": "text[]",
    "conflict_flags": "text[]",
    "turns": "text[]",
    "loop_flag": "boolean",
    "provenance": "jsonb",
    "sealed_provenance": "bytea",
    "feedback": "jsonb",
    "sealed_feedback": "bytea",
    "reasoning": "text",
    "sealed_reasoning": "bytea",
}
"""Of `discreet.memory`, but for its vectors."""

_VECTORS: Final[Mapping[LiteralString, LiteralString]] = {"embedding": "halfvec", "lexical": "sparsevec"}
_NAMES: LiteralString = ", ".join([*_TYPES, *_VECTORS])
_KEY = ("user_key", "entry_id")

_INSERT: LiteralString = f"""
INSERT INTO discreet.memory ({_NAMES}, sketch)
SELECT r.*, binary_quantize(r.embedding)
FROM ROWS FROM (
    jsonb_to_recordset(%(rows)s::jsonb) AS ({", ".join(f"{name} {kind}" for name, kind in _TYPES.items())}),
    {", ".join(f"unnest(%({name})b::{kind}[])" for name, kind in _VECTORS.items())}
) AS r ({_NAMES})
WHERE %(user_key)s IS NOT NULL
RETURNING entry_id
"""
"""All columns but vectors as one JSON: the driver needs more time for each of their values than for the JSON of a row, and more
for arrays of vectors as text than in binary. Without RETURNING a Citus cluster makes it a COPY, which row-level security refuses."""

_REPLACE: LiteralString = (
    "UPDATE discreet.memory SET "
    + ", ".join(f"{name} = %({name})s" for name in (*_TYPES, *_VECTORS) if name not in _KEY)
    + ", sketch = binary_quantize(%(embedding)s::halfvec)"
    + " WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s"
)


_CHANGE: LiteralString = """
UPDATE discreet.memory
SET created_at = %(created_at)s, valid_from = %(valid_from)s, valid_to = %(valid_to)s, importance = %(importance)s,
    confidence = %(confidence)s, tags = %(tags)s, conflict_flags = %(conflict_flags)s, text = %(text)s,
    sealed_text = %(sealed_text)s, feedback = %(feedback)s, sealed_feedback = %(sealed_feedback)s
WHERE user_key = %(user_key)s AND entry_id = %(entry_id)s
"""
"""A sealed text is bound to the other columns, and so is sealed anew."""


async def write_rows(
    cursor: AsyncCursor[dict[str, Any]], rows: Sequence[Mapping[str, Any]], *, replaced: Collection[UUID] = ()
) -> None:
    """Write `rows` of one user, each with all columns. Those of the entries `replaced` must exist, the others must not.

    The user must be locked.
    """
    if new := [row for row in rows if row["entry_id"] not in replaced]:
        plain = [{name: row[name] for name in _TYPES if row[name] is not None} for row in new]
        given = {name: [row[name] for row in new] for name in _VECTORS}
        written = json.dumps(plain, default=_plain, ensure_ascii=False)
        await cursor.execute(_INSERT, {**given, "rows": written, "user_key": new[0]["user_key"]})
    if len(new) < len(rows):
        await cursor.executemany(_REPLACE, [row for row in rows if row["entry_id"] in replaced])


async def change_rows(
    cursor: AsyncCursor[dict[str, Any]], user_key: UUID, records: Sequence[MemoryRecord], sealer: FieldSealer
) -> None:
    """Write what is new of stored records, but for their texts, places and vectors. The user must be locked."""
    if records:
        changes = [{**changed_columns(record, user_key, sealer), "user_key": user_key} for record in records]
        await cursor.executemany(_CHANGE, changes)


def _plain(value: object) -> Any:
    """Return what is no JSON as its type in `_TYPES` is written."""
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    assert isinstance(value, Jsonb)
    return value.obj
