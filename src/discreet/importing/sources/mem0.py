"""Read the memories of mem0: its table of pgvector, or a file with what `get_all()` or an export of the platform returned."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Any, Final, get_args
from uuid import UUID, uuid5

from psycopg import sql

from discreet.errors import ImportSourceError
from discreet.importing.source import BadRow, Source, SourceRow
from discreet.importing.sources.reading.json_files import JsonFile, JsonRow
from discreet.importing.sources.reading.locations import located
from discreet.importing.sources.reading.postgres import PostgresTable, open_table
from discreet.importing.sources.reading.rows import UnreadableRowError, made_row
from discreet.importing.sources.reading.values import decoded, moment, optional_text, parsed, user_of
from discreet.redaction.placeholder_key import keyed_digest
from discreet.state.records import MAX_LABELS, MemoryRecord, MemoryType

_IDS: Final = UUID("5f0c1a54-2f9d-5d0b-8f55-91d0a2c0a7d4")
_TEXTS: Final = ("memory", "data", "content", "text")
"""Names of the text: in what get_all() returns, in a payload, and in exports of a schema of one's own."""
_LISTS: Final = ("results", "memories", "items", "data")
_TYPES: Final = frozenset(get_args(MemoryType)) - {"turn", "reasoning"}

_ROWS = sql.SQL("""
SELECT id::text, payload::text
FROM {table}
WHERE %(after)s::uuid IS NULL OR id > %(after)s::uuid
ORDER BY id
""")


@asynccontextmanager
async def open_mem0(location: str, *, table: str = "mem0", schema: str | None = None) -> AsyncIterator[Source]:
    """Yield the memories at `location`: the DSN of mem0's pgvector, or a file of JSON.

    `table` is mem0's collection_name, `schema` where it lies if not on the search path.

    Raises:
        ImportSourceError: It can't be reached, or is of another kind.
    """
    kind, place = located(location)
    if kind == "postgres":
        async with open_table(place, table, schema=schema) as rows:
            yield _Table(rows)
    elif kind == "json":
        yield _File(JsonFile(place, lists=_LISTS))
    else:
        raise ImportSourceError(
            "mem0 keeps its history in SQLite, and its memories elsewhere. Name its PostgreSQL, or a file with what get_all() returns."
        )


@dataclass
class _Table:
    table: PostgresTable
    name: str = "mem0"

    async def count(self) -> int | None:
        return await self.table.count()

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow]:
        try:
            mark = after and str(UUID(after))
        except ValueError:
            raise ImportSourceError("The mark is of another source. Start the import anew.") from None
        async for entry_id, payload in self.table.rows(_ROWS, {"after": mark}):
            key = entry_id.decode()
            yield made_row(key, payload, partial(_of_payload, key, payload))


@dataclass
class _File:
    file: JsonFile
    name: str = "mem0"

    async def count(self) -> int | None:
        return await self.file.count()

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow]:
        async for row in self.file.rows(after=after):
            yield made_row(row.mark, row.raw, partial(_of_row, row))


def _of_row(row: JsonRow) -> tuple[str | None, MemoryRecord]:
    return memory_of(row.value())


def _of_payload(entry_id: str, payload: bytes | None) -> tuple[str | None, MemoryRecord]:
    if payload is None:
        raise UnreadableRowError("The payload is missing.")
    value = parsed(payload, "payload")
    return memory_of({**value, "id": entry_id} if isinstance(value, dict) else value)


def memory_of(value: Any) -> tuple[str | None, MemoryRecord]:
    """Return whose a memory is, and the memory; `value` is a result of get_all(), or a payload with its `id`.

    Raises:
        UnreadableRowError: It has no text, or a field is of another type.
        InvalidRecordError: The text is too long, for one.
    """
    if not isinstance(value, Mapping):
        raise UnreadableRowError("It is no object.")
    # A payload has the caller's metadata beside mem0's own fields, a result has it in `metadata`.
    metadata = (
        {**value, **(value.get("metadata") or {})} if isinstance(value.get("metadata"), Mapping | None) else dict(value)
    )
    text = decoded(next((value[name] for name in _TEXTS if value.get(name) is not None), None), "text")
    made_at = moment(value.get("created_at"), "time of creation")
    changed_at = made_at if value.get("updated_at") is None else moment(value["updated_at"], "time of the update")
    user_id = user_of(value.get("user_id"))
    return user_id, MemoryRecord(
        text=text,
        entry_id=_id_of(value, user_id, text),
        created_at=made_at,
        valid_from=changed_at if changed_at > made_at else None,
        valid_to=_expires(value.get("expiration_date")),
        agent_id=optional_text(value.get("agent_id"), "agent id"),
        thread_id=optional_text(value.get("run_id"), "run id"),
        app_name=optional_text(value.get("app_id"), "app id") or "default",
        type=_type_of(metadata),
        importance=_importance_of(metadata.get("importance")),
        tags=_tags_of(metadata),
    )


def _id_of(value: Mapping[str, Any], user_id: str | None, text: str) -> UUID:
    """Return the id, or one made of the user and the text, from which nobody can tell them, where an export leaves the id out."""
    given = optional_text(value.get("id"), "id")
    if given is None:
        return UUID(bytes=keyed_digest("import", {"source": "mem0", "user": user_id, "text": text}))
    try:
        return UUID(given)
    except ValueError:
        return uuid5(_IDS, json.dumps([user_id, given]))


def _expires(day: object) -> datetime | None:
    """Return the end of the last day on which mem0 shows the memory."""
    if day is None:
        return None
    last = moment(day, "expiration date")
    try:
        return datetime.combine(last.date(), time(), UTC) + timedelta(days=1)
    except OverflowError:
        return None


def _type_of(metadata: Mapping[str, Any]) -> MemoryType:
    named = metadata.get("type")
    if isinstance(named, str) and named in _TYPES:
        return named  # type: ignore[return-value]  # one of them, as was just looked up
    # Without inference mem0 keeps each message as it is: what the assistant said is no fact of the user's.
    by_assistant = "assistant" in (metadata.get("role"), metadata.get("attributed_to"))
    return "conversation_insight" if by_assistant else "user_fact"


def _importance_of(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10 else 5  # mem0's range


def _tags_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the platform's categories, and what callers often keep beside a memory."""
    named: list[str] = []
    for name in ("categories", "category", "tags"):
        value = metadata.get(name)
        named += [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)]
    # 100 characters: as long as a tag may be
    return list(dict.fromkeys(tag for part in named if 0 < len(tag := part.strip()) <= 100))[:MAX_LABELS]
