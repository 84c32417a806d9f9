"""Fill Discreet's tables with invented people by COPY: all rows as a save writes them, at a tenth of its time."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID, uuid4

from pgvector import HalfVector
from psycopg import AsyncConnection, sql
from pydantic import SecretStr
from racing.people import Person

from discreet.access.user_keys import UserKeys, load_user_keys
from discreet.retrieval.lexical import impacts, token_ids
from discreet.settings import Settings
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.memories.rows import sparse
from discreet.storage.memories.token_counts import TokenSums

TEMPLATE = "template"
"""Has one memory, which gives the rows of `fill` all columns but those that differ from one to the next."""

_STAGE: LiteralString = """
CREATE TEMPORARY TABLE staged (
    user_key uuid, entry_id uuid, vector halfvec, lexical sparsevec, text text
) ON COMMIT DROP
"""
_STAGED = ("uuid", "uuid", "halfvec", "sparsevec", "text")

_COLUMNS: LiteralString = """
SELECT attname FROM pg_attribute
WHERE attrelid = 'discreet.memory'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
_USERS: LiteralString = "INSERT INTO discreet.users (user_key) SELECT unnest(%s::uuid[]) ON CONFLICT DO NOTHING"
_FILL: LiteralString = """
INSERT INTO discreet.memory ({columns})
SELECT {values} FROM staged s CROSS JOIN discreet.memory m WHERE m.user_key = %(template)s
"""
_TOKENS: LiteralString = """
INSERT INTO discreet.user_token (user_key, change_key, tokens, documents) VALUES (%s, %s, %b::integer[], %b::integer[])
"""
_COPY: LiteralString = """
INSERT INTO discreet.memory ({columns})
SELECT {values}
FROM unnest(%(originals)s::uuid[], %(copies)s::uuid[]) AS c (original, copy)
JOIN discreet.memory m ON m.user_key = c.original
"""
_COPY_TOKENS: LiteralString = """
INSERT INTO discreet.user_token (user_key, change_key, tokens, documents)
SELECT c.copy, t.change_key, t.tokens, t.documents
FROM unnest(%(originals)s::uuid[], %(copies)s::uuid[]) AS c (original, copy)
JOIN discreet.user_token t ON t.user_key = c.original
"""
_SETTLE: LiteralString = """
INSERT INTO discreet.user_memories AS u (user_key, memories, space_key)
SELECT user_key, count(*), min(space_key) FROM discreet.memory WHERE user_key = ANY (%s) GROUP BY user_key
ON CONFLICT (user_key) DO UPDATE SET memories = excluded.memories, space_key = excluded.space_key
"""


def settings_with(**given: Any) -> Settings:
    """Return settings under an identity key that all runs share and no file has."""
    return Settings(identity_key=SecretStr(b64encode(bytes(32)).decode()), **given)


def keys() -> UserKeys:
    """Return what makes the keys of users under that key."""
    return load_user_keys(settings_with())


async def fill(pool: Pool, people: Sequence[Person]) -> None:
    """Store `people`, of whom nothing is there, in the same shape as the one memory of `TEMPLATE`."""
    made = keys()
    key_of = {person.user_id: made.of_user(person.user_id) for person in people}
    template = made.of_user(TEMPLATE)
    async with pool.connection() as connection, connection.transaction():
        await connection.execute(_USERS, (list(key_of.values()),))
        counts = await _stage(connection, people, key_of)
        await _insert(
            connection,
            _FILL,
            {"template": template},
            user_key="s.user_key",
            entry_id="s.entry_id",
            embedding="s.vector",
            sketch="binary_quantize(s.vector)",
            lexical="s.lexical",
            text="s.text",
        )
        await connection.execute("DELETE FROM discreet.users WHERE user_key = %s", (template,))
        for user_key, documents in counts.items():
            given = (user_key, uuid4(), list(documents), list(documents.values()))
            await connection.execute(_TOKENS, given)
        await connection.execute(_SETTLE, (list(key_of.values()),))
        await TokenSums(pool).sum(connection.cursor(binary=True))


async def copy_users(pool: Pool, copies: Mapping[str, str]) -> None:
    """Give each new user of `copies` the memories of another one: user_ids of originals by those of the new."""
    made = keys()
    given = {"originals": [*map(made.of_user, copies.values())], "copies": [*map(made.of_user, copies)]}
    async with pool.connection() as connection, connection.transaction():
        await connection.execute(_USERS, (given["copies"],))
        await _insert(connection, _COPY, given, user_key="c.copy")
        await connection.execute(_COPY_TOKENS, given)
        await connection.execute(_SETTLE, (given["copies"],))


async def _stage(
    connection: AsyncConnection[Any], people: Iterable[Person], key_of: Mapping[str, UUID]
) -> dict[UUID, Counter[int]]:
    """Bring `people` to the server and return in how many memories of each user each token occurs."""
    counts: dict[UUID, Counter[int]] = {}
    words = keys().token_digest
    await connection.execute(_STAGE)
    async with connection.cursor() as cursor, cursor.copy("COPY staged FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(_STAGED)
        for person in people:
            user_key = key_of[person.user_id]
            counts[user_key] = Counter()
            for text, vector in zip(person.texts, person.vectors, strict=True):
                own = impacts(token_ids(text, words))
                counts[user_key].update(own.keys())
                await copy.write_row((user_key, uuid4(), HalfVector(vector), sparse(own), text))
    return counts


async def _insert(
    connection: AsyncConnection[Any], statement: LiteralString, given: Mapping[str, Any], **values: LiteralString
) -> None:
    """Run `statement` with a value for each column of discreet.memory: of `values`, else of row `m`."""
    columns = [row["attname"] for row in await (await connection.execute(_COLUMNS)).fetchall()]
    chosen = [sql.SQL(values[name]) if name in values else sql.Identifier("m", name) for name in columns]
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statements = sql.SQL(statement).format(columns=names, values=sql.SQL(", ").join(chosen))
    await connection.execute(statements, given)
