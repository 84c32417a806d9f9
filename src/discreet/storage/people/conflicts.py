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
from discreet.storage.memories.row_writing import change_rows
from discreet.storage.memories.rows import RECORD_COLUMNS, opened_or_blank, record_from

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

_PAIR: LiteralString = f"""
SELECT {RECORD_COLUMNS}, statement_timestamp() AS now
FROM discreet.memory m WHERE m.user_key = %(user_key)s AND m.entry_id IN (%(older)s, %(newer)s)
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


async def settle(cursor: Cursor, user_key: UUID, pair: tuple[UUID, UUID], keep: Keep, sealer: FieldSealer) -> bool:
    """Take a pair, the older and the newer one, for settled; False if there is no such pair any more. The user must be locked.

    What is not kept has ended: it is found only by what held then. `both` hold from now on.

    Raises:
        EncryptionError: One of them can't be opened; nothing was changed. It can be deleted.
    """
    older, newer = pair
    given = {"user_key": user_key, "older": older, "newer": newer}
    await cursor.execute(_SETTLE, given)
    if cursor.rowcount == 0:
        return False
    rows = await (await cursor.execute(_PAIR, given)).fetchall()
    records = {row["entry_id"]: record_from(row, sealer) for row in rows}
    former, later = records[older], records[newer]
    update: dict[str, Any] = {"conflict_flags": [flag for flag in later.conflict_flags if flag != str(older)]}
    if keep == "older":
        update["valid_to"] = max(later.created_at, rows[0]["now"])
    changed = [later.model_copy(update=update)]
    if keep == "newer":  # as if it had superseded the older one when it was said
        changed.append(former.model_copy(update={"valid_to": later.valid_from or later.created_at}))
    await change_rows(cursor, user_key, changed, sealer)
    return True
