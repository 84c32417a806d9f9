"""Find the stored facts that new ones may repeat, replace or contradict."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from psycopg import AsyncConnection, AsyncCursor

from discreet.retrieval.dedup_resolution import CONSOLIDATED, Nearness, is_compared
from discreet.state.records import MemoryRecord
from discreet.storage.database.keys import app_key_of, digest
from discreet.storage.memories.rows import RECORD_COLUMNS, Vectors
from discreet.storage.memories.spaces.spaces import EmbeddingSpace

COMPARED: Final = 12
"""Nearest facts that a new one is compared with. What it says again or replaces is among them; more cost time only."""

SMALL_BATCH: Final = 6
"""Up to so many facts are compared by the database, a scan each. For more it sends all vectors of the user once, 1 MB for
1,000 of 512 dims, and they are multiplied here: 100 facts against 1,000 take a tenth of the time."""

MEDIUM_BATCH: Final = 200
"""Up to so many are multiplied with each other in a millisecond or two: another thread would not begin sooner."""

_FACTS: LiteralString = """
FROM discreet.memory
WHERE user_key = %(user_key)s AND space_key = %(space_key)s
  AND type = ANY (%(types)s::discreet.memory_type[]) AND valid_to IS NULL
"""

_NEAREST: LiteralString = f"""
WITH near AS MATERIALIZED (
    SELECT entry_id
    {_FACTS} AND app_key = %(app_key)s
    ORDER BY sketch <~> (SELECT binary_quantize(%(embedding)s::halfvec))
    LIMIT 4 * {COMPARED}
)
SELECT {RECORD_COLUMNS}, m.lexical, CASE WHEN m.entry_id IN (SELECT entry_id FROM near) THEN m.cosine END AS cosine
FROM (
    SELECT m.*, CASE WHEN m.space_key = %(space_key)s THEN -(m.embedding <#> %(embedding)s::halfvec) END AS cosine
    FROM (SELECT entry_id FROM near UNION SELECT unnest(%(entry_ids)s::uuid[])) AS wanted (entry_id)
    CROSS JOIN LATERAL (
        SELECT * FROM discreet.memory r WHERE r.user_key = %(user_key)s AND r.entry_id = wanted.entry_id LIMIT 1
    ) m
) m
WHERE m.cosine >= %(least_cosine)s OR m.entry_id = ANY (%(entry_ids)s::uuid[])
"""
"""The records that are near to a fact, and those of `entry_ids`. The index has the signs of vectors: those alone are read from the
table whose signs are nearest."""

_ALL: LiteralString = f"SELECT entry_id, app_key, halfvec_send(embedding) AS embedding {_FACTS}"
_HEADER_BYTES = 4
"""Of a halfvec in binary format: its length, and two bytes not in use."""

_MET: LiteralString = f"""
SELECT {RECORD_COLUMNS}, m.lexical
FROM (
    SELECT f.*
    FROM unnest(%(entry_ids)s::uuid[]) AS i (entry_id)
    CROSS JOIN LATERAL (
        SELECT e.* FROM discreet.memory e WHERE e.user_key = %(user_key)s AND e.entry_id = i.entry_id LIMIT 1
    ) f
    UNION ALL
    SELECT f.*
    FROM unnest(%(thread_keys)s::uuid[], %(positions)s::bigint[]) AS p (thread_key, position)
    CROSS JOIN LATERAL (
        SELECT e.* FROM discreet.memory e
        WHERE e.user_key = %(user_key)s AND e.thread_key = p.thread_key AND e.position = p.position
          AND e.thread_key IS NOT NULL AND e.position IS NOT NULL AND e.type = 'turn'
        LIMIT 1
    ) f
) m
"""
"""Stored records that new ones replace: same id, or the turn at the same place. LATERAL with LIMIT leaves the planner no
choice but an index lookup each: a plan made while the table was empty read all rows of the user, 72 ms instead of 0.4."""

Row = Mapping[str, Any]
_Cursor = AsyncCursor[dict[str, Any]]


class Candidates:
    """What is stored already of what new records are, or are near to."""

    def __init__(
        self,
        user_key: UUID,
        records: Sequence[MemoryRecord],
        vectors: Vectors,
        space: EmbeddingSpace,
        *,
        least: float | None,
    ) -> None:
        """Look for records of the same ids and places, and for facts whose similarity is at least `least`, unless it is None."""
        self._records = records
        self._vectors = vectors
        self._space = space
        self._facts = {
            n: app_key_of(record.app_name)
            for n, record in enumerate(records)
            if least is not None and is_compared(record)
        }
        self._entry_ids = [record.entry_id for record in records]
        self._turns = [place for record in records if record.type == "turn" and (place := record.place) is not None]
        self._about: dict[str, Any] = {
            "user_key": user_key,
            "space_key": space.key,
            "types": sorted(CONSOLIDATED),
            "least_cosine": None if least is None else space.least_cosine(least),
        }
        self._nearest: dict[int, _Cursor] = {}
        self._all: _Cursor | None = None
        self._met: _Cursor | None = None

    async def ask(self, connection: AsyncConnection[Any]) -> None:
        """Send the statements, each on a cursor of its own, so that in a pipeline none waits for another's answer."""
        self._nearest, self._all, self._met = {}, None, None
        one_by_one = 0 < len(self._facts) <= SMALL_BATCH
        if one_by_one:
            entry_ids = self._entry_ids
            for position, app_key in self._facts.items():
                own = {"app_key": app_key, "embedding": HalfVector(self._vectors[position]), "entry_ids": entry_ids}
                self._nearest[position] = await _ask(connection, _NEAREST, self._about | own)
                entry_ids = []
        elif self._facts:
            self._all = await _ask(connection, _ALL, self._about)
        if self._turns or not one_by_one:
            self._met = await self._ask_met(connection, self._entry_ids, self._turns)

    async def nearness(self) -> tuple[Nearness, dict[UUID, Row]]:
        """Return how near the new facts are to stored ones and to each other, and the rows of all that is met, by entry."""
        rows: dict[UUID, Row] = {}
        near: dict[int, dict[UUID, float]] = {}
        for position, cursor in self._nearest.items():
            found = await cursor.fetchall()
            rows |= {row["entry_id"]: row for row in found}
            cosines = {row["entry_id"]: row["cosine"] for row in found if row["cosine"] is not None}
            nearest = sorted(cosines, key=cosines.__getitem__, reverse=True)[:COMPARED]
            near[position] = {entry_id: self._similarity(cosines[entry_id]) for entry_id in nearest}
        if self._all is not None:
            near = await asyncio.to_thread(self._by_matrix, await self._all.fetchall())
        if self._met is not None:
            rows |= {row["entry_id"]: row for row in await self._met.fetchall()}
            missing = {entry_id for found in near.values() for entry_id in found} - rows.keys()
            if missing:
                met = await self._ask_met(self._met.connection, missing, ())
                rows |= {row["entry_id"]: row for row in await met.fetchall()}
        return Nearness(stored=near, batch=await self._near_each_other()), rows

    async def _ask_met(
        self, connection: AsyncConnection[Any], entry_ids: Collection[UUID], turns: Sequence[tuple[str, int]]
    ) -> _Cursor:
        places = {"thread_keys": [digest(thread) for thread, _ in turns], "positions": [at for _, at in turns]}
        return await _ask(connection, _MET, {**self._about, "entry_ids": list(entry_ids), **places})

    async def _near_each_other(self) -> dict[int, dict[int, float]]:
        if len(self._facts) < 2:
            return {}
        if len(self._facts) <= MEDIUM_BATCH:
            return self._each_other()
        return await asyncio.to_thread(self._each_other)

    def _each_other(self) -> dict[int, dict[int, float]]:
        """Return which earlier ones of the new facts are nearest to each of them, by their positions."""
        positions = list(self._facts)
        matrix = self._vectors[positions]
        # `@` wakes the threads of OpenBLAS, which then wait by spinning
        small = len(positions) <= MEDIUM_BATCH
        cosines = np.vecdot(matrix[np.newaxis], matrix[:, np.newaxis]) if small else matrix @ matrix.T
        near: dict[int, dict[int, float]] = {}
        for later, row in enumerate(cosines):
            near[positions[later]] = {positions[n]: similarity for n, similarity in self._best(row[:later])}
        return near

    def _by_matrix(self, rows: Sequence[Row]) -> dict[int, dict[UUID, float]]:
        """Do what the queries for one fact do, for many at once."""
        if not rows:
            return {}
        stored = np.frombuffer(b"".join(row["embedding"][_HEADER_BYTES:] for row in rows), dtype=">f2")
        app_keys = np.array([row["app_key"].int for row in rows], dtype=object)
        cosines = self._vectors[list(self._facts)] @ stored.astype(np.float32).reshape(len(rows), -1).T
        near: dict[int, dict[UUID, float]] = {}
        for (position, app_key), row in zip(self._facts.items(), cosines, strict=True):
            of_app = np.where(app_keys == app_key.int, row, np.nan)  # which passes no bound
            near[position] = {rows[n]["entry_id"]: similarity for n, similarity in self._best(of_app)}
        return near

    def _best(self, cosines: Vectors) -> list[tuple[int, float]]:
        """Return where the best `COMPARED` of the cosines that are high enough stand, nearest first, each with its similarity."""
        passing = np.flatnonzero(cosines >= self._about["least_cosine"])
        nearest = passing[np.argsort(-cosines[passing])][:COMPARED]
        return [(n, self._similarity(float(cosines[n]))) for n in nearest.tolist()]

    def _similarity(self, cosine: float) -> float:
        return self._space.calibration.similarity(cosine)


async def _ask(connection: AsyncConnection[Any], statement: LiteralString, given: dict[str, Any]) -> _Cursor:
    return await connection.cursor(binary=True).execute(statement, given)
