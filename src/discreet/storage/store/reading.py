"""The reads of one batch of a store, on one connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Result, SearchItem, SearchOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from discreet.access.user_keys import UserKeys
from discreet.errors import EncryptionError
from discreet.retrieval.fusion import Fusion
from discreet.storage.database.connecting.connection import StorageConnection
from discreet.storage.database.sealing import FieldSealer, report_unreadable, reported
from discreet.storage.memories.search import SHARE, Search, shortlist_for
from discreet.storage.memories.spaces.spaces import EmbeddingSpace
from discreet.storage.store.browsing import build_page, opened_fitting
from discreet.storage.store.filters import Condition, conditions_of
from discreet.storage.store.items import (
    Row,
    found_item,
    item_of,
    namespaces_below,
    read_items,
    refresh_items,
    texts_of,
)
from discreet.storage.store.listing import list_namespaces
from discreet.storage.store.namespaces import item_key_of, path_of
from discreet.storage.store.preparing import Prepared
from discreet.storage.store.search import StoreQuestion, build_ranked, score_of


@dataclass(frozen=True, kw_only=True)
class StoreRules:
    """What holds for all operations of a store."""

    space: EmbeddingSpace
    """That the vectors of texts belong to."""
    sealer: FieldSealer
    """Of values and texts."""
    fusion: Fusion
    """How the orders by meaning and by words become one."""
    keys: UserKeys
    """Of namespaces."""


@dataclass(frozen=True, kw_only=True)
class StoreReader:
    """Reads for one batch."""

    conn: AsyncConnection[DictRow]
    """In autocommit: a read needs no transaction, and locks nothing."""
    questions: Mapping[str, StoreQuestion]
    """What the searches of the batch ask, by its text."""
    rules: StoreRules
    hidden: Sequence[str] = ()
    """Paths of namespaces that are not listed."""

    async def read(self, ops: Sequence[Prepared]) -> list[Result]:
        """Return a result for each of `ops` in their order, None for what is no read."""
        results: list[Result] = [None] * len(ops)
        used: list[Row] = []
        gets = {place: op for place, op in enumerate(ops) if isinstance(op, GetOp)}
        for place, row, item in await self._get(gets):
            results[place] = item
            if gets[place].refresh_ttl:
                used.append(row)
        for place, op in enumerate(ops):
            if isinstance(op, SearchOp):
                rows, results[place] = await self._search(op)
                if op.refresh_ttl:
                    used += rows
            elif isinstance(op, ListNamespacesOp):
                async with self.conn.cursor(binary=True) as cursor:
                    results[place] = await list_namespaces(cursor, op, self.hidden)
        async with self.conn.cursor(binary=True) as cursor:
            await refresh_items(cursor, used)
        return results

    async def _get(self, gets: Mapping[int, GetOp]) -> Iterator[tuple[int, Row, Item]]:
        """Return those that are there, with their places in the batch."""
        rows: list[Row | None] = []
        if gets:
            async with self.conn.cursor(binary=True) as cursor:
                namespace_of = self.rules.keys.of_namespace
                wanted = [(namespace_of(path_of(op.namespace)), item_key_of(op.key)) for op in gets.values()]
                rows = await read_items(cursor, wanted)
        found = zip(gets, rows, strict=True)
        return ((place, row, self._opened(row, gets[place])) for place, row in found if row is not None)

    def _opened(self, row: Row, op: GetOp) -> Item:
        with reported("item", row["item_key"]):
            return item_of(row, path_of(op.namespace), self.rules.sealer)

    async def _search(self, op: SearchOp) -> tuple[list[Row], list[SearchItem]]:
        conditions = conditions_of(op.filter)
        sealer = self.rules.sealer
        async with self.conn.cursor(binary=True) as cursor:
            paths = await namespaces_below(cursor, op.namespace_prefix, self.rules.keys)
        namespaces = list(paths)
        if not namespaces:
            return [], []
        if op.query:
            question = self.questions[op.query]
            rows = await self._ranked(op, namespaces, question, conditions)
            return self._found(rows, paths, lambda row: score_of(row, question, self.rules.space))
        if conditions and sealer.seals:
            page_end = op.offset + op.limit
            rows = (await opened_fitting(self.conn, namespaces, conditions, sealer, limit=page_end))[op.offset :]
        else:
            rows = await self._fetch(build_page(op, namespaces, conditions))
        return self._found(rows, paths)

    def _found(
        self, rows: Sequence[Row], paths: Mapping[UUID, str], score: Callable[[Row], float | None] = lambda _: None
    ) -> tuple[list[Row], list[SearchItem]]:
        """Return the rows that can be opened, and their items. The log names the others."""
        opened, items, unreadable = [], [], []
        for row in rows:
            try:
                items.append(found_item(row, paths[row["user_key"]], self.rules.sealer, score(row)))
                opened.append(row)
            except EncryptionError:
                unreadable.append(row["item_key"])
        report_unreadable("item", unreadable)
        return opened, items

    async def _ranked(
        self, op: SearchOp, namespaces: Sequence[UUID], question: StoreQuestion, conditions: list[Condition]
    ) -> list[Row]:
        among = None
        if conditions and self.rules.sealer.seals:
            fitting = await opened_fitting(self.conn, namespaces, conditions, self.rules.sealer)
            among = [(row["user_key"], row["item_key"]) for row in fitting]
        rules = self.rules
        shortlist, found = shortlist_for(op.offset + op.limit, rules.space.dims), list[Row]()
        if len(namespaces) > 1:
            async with self.conn.cursor(binary=True) as cursor:
                shortlist = max(shortlist, await texts_of(cursor, namespaces) // SHARE)
        while len(found) < op.limit:
            ranked = build_ranked(
                op,
                namespaces,
                question,
                rules.space,
                rules.fusion,
                conditions=conditions,
                among=among,
                shortlist=shortlist,
                on_cluster=isinstance(self.conn, StorageConnection) and self.conn.is_cluster,
            )
            rows = await self._fetch(ranked)
            found = [row for row in rows if row["user_key"] is not None]
            if rows[0]["compared"] < shortlist:
                break
            shortlist *= 8  # they were texts of few items
        async with self.conn.cursor(binary=True) as cursor:
            items = await read_items(cursor, [(row["user_key"], row["item_key"]) for row in found])
        return [{**item, **row} for item, row in zip(items, found, strict=True) if item is not None]

    async def _fetch(self, search: Search) -> list[Row]:
        async with self.conn.cursor(binary=True) as cursor:
            await cursor.execute(search.statement, search.parameters)
            rows: list[Row] = list[Any](await cursor.fetchall())
        return rows
