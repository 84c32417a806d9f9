"""Say which channels of an application our saver would not keep: those of the newest checkpoints that another saver has stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from psycopg import sql

from discreet.checkpoint.channels import MARKS
from discreet.checkpoint.postgres.foreign_channels import CHANNELS
from discreet.checkpoint.unnamed_channels import of_application
from discreet.driver_errors import storage_errors
from discreet.errors import ScanError
from discreet.scanning.databases import Opened, Table
from discreet.scanning.databases.postgres import PostgresDatabase
from discreet.scanning.databases.sqlite import SqliteDatabase, in_sample
from discreet.scanning.profiles import BLOBS, CHECKPOINTS
from discreet.scanning.usage import langgraphs
from discreet.scanning.values import Room, decode_typed

PARTS: Final = 10_000
"""That a sample is counted in."""
_SAMPLED: Final = "AND abs(hashtext(thread_id::text)::bigint) % 10000 < {part}"

_HEADS_OF_FILE: Final = """
SELECT c.thread_id, c.type, c.checkpoint FROM checkpoints c
WHERE c.checkpoint_ns = '' AND NOT EXISTS (
    SELECT 1 FROM checkpoints n WHERE n.thread_id = c.thread_id AND n.checkpoint_ns = '' AND n.checkpoint_id > c.checkpoint_id
)
"""


def unkept_of(
    database: Opened, tables: Sequence[Table], shown: Callable[[str], str], *, sample: float = 1.0
) -> dict[str, int]:
    """Return by channel how many threads have a value in it, the most first; nothing of a database without one set of LangGraph's tables.

    `shown` returns a name as it may be told; `sample` is the part of the threads that is looked at.
    """
    found = langgraphs(tables)
    threads: Counter[str] = Counter()
    if isinstance(database, PostgresDatabase) and {CHECKPOINTS, BLOBS} <= found.keys():
        threads.update(_of_postgres(database, found, sample))
    elif isinstance(database, SqliteDatabase) and CHECKPOINTS in found:
        threads.update(name for channels in _of_sqlite(database, sample) for name in channels)
    named: Counter[str] = Counter()
    for name in of_application(threads):
        named[shown(name)] = max(named[shown(name)], threads[name])
    return dict(sorted(named.items(), key=lambda item: (-item[1], item[0])))


def _of_postgres(database: PostgresDatabase, tables: dict[str, Table], sample: float) -> dict[str, int]:
    part = sql.SQL(_SAMPLED).format(part=sql.Literal(round(sample * PARTS))) if sample < 1 else sql.SQL("")
    statement = sql.SQL(CHANNELS).format(
        checkpoints=sql.Identifier(tables[CHECKPOINTS].schema, tables[CHECKPOINTS].name),
        blobs=sql.Identifier(tables[BLOBS].schema, tables[BLOBS].name),
        where=part,
        limit=sql.SQL(""),
    )
    with storage_errors():
        return dict(database.connection.execute(statement).fetchall())


def _of_sqlite(database: SqliteDatabase, sample: float) -> Iterable[list[str]]:
    """Yield the channels of each thread whose newest checkpoint can be read and is none of ours."""
    for thread_id, kind, data in database.connection.execute(_HEADS_OF_FILE):
        if not in_sample(thread_id, sample):
            continue
        try:
            checkpoint: Any = decode_typed(kind, data, room=Room()).value
        except ScanError:
            continue
        if not isinstance(checkpoint, dict) or not isinstance(values := checkpoint.get("channel_values"), dict):
            continue
        seen = checkpoint.get("versions_seen")
        seen = seen if isinstance(seen, dict) else {}
        if checkpoint.get("id") not in (seen.get(MARKS) or {}):
            yield [name for name, value in values.items() if value is not None and name not in seen]
