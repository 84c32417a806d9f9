"""Read what langmem keeps in a LangGraph store, as memories: its tools' `{"content": …}`, its managers' `{"kind": …, "content": …}`.

The template memory-agent writes `{"content": …, "context": …}` in the same place.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid5

from discreet.importing.source import BadRow, LeftOutRow, Source, SourceRow, StoreItem
from discreet.importing.sources.reading.rows import UnreadableRowError, made_row, raw_of
from discreet.importing.sources.store import USER_FROM, open_store
from discreet.state.records import MemoryRecord

_IDS: Final = UUID("0d3e0b0a-6a4c-5b0e-9a43-0f6c2f5a7a11")
_PLAIN_KIND: Final = "Memory"
"""What a manager calls a memory of langmem's own schema, which is one text."""


@asynccontextmanager
async def open_langmem(
    location: str, *, user_from: str = USER_FROM, schema: str | None = None, table: str = "store"
) -> AsyncIterator[Source]:
    """Yield the memories in the store at `location`, of which `open_store` says what it may be.

    `user_from` is the namespace that langmem was given, with `{user_id}` for the label that is the user.

    Raises:
        ImportSourceError: It can't be reached, or `user_from` is no template.
    """
    async with open_store(location, user_from=user_from, schema=schema, table=table) as store:
        yield _Memories(store)


class _Memories:
    name = "langmem"

    def __init__(self, store: Source) -> None:
        self._store = store

    async def count(self) -> int | None:
        """As of `Source`."""
        return await self._store.count()

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow | LeftOutRow]:
        """As of `Source`."""
        async for row in self._store.rows(after=after):
            if isinstance(row, SourceRow) and isinstance(row.record, StoreItem):
                yield made_row(row.mark, raw_of(row.record.value), partial(_made, row.user_id, row.record))
            else:
                yield row


def _made(user_id: str | None, item: StoreItem) -> tuple[str | None, MemoryRecord]:
    return user_id, memory_of(item)


def memory_of(item: StoreItem) -> MemoryRecord:
    """Return the memory that an item holds.

    Raises:
        UnreadableRowError: It has no text.
        InvalidRecordError: The text is too long.
    """
    fields = dict(item.value)
    kind = fields.pop("kind", None)
    if isinstance(fields.get("content"), Mapping):
        fields |= fields.pop("content")
    text = "\n".join(_lines(fields))
    if not text:
        raise UnreadableRowError("The item has no text that a memory could have.")
    return MemoryRecord(
        text=text,
        entry_id=_id_of(item),
        created_at=item.created_at,
        valid_from=item.updated_at if item.updated_at > item.created_at else None,
        tags=[kind] if isinstance(kind, str) and kind and kind != _PLAIN_KIND else [],
    )


def _lines(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the content as it is, and each further field with its name. What is empty says nothing."""
    content = fields.get("content")
    if isinstance(content, str) and content.strip():
        yield content
    for name, value in fields.items():
        if (name != "content" or not isinstance(content, str)) and (said := _said(value).strip()):
            yield f"{name}: {said}"


def _said(value: Any) -> str:
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _id_of(item: StoreItem) -> UUID:
    """Return the item's key, which langmem makes a UUID unless it is told another."""
    try:
        return UUID(item.key)
    except ValueError:
        return uuid5(_IDS, json.dumps([*item.namespace, item.key]))
