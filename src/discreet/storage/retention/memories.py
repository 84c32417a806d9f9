"""Memories that are kept for a time: turns that are found by search, and reasoning."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import LiteralString
from uuid import UUID

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.by_user import delete_by_user
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.deleting import delete_entries
from discreet.storage.memories.saving import SaveRules
from discreet.storage.retention.sweeper import At, Due, Gone, due_of

TURNS: LiteralString = "m.type = 'turn'"
_HAS_REASONING: LiteralString = "(m.type = 'reasoning' OR m.reasoning IS NOT NULL OR m.sealed_reasoning IS NOT NULL)"
REASONING: LiteralString = f"{_HAS_REASONING} AND m.type <> 'important_moment'"
_WHICH: Sequence[tuple[str, LiteralString]] = (("turns", TURNS), ("reasoning", REASONING))

FIND: LiteralString = """
SELECT m.user_key, m.created_at AS due FROM discreet.memory m
WHERE {which} AND m.created_at < %(until)s AND m.created_at >= %(after)s::timestamptz
ORDER BY m.created_at
LIMIT %(batch)s
"""

_COUNT: LiteralString = """
SELECT count(*) AS rows, min(m.created_at) AS oldest FROM discreet.memory m WHERE {which} AND m.created_at < %(until)s
"""

_OF_USER: LiteralString = """
SELECT m.entry_id, m.type IN ('turn', 'reasoning') AS goes FROM discreet.memory m
WHERE m.user_key = %(user_key)s AND {which} AND m.created_at < %(until)s
ORDER BY m.created_at
LIMIT %(batch)s
"""

_FORGET_REASONING: LiteralString = """
UPDATE discreet.memory SET reasoning = NULL, sealed_reasoning = NULL
WHERE user_key = %(user_key)s AND entry_id = ANY (%(entry_ids)s)
"""


@dataclass(frozen=True, kw_only=True)
class MemorySweeper:
    """Sweeps turns and reasoning, a user in a transaction. A memory that has reasoning beside its text stays without it."""

    works: Pool
    locks: UserLocks
    """Over the same pool."""
    rules: SaveRules
    kinds: tuple[str, ...] = ("turns", "reasoning")

    async def sweep(self, at: At, *, batch: int) -> AsyncGenerator[Gone, None]:
        """Delete what is due."""
        for kind, which in _WHICH:
            until = at.until(kind)
            delete = partial(self._delete, which=which, until=until, batch=batch)
            find, given = FIND.format(which=which), {"until": until}
            async for rows in delete_by_user(self.works, self.locks, find, delete, given=given, batch=batch):
                yield {kind: rows}

    async def due(self, at: At) -> list[Due]:
        """Return how much is."""
        return [await due_of(kind, self.works, (_COUNT.format(which=which), at.until(kind))) for kind, which in _WHICH]

    async def _delete(
        self, cursor: Cursor, user_key: UUID, *, which: LiteralString, until: datetime, batch: int
    ) -> int:
        given = {"user_key": user_key, "until": until, "batch": batch}
        rows = await (await cursor.execute(_OF_USER.format(which=which), given)).fetchall()
        going = [row["entry_id"] for row in rows if row["goes"]]
        staying = [row["entry_id"] for row in rows if not row["goes"]]
        if going:
            await delete_entries(cursor, user_key, going, self.rules)
        if staying:
            await cursor.execute(_FORGET_REASONING, {"user_key": user_key, "entry_ids": staying})
        return len(rows)
