"""Something in every sealed column of a database, and what lies there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

import psycopg
from kit.search import in_rows
from psycopg import sql
from psycopg.rows import dict_row

from discreet.encryption import Column
from discreet.ports import RollingSummary, Round
from discreet.state.background import SessionSummary
from discreet.state.records import MemoryRecord, Provenance, TurnRecord
from discreet.storage import Storage
from discreet.storage.background.proposals import propose
from discreet.storage.background.summaries import write_summary
from discreet.storage.database.keys import digest
from discreet.storage.database.sealed_columns import SEALED_TABLES
from discreet.storage.database.sealing import FieldSealer

NOW = datetime.now(UTC)
"""What is older than it is kept would be swept away."""
WORD = "zanzibarine"
"""In every value."""


class Cell(NamedTuple):
    """A sealed value, and where it lies."""

    column: Column
    row: tuple[UUID | str, ...]
    value: bytes

    @property
    def aad(self) -> bytes:
        return self.column.of(*self.row)


async def fill(storage: Storage, keys, user_id: str, *, name: str = "1") -> None:
    """Store a value of a user in each sealed column, under `name`, by what the product has for it."""
    sealer = FieldSealer(keys)
    provenance = Provenance(source=WORD)
    record = MemoryRecord(
        text=f"Keeps a {WORD} parrot, {name}", reasoning=f"{WORD} 1)", feedback=[{"said": WORD}], provenance=provenance
    )
    await storage.memories.save(user_id, [record], dedup=False)
    turn = TurnRecord(
        request_id=name,
        user_id=user_id,
        thread_id=name,
        input_text=f"Hi {WORD}",
        output_text=f"Hello {WORD}",
        intent=f"about {WORD}",
        modality="image",
        media=[{"modality": "image", "tags": [WORD]}],
        provenance=provenance,
        started_at=NOW,
        ended_at=NOW,
    )
    await storage.log.append(turn)
    new = RollingSummary(text=f"Of {WORD}", rounds=5, last_message_id="m")
    await storage.summaries.commit(user_id, name, expected=RollingSummary(), new=new)
    await storage.store.aput((user_id,), name, {"said": WORD}, index=False)
    user_key = storage.background.key_of(user_id)
    summary = SessionSummary(summary=WORD, topics=[], key_facts=[], event_count=1, started_at=NOW, ended_at=NOW)
    async with storage.pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
        place = (user_key, digest(name), name)
        await write_summary(cursor, *place, app_name="app", summary=summary, sealer=sealer)
        await propose(cursor, user_key, [record], sealer)


async def say(storage: Storage, user_id: str) -> None:
    """Store what expires soon."""
    said = Round(request_id="1", input_text=WORD, output_text=WORD, said_at=datetime.now(UTC), is_emergency=False)
    await storage.short_term.append_round(user_id, "thread", said)


async def told(storage: Storage, user_id: str, *, name: str = "1") -> list[object]:
    """Return all that the product reads of what `fill` stored."""
    user_key = storage.background.key_of(user_id)
    item = await storage.store.aget((user_id,), name)
    proposals = await storage.background.proposals.waiting(user_id)
    request = {"user_key": user_key, "thread_key": digest(name)}
    async with storage.pool.connection() as conn:
        statement = "SELECT count(*) AS n FROM discreet.session_summary WHERE user_key = %(user_key)s AND thread_key = %(thread_key)s"
        summaries = await (await conn.execute(statement, request)).fetchone()
    return [
        sorted(await storage.memories.latest(user_id, limit=100), key=lambda record: record.text),
        await storage.log.read(user_id, thread_id=name),
        (await storage.summaries.get(user_id, name)).text,
        item and item.value,
        sorted(proposal.record.text for proposal in proposals),
        summaries,
    ]


def cells(dsn: str) -> list[Cell]:
    """Return all sealed values of what lasts."""
    with psycopg.connect(dsn) as connection:
        return list(_cells(connection))


def _cells(connection: psycopg.Connection) -> Iterator[Cell]:
    for table in SEALED_TABLES:
        for column in table.columns:
            query = sql.SQL("SELECT * FROM discreet.{} WHERE {} IS NOT NULL").format(
                *map(sql.Identifier, (table.name, column.name))
            )
            for row in connection.cursor(row_factory=dict_row).execute(query).fetchall():
                place = column.at((row["user_key"], row[table.key]), row)
                yield Cell(column, place, row[column.name])


def holds(dsn: str, word: str = WORD) -> bool:
    """Return whether a row of any table has `word` in it."""
    return bool(in_rows(dsn, word))
