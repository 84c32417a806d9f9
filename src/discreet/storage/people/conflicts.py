"""Pairs of memories that may not both hold, and what somebody decides on one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, LiteralString
from uuid import UUID

from discreet.state.records import MemoryRecord
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.statements import fetch
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.rows import RECORD_COLUMNS, opened_or_blank

Keep = Literal["older", "newer", "both"]

ConflictMark = tuple[UUID, UUID, UUID]
"""Whose pair is the last of a page: user_key, and the entries of the older and the newer memory."""

OPEN_PAIRS: LiteralString = """
FROM discreet.memory_conflict c
JOIN discreet.memory o ON o.user_key = c.user_key AND o.entry_id = c.older
JOIN discreet.memory n ON n.user_key = c.user_key AND n.entry_id = c.newer
WHERE (o.valid_to IS NULL OR o.valid_to > now()) AND (n.valid_to IS NULL OR n.valid_to > now())
"""
"""Pairs of which both still hold."""

_PAIRS: LiteralString = f"""
SELECT c.user_key, c.older, c.newer {OPEN_PAIRS} {{conditions}}
ORDER BY c.user_key, c.older, c.newer
LIMIT %(limit)s
"""

_OF_ONE: LiteralString = "AND c.user_key = %(user_key)s "

_AFTER: LiteralString = "AND (c.user_key, c.older, c.newer) > (%(after_user)s, %(after_older)s, %(after_newer)s)"

_RECORDS: LiteralString = f"""
SELECT {RECORD_COLUMNS} FROM discreet.memory m WHERE m.user_key = ANY (%(user_keys)s) AND m.entry_id = ANY (%(entry_ids)s)
"""

_SETTLE: LiteralString = """
DELETE FROM discreet.memory_conflict WHERE user_key = %(user_key)s AND older = %(older)s AND newer = %(newer)s
"""

_UNFLAG: LiteralString = """
UPDATE discreet.memory SET conflict_flags = nullif(array_remove(conflict_flags, %(older)s::uuid::text), '{}')
WHERE user_key = %(user_key)s AND entry_id = %(newer)s
"""

_END_OLDER: LiteralString = """
UPDATE discreet.memory o SET valid_to = (
    SELECT coalesce(n.valid_from, n.created_at) FROM discreet.memory n
    WHERE n.user_key = %(user_key)s AND n.entry_id = %(newer)s
)
WHERE o.user_key = %(user_key)s AND o.entry_id = %(older)s
"""
"""As if the newer one had superseded it when it was said."""

_END_NEWER: LiteralString = """
UPDATE discreet.memory SET valid_to = greatest(created_at, statement_timestamp())
WHERE user_key = %(user_key)s AND entry_id = %(newer)s
"""


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Two memories of one person that may not both hold."""

    user_key: UUID
    older: MemoryRecord
    newer: MemoryRecord

    @property
    def mark(self) -> ConflictMark:
        """Where the next page begins, if this is the last of one."""
        return self.user_key, self.older.entry_id, self.newer.entry_id


async def read_conflicts(
    pool: Pool, sealer: FieldSealer, *, user_key: UUID | None, limit: int, after: ConflictMark | None
) -> list[Conflict]:
    """Return at most `limit` pairs of memories that hold, of one person or of all, after a mark.

    Raises:
        StorageError: The database failed.
    """
    conditions: LiteralString = (_OF_ONE if user_key else "") + (_AFTER if after else "")
    after_user, after_older, after_newer = after or (None, None, None)
    given = {"user_key": user_key, "limit": limit}
    given |= {"after_user": after_user, "after_older": after_older, "after_newer": after_newer}
    pairs = await fetch(pool, _PAIRS.replace("{conditions}", conditions), given)
    records = await _records(pool, sealer, pairs)
    return [
        Conflict(user_key=row["user_key"], older=records[row["older"]], newer=records[row["newer"]])
        for row in pairs
        if {row["older"], row["newer"]} <= records.keys()
    ]


async def _records(pool: Pool, sealer: FieldSealer, pairs: Sequence[dict[str, Any]]) -> dict[UUID, MemoryRecord]:
    if not pairs:
        return {}
    entry_ids = list({row[name] for row in pairs for name in ("older", "newer")})
    given = {"user_keys": list({row["user_key"] for row in pairs}), "entry_ids": entry_ids}
    return {record.entry_id: record for record in opened_or_blank(await fetch(pool, _RECORDS, given), sealer)}


async def settle(cursor: Cursor, user_key: UUID, older: UUID, newer: UUID, keep: Keep) -> bool:
    """Take a pair for settled; False if there is no such pair any more. The user must be locked.

    What is not kept has ended: it is found only by what held then. `both` hold from now on.
    """
    given = {"user_key": user_key, "older": older, "newer": newer}
    await cursor.execute(_SETTLE, given)
    if cursor.rowcount == 0:
        return False
    await cursor.execute(_UNFLAG, given)
    if keep != "both":
        await cursor.execute(_END_OLDER if keep == "newer" else _END_NEWER, given)
    return True
