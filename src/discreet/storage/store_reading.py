"""The reads of one batch of a store, on one connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Result, SearchItem, SearchOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from discreet.retrieval.fusion import Fusion
from discreet.storage.namespaces import item_key_of, path_of
from discreet.storage.sealing import FieldSealer
from discreet.storage.search_sql import Search
from discreet.storage.spaces import EmbeddingSpace
from discreet.storage.store_browsing import build_page, opened_fitting
from discreet.storage.store_filters import Condition, conditions_of
from discreet.storage.store_items import Row, found_item, item_of, read_items, refresh_items
from discreet.storage.store_listing import list_namespaces
from discreet.storage.store_preparing import Prepared
from discreet.storage.store_search import StoreQuestion, build_ranked, score_of


@dataclass(frozen=True, kw_only=True)
class StoreRules:
    """What holds for all operations of a store."""

    space: EmbeddingSpace
    """That the vectors of texts belong to."""
    sealer: FieldSealer
    """Of values and texts."""
    fusion: Fusion
    """How the orders by meaning and by words become one."""


@dataclass(frozen=True, kw_only=True)
class StoreReader:
    """Reads for one batch."""

    conn: AsyncConnection[DictRow]
    """In autocommit: a read needs no transaction, and locks nothing."""
    questions: Mapping[str, StoreQuestion]
    """What the searches of the batch ask, by its text."""
    rules: StoreRules

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
                    results[place] = await list_namespaces(cursor, op)
        async with self.conn.cursor(binary=True) as cursor:
            await refresh_items(cursor, used)
        return results

    async def _get(self, gets: Mapping[int, GetOp]) -> Iterator[tuple[int, Row, Item]]:
        """Return those that are there, with their places in the batch."""
        rows: list[Row | None] = []
        if gets:
            async with self.conn.cursor(binary=True) as cursor:
                wanted = [(path_of(op.namespace), item_key_of(op.key)) for op in gets.values()]
                rows = await read_items(cursor, wanted)
        found = zip(gets, rows, strict=True)
        return ((place, row, item_of(row, self.rules.sealer)) for place, row in found if row is not None)

    async def _search(self, op: SearchOp) -> tuple[list[Row], list[SearchItem]]:
        conditions = conditions_of(op.filter)
        sealer = self.rules.sealer
        if op.query:
            question = self.questions[op.query]
            rows = await self._ranked(op, question, conditions)
            return rows, [found_item(row, sealer, score_of(row, question, self.rules.space)) for row in rows]
        if conditions and sealer.seals:
            page_end = op.offset + op.limit
            rows = (await opened_fitting(self.conn, op, conditions, sealer, limit=page_end))[op.offset :]
        else:
            rows = await self._fetch(build_page(op, conditions))
        return rows, [found_item(row, sealer) for row in rows]

    async def _ranked(self, op: SearchOp, question: StoreQuestion, conditions: list[Condition]) -> list[Row]:
        among = None
        if conditions and self.rules.sealer.seals:
            fitting = await opened_fitting(self.conn, op, conditions, self.rules.sealer)
            among = [(row["user_key"], row["item_key"]) for row in fitting]
        search = build_ranked(op, question, self.rules.space, self.rules.fusion, conditions=conditions, among=among)
        return await self._fetch(search)

    async def _fetch(self, search: Search) -> list[Row]:
        async with self.conn.cursor(binary=True) as cursor:
            await cursor.execute(search.statement, search.parameters)
            rows: list[Row] = list[Any](await cursor.fetchall())
        return rows
