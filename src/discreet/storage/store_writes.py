"""Write a batch of items and their texts in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.retrieval.lexical import Impacts
from discreet.storage.keys import app_keys_for, person_for
from discreet.storage.memory_rows import Keys
from discreet.storage.row_writing import write_rows
from discreet.storage.saving import lock_person
from discreet.storage.sealing import FieldSealer
from discreet.storage.store_items import delete_items, key_arrays, put_items, value_columns
from discreet.storage.store_texts import APP_NAME, ItemText, text_row

_DELETE_TEXTS: LiteralString = """
WITH gone AS (
    DELETE FROM discreet.memory m
    USING unnest(%(user_keys)s::bigint[], %(item_keys)s::uuid[]) AS g (user_key, item_key)
    WHERE m.user_key = g.user_key AND m.thread_key = g.item_key AND m.position IS NOT NULL AND m.type = 'item'
    RETURNING m.user_key, m.thread_key AS item_key
),
counted AS (
    UPDATE discreet.person p
    SET memories = p.memories - g.texts
    FROM (SELECT user_key, count(*) AS texts FROM gone GROUP BY user_key) g
    WHERE p.user_key = g.user_key
)
SELECT DISTINCT user_key, item_key FROM gone
"""

_COUNT: LiteralString = """
UPDATE discreet.person
SET memories = memories + %(texts)s,
    space_key = CASE WHEN memories = 0 OR space_key = %(space_key)s THEN %(space_key)s END
WHERE user_key = %(user_key)s
"""

FORGET_EMPTY: LiteralString = """
DELETE FROM discreet.person p
WHERE p.user_key = ANY (%(user_keys)s) AND NOT EXISTS (SELECT FROM discreet.store_item WHERE user_key = p.user_key)
"""
"""A namespace without items leaves nothing behind: its labels may be somebody's id. It must be locked."""


@dataclass(frozen=True, kw_only=True)
class Put:
    """One item as it is to be stored, or deleted."""

    path: str
    """Of its namespace."""
    item_key: UUID
    """Of its key."""
    key: str
    """As the caller gave it."""
    value: str | None
    """Redacted, as JSON; None deletes the item."""
    texts: list[ItemText]
    """What it is found by."""
    ttl: float | None
    """Minutes that it lives after it was written or read; None: for ever."""


@dataclass(frozen=True, kw_only=True)
class StoreWriter:
    """Writes items with the vectors of their texts, all in one embedding space."""

    space_key: int
    """Of `discreet.embedding_space`."""
    sealer: FieldSealer
    """Of values and texts."""

    async def write(
        self, cursor: AsyncCursor[dict[str, Any]], puts: Sequence[Put], vectors: Sequence[Sequence[list[float]]]
    ) -> list[Impacts]:
        """Write `puts`, one an item, with the vectors of each one's texts, in the transaction that the caller began.

        Return the words of each text of the items that had none before.
        """
        paths = sorted({put.path for put in puts})
        for path in paths:  # in one order, so that two batches never wait for each other
            await lock_person(cursor, path)
        user_keys = {path: (await person_for(cursor, path)).user_key for path in paths}
        items = [(user_keys[put.path], put.item_key) for put in puts]
        kept = [(user_key, put) for (user_key, _), put in zip(items, puts, strict=True) if put.value is not None]
        gone = [key for key, put in zip(items, puts, strict=True) if put.value is None]
        if kept:
            await put_items(cursor, [self._item_row(put, user_key) for user_key, put in kept])
        if gone:
            await delete_items(cursor, gone)
        await cursor.execute(_DELETE_TEXTS, key_arrays(items))
        had_texts = {(row["user_key"], row["item_key"]) for row in await cursor.fetchall()}
        await self._write_texts(cursor, [(user_keys[put.path], put) for put in puts], vectors)
        if gone:
            await cursor.execute(FORGET_EMPTY, {"user_keys": sorted({user_key for user_key, _ in gone})})
        new = [put for key, put in zip(items, puts, strict=True) if key not in had_texts]
        return [text.words for put in new for text in put.texts]

    def _item_row(self, put: Put, user_key: int) -> dict[str, Any]:
        assert put.value is not None  # deletions have no row
        columns = value_columns(put.value, user_key, put.item_key, self.sealer)
        return {"user_key": user_key, "item_key": put.item_key, "key": put.key, "ttl": put.ttl, **columns}

    async def _write_texts(
        self,
        cursor: AsyncCursor[dict[str, Any]],
        puts: Sequence[tuple[int, Put]],
        vectors: Sequence[Sequence[list[float]]],
    ) -> None:
        if not any(put.texts for _, put in puts):
            return
        now = datetime.now(UTC)
        app_keys = await app_keys_for(cursor, {APP_NAME})
        rows = []
        counts: Counter[int] = Counter()
        for (user_key, put), own_vectors in zip(puts, vectors, strict=True):
            keys = Keys(user_key=user_key, app_key=app_keys[APP_NAME], space_key=self.space_key)
            for position, (text, vector) in enumerate(zip(put.texts, own_vectors, strict=True)):
                row = text_row(text, vector, put.item_key, position, written_at=now, keys=keys, sealer=self.sealer)
                rows.append(row)
            counts[user_key] += len(put.texts)
        await write_rows(cursor, rows, replaced=())
        await cursor.executemany(
            _COUNT,
            [{"user_key": user_key, "texts": texts, "space_key": self.space_key} for user_key, texts in counts.items()],
        )
