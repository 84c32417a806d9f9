"""Read the items of a LangGraph store: its tables in PostgreSQL, a file of its SQLite store, or a dump of `item.dict()`."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langgraph.store.base import InvalidNamespaceError

from discreet.importing.source import BadRow, LeftOutRow, Source, SourceRow, StoreItem
from discreet.importing.sources.reading.json_files import JsonFile
from discreet.importing.sources.reading.locations import located
from discreet.importing.sources.reading.postgres import open_table
from discreet.importing.sources.reading.rows import UnreadableRowError, made_row
from discreet.importing.sources.reading.sqlite import open_file
from discreet.importing.sources.reading.store_items import DumpedItems, PostgresItems, SqliteItems, StoredItems
from discreet.importing.sources.reading.users import UserTemplate
from discreet.importing.sources.reading.values import checked, decoded, moment, parsed
from discreet.storage.store.namespaces import path_of

USER_FROM = "memories.{user_id}.*"
"""Where the memories of LangGraph's templates, and those of langmem's documentation, have the user."""


@asynccontextmanager
async def open_store(
    location: str, *, user_from: str = USER_FROM, schema: str | None = None, table: str = "store"
) -> AsyncIterator[Source]:
    """Yield the items of a store at `location`: a DSN, an SQLite file, or a file of JSON with a list or a line for each.

    `user_from` says which label of a namespace is the user; `*` is any label, or any further ones at the end.

    Raises:
        ImportSourceError: It can't be reached, or `user_from` is no template.
    """
    template = UserTemplate(user_from, labels=True)
    kind, place = located(location)
    if kind == "postgres":
        async with open_table(place, table, schema=schema) as rows:
            yield _Store(PostgresItems(rows), template)
    elif kind == "sqlite":
        async with open_file(place) as file:
            yield _Store(SqliteItems(file), template)
    else:
        yield _Store(DumpedItems(JsonFile(place, lists=("items",))), template)


class _Store:
    name = "store"

    def __init__(self, items: StoredItems, template: UserTemplate) -> None:
        self._items = items
        self._template = template

    async def count(self) -> int | None:
        """As of `Source`."""
        return await self._items.count()

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow | LeftOutRow]:
        """As of `Source`."""
        async for stored in self._items.items(after):
            if _is_over(stored.item):
                yield LeftOutRow(mark=stored.mark, kind="expired item", reason="Its time to live is over.")
                continue
            yield made_row(stored.mark, stored.raw, partial(self._made, stored.item))

    def _made(self, item: Any) -> tuple[str | None, StoreItem]:
        """Return whose an item is, and the item.

        Raises:
            UnreadableRowError: It is none.
        """
        if callable(item):
            item = item()
        if not isinstance(item, Mapping):
            raise UnreadableRowError("It is no object.")
        namespace, value = item.get("namespace"), item.get("value")
        if isinstance(namespace, str | bytes):
            namespace = decoded(namespace, "namespace").split(".")
        if isinstance(value, str | bytes):
            value = parsed(value, "value")
        if not isinstance(namespace, list | tuple) or not namespace:
            raise UnreadableRowError("The namespace is missing, or no list.")
        if not isinstance(value, dict):
            raise UnreadableRowError("The value is no object.")
        try:
            path_of(namespace)
        except InvalidNamespaceError as error:
            raise UnreadableRowError(str(error)) from None
        labels = tuple(namespace)
        made_at = moment(item.get("created_at"), "time of creation")
        return self._template.user_of(labels), StoreItem(
            namespace=labels,
            key=decoded(item.get("key"), "key"),
            value=checked(value, "value"),
            created_at=made_at,
            updated_at=made_at if item.get("updated_at") is None else moment(item["updated_at"], "time of the update"),
            ttl_minutes=_ttl(item.get("ttl_minutes")),
        )


def _is_over(item: Any) -> bool:
    """Return whether the store's sweeper would remove an item of a table."""
    if not isinstance(item, Mapping) or item.get("expires_at") is None:
        return False
    with suppress(UnreadableRowError):
        return moment(item["expires_at"], "time of expiry") <= datetime.now(UTC)
    return False


def _ttl(stored: object) -> float | None:
    if stored is None:
        return None
    try:
        minutes = float(decoded(stored, "time to live") if isinstance(stored, bytes) else stored)  # type: ignore[arg-type]  # what it is, is found out here
    except (TypeError, ValueError):
        raise UnreadableRowError("The time to live is no number.") from None
    if not 0 < minutes < math.inf:
        raise UnreadableRowError("The time to live is out of range.")
    return minutes
