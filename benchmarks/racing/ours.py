"""Discreet's memories, hybrid search."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString
from uuid import uuid4

from pgvector import HalfVector
from psycopg import AsyncConnection, sql
from racing.contestant import LIMIT, POOL_SIZE
from racing.people import Lookup, Person

from discreet.ports import TextRedactor
from discreet.retrieval.lexical import impacts, token_ids
from discreet.settings import Settings
from discreet.state.records import MemoryRecord
from discreet.storage import Storage, open_storage
from discreet.storage.memory_rows import MAX_COVERED_DIMS, sparse

_STAGE: LiteralString = """
CREATE TEMPORARY TABLE staged (
    user_id text, entry_id uuid, vector halfvec, lexical sparsevec, text text
)
"""
_STAGED = ("text", "uuid", "halfvec", "sparsevec", "text")

_COLUMNS: LiteralString = """
SELECT attname FROM pg_attribute
WHERE attrelid = 'discreet.memory'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
_FILL: LiteralString = """
INSERT INTO discreet.memory ({columns})
SELECT {values}
FROM staged s
JOIN discreet.person p USING (user_id)
CROSS JOIN discreet.memory m
WHERE m.user_key = (SELECT user_key FROM discreet.person WHERE user_id = 'template')
"""
_COPY: LiteralString = """
INSERT INTO discreet.memory ({columns})
SELECT {values}
FROM discreet.memory m
JOIN discreet.person p ON p.user_id = 'copy {number} of ' || m.user_key
"""
_SETTLE: LiteralString = """
UPDATE discreet.person p
SET memories = c.memories, space_key = c.space_key
FROM (SELECT user_key, count(*) AS memories, min(space_key) AS space_key FROM discreet.memory GROUP BY user_key) c
WHERE c.user_key = p.user_key AND p.memories = 0
"""
_COUNT: LiteralString = """
SELECT count(*) AS memories
FROM discreet.memory
JOIN discreet.person USING (user_key)
WHERE user_id = %s AND valid_to IS NULL
"""


class NothingToRedact:
    """Leaves texts alone, so that only the database is measured."""

    def redact(self, text: str) -> str:
        """Return `text`."""
        return text


class Ours:
    """Saves and searches as an application does."""

    name = "discreet"
    tables = "discreet"

    def __init__(self, redactor: TextRedactor | None = None) -> None:
        """Redact what is saved and asked for with `redactor`, by default not at all."""
        self._redactor = redactor or NothingToRedact()

    async def load(self, dsn: str, people: Sequence[Person], dims: int) -> None:
        """Fill in `people`: a memory that was saved gives all columns but those that differ from one to the next."""
        embeddings = Lookup(dims)
        embeddings.add(["template"], people[0].vectors[:1])
        async with open_storage(dsn, embeddings=embeddings, redactor=NothingToRedact()) as storage:
            await storage.memories.save("template", [MemoryRecord(text="template")])
            async with storage.pool.connection() as connection, connection.transaction():
                counts = await _stage(connection, people)
                wide = dims > MAX_COVERED_DIMS
                await _insert(
                    connection,
                    _FILL,
                    user_key="p.user_key",
                    entry_id="s.entry_id",
                    embedding="NULL" if wide else "s.vector",
                    wide_embedding="s.vector" if wide else "NULL",
                    sketch="binary_quantize(s.vector)" if wide else "NULL",
                    lexical="s.lexical",
                    text="s.text",
                )
                await connection.execute("DELETE FROM discreet.person WHERE user_id = 'template'")
                await _count(connection, counts, sum(len(person.texts) for person in people))
                await connection.execute(_SETTLE)

    async def multiply(self, dsn: str, times: int) -> None:
        """Let there be `times` as many people, the new ones with the memories of the old ones."""
        embeddings = Lookup(1)  # nothing is embedded
        async with open_storage(dsn, embeddings=embeddings, redactor=NothingToRedact()) as storage:
            for number in range(1, times):
                async with storage.pool.connection() as connection:
                    await connection.execute(
                        "INSERT INTO discreet.person (user_id) SELECT 'copy ' || %s::integer || ' of ' || user_key"
                        " FROM discreet.person WHERE user_id NOT LIKE 'copy %%'",
                        (number,),
                    )
                    await _insert(connection, _COPY, user_key="p.user_key", number=str(number))
                    await connection.execute(_SETTLE)

    @asynccontextmanager
    async def open(self, dsn: str, embeddings: Lookup) -> AsyncIterator[OurRace]:
        """Open the storage as an application does."""
        settings = Settings(pool_size=POOL_SIZE)
        async with open_storage(dsn, settings=settings, embeddings=embeddings, redactor=self._redactor) as storage:
            yield OurRace(storage)


class OurRace:
    """Discreet with open connections."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    async def search(self, user_id: str, question: str) -> list[str]:
        """Search by meaning and words."""
        return [hit.record.text for hit in await self.storage.memories.search(user_id, question, limit=LIMIT)]

    async def save(self, user_id: str, texts: Sequence[str]) -> None:
        """Save facts."""
        await self.storage.memories.save(user_id, [MemoryRecord(text=text) for text in texts])

    async def remember(self, user_id: str, text: str) -> None:
        """Save one fact; one that is known is refreshed, under the lock of the person."""
        await self.storage.memories.save(user_id, [MemoryRecord(text=text)])

    async def count(self, user_id: str) -> int:
        """Count the current memories."""
        async with self.storage.pool.connection() as connection:
            row = await (await connection.execute(_COUNT, (user_id,))).fetchone()
        assert row is not None
        return int(row["memories"])


async def _stage(connection: AsyncConnection[Any], people: Sequence[Person]) -> Counter[int]:
    """Bring `people` to the server and return in how many memories each token occurs."""
    counts: Counter[int] = Counter()
    await connection.execute(_STAGE)
    async with connection.cursor() as cursor, cursor.copy("COPY staged FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(_STAGED)
        for person in people:
            for text, vector in zip(person.texts, person.vectors, strict=True):
                own, _ = impacts(token_ids(text))
                counts.update(own.keys())
                row = (person.user_id, uuid4(), HalfVector(vector), sparse(own), text)
                await copy.write_row(row)
    await connection.execute(
        "INSERT INTO discreet.person (user_id) SELECT DISTINCT user_id FROM staged ON CONFLICT DO NOTHING"
    )
    return counts


async def _insert(
    connection: AsyncConnection[Any], statement: LiteralString, *, number: str = "", **values: LiteralString
) -> None:
    """Run `statement` with a value for each column of discreet.memory: of `values`, else of row `m`."""
    columns = [row["attname"] for row in await (await connection.execute(_COLUMNS)).fetchall()]
    given = [sql.SQL(values[name]) if name in values else sql.Identifier("m", name) for name in columns]
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    await connection.execute(
        sql.SQL(statement).format(columns=names, values=sql.SQL(", ").join(given), number=sql.SQL(number))
    )


async def _count(connection: AsyncConnection[Any], counts: Counter[int], memories: int) -> None:
    await connection.execute(
        "INSERT INTO discreet.token_frequency (token, documents) SELECT * FROM unnest(%s::integer[], %s::bigint[])"
        " ON CONFLICT (token) DO UPDATE SET documents = token_frequency.documents + excluded.documents",
        (list(counts), list(counts.values())),
    )
    await connection.execute("UPDATE discreet.corpus SET documents = documents + %s", (memories,))
