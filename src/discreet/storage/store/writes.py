"""Write a batch of items and their texts in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

from discreet.access.actor import SELF, Actor
from discreet.access.epochs import Beginning
from discreet.access.user_keys import UserKeys
from discreet.retrieval.lexical import Impacts
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.statements import fetch_in
from discreet.storage.database.users.epochs import FIRST_EPOCH
from discreet.storage.database.users.users import Cursor
from discreet.storage.memories.entry_counts import count_entries
from discreet.storage.memories.row_writing import write_rows
from discreet.storage.memories.rows import Vectors, tokens_of
from discreet.storage.memories.token_counts import count_tokens
from discreet.storage.store.items import delete_items, put_items, value_columns
from discreet.storage.store.texts import ItemText, text_row

_DELETE_TEXTS: LiteralString = """
DELETE FROM discreet.memory m
USING unnest(%(item_keys)s::uuid[]) AS g (item_key)
WHERE m.user_key = %(user_key)s AND m.thread_key = g.item_key AND m.position IS NOT NULL AND m.type = 'item'
RETURNING m.entry_id, m.lexical, m.thread_key AS item_key
"""

_NAME: LiteralString = """
INSERT INTO discreet.store_namespace (user_key, path) VALUES (%(user_key)s, %(path)s) ON CONFLICT DO NOTHING
"""

_HAS_ITEMS: LiteralString = "SELECT FROM discreet.store_item WHERE user_key = %(user_key)s LIMIT 1"

_FORGET_EMPTY: LiteralString = f"DELETE FROM discreet.users WHERE user_key = %(user_key)s AND epoch = {FIRST_EPOCH}"
"""The epoch of one that was erased stays, so that late puts are refused."""

_FORGET_NAME: LiteralString = "DELETE FROM discreet.store_namespace WHERE user_key = %(user_key)s"


async def forget_if_empty(cursor: Cursor, user_keys: Iterable[UUID]) -> None:
    """Leave nothing of a namespace without items, which must be locked: its labels may be somebody's id."""
    for user_key in user_keys:
        given = {"user_key": user_key}
        if await (await cursor.execute(_HAS_ITEMS, given)).fetchone() is None:
            await cursor.execute(_FORGET_EMPTY, given)
            await cursor.execute(_FORGET_NAME, given)


@dataclass(frozen=True, kw_only=True)
class Put:
    """One item as it is to be stored, or deleted."""

    user_key: UUID
    """Of its namespace."""
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
    owner: UUID | None = None
    """The user whose namespace it is, where its labels say so."""
    began: Beginning | None = None
    """Under which epoch of which user the turn began that puts it, if one does."""
    actor: Actor = SELF
    """Who puts it."""
    written_at: tuple[datetime, datetime] | None = None
    """When it was made and last changed, of one that comes from elsewhere; None: now."""


@dataclass(frozen=True, kw_only=True)
class StoreWriter:
    """Writes items with the vectors of their texts, all in one embedding space."""

    space_key: int
    """Of `discreet.embedding_space`."""
    sealer: FieldSealer
    """Of values and texts."""
    keys: UserKeys
    """Of the counts of entries."""

    async def write(self, cursor: Cursor, puts: Sequence[Put], vectors: Sequence[Sequence[Vectors]]) -> list[Impacts]:
        """Write `puts`, one an item, with the vectors of each one's texts. Their namespaces must be locked.

        Return the words of each text of the items that had none before.
        """
        by_namespace: defaultdict[UUID, list[tuple[Put, Sequence[Vectors]]]] = defaultdict(list)
        for put, own in zip(puts, vectors, strict=True):
            by_namespace[put.user_key].append((put, own))
        new: list[Impacts] = []
        for user_key, written in sorted(by_namespace.items()):
            new += await self._write(cursor, user_key, written)
        return new

    async def _write(
        self, cursor: Cursor, user_key: UUID, puts: Sequence[tuple[Put, Sequence[Vectors]]]
    ) -> list[Impacts]:
        """Write `puts` of one namespace."""
        kept = [put for put, _ in puts if put.value is not None]
        gone = [put.item_key for put, _ in puts if put.value is None]
        if kept:
            await cursor.execute(_NAME, {"user_key": user_key, "path": kept[0].path})
            await put_items(cursor, [self._item_row(put) for put in kept])
        if gone:
            await delete_items(cursor, user_key, gone)
        item_keys = [put.item_key for put, _ in puts]
        deleted = await fetch_in(cursor, _DELETE_TEXTS, {"user_key": user_key, "item_keys": item_keys})
        texts = await self._write_texts(cursor, user_key, puts)
        went = [row["entry_id"] for row in deleted]
        space_key = self.space_key if texts else None
        await count_entries(cursor, user_key, self.keys, added=texts, gone=went, space_key=space_key)
        words = [text.words for put, _ in puts for text in put.texts]
        await count_tokens(cursor, user_key, new=words, gone=map(tokens_of, deleted))
        if gone:
            await forget_if_empty(cursor, [user_key])
        had_texts = {row["item_key"] for row in deleted}
        return [text.words for put, _ in puts if put.item_key not in had_texts for text in put.texts]

    def _item_row(self, put: Put) -> dict[str, Any]:
        assert put.value is not None  # deletions have no row
        columns = value_columns(put.value, put.user_key, put.item_key, put.key, self.sealer)
        created_at, updated_at = put.written_at or (None, None)
        times = {"created_at": created_at, "updated_at": updated_at}
        return {"user_key": put.user_key, "item_key": put.item_key, "key": put.key, "ttl": put.ttl, **times, **columns}

    async def _write_texts(
        self, cursor: Cursor, user_key: UUID, puts: Sequence[tuple[Put, Sequence[Vectors]]]
    ) -> list[UUID]:
        """Write the texts of `puts`; return their entries."""
        now = datetime.now(UTC)
        rows = [
            text_row(
                text,
                user_key,
                put.item_key,
                position,
                space_key=self.space_key,
                vector=vector,
                written_at=now,
                sealer=self.sealer,
            )
            for put, own in puts
            for position, (text, vector) in enumerate(zip(put.texts, own, strict=True))
        ]
        await write_rows(cursor, rows, replaced=())
        return [row["entry_id"] for row in rows]
