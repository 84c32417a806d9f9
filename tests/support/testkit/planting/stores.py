"""Plant items of stores, with and without vectors."""

from __future__ import annotations

from typing import Any

from langgraph.store.postgres.aio import AsyncPostgresStore

from testkit.planting.manifest import Book, Entry

DIMS = 8


async def _embed(texts: list[str]) -> list[list[float]]:
    """Return vectors that tell nothing of the texts but their lengths."""
    return [[float(len(text) % (place + 2)) + 1 for place in range(DIMS)] for text in texts]


def planted_item(book: Book, *, vectors: bool = False) -> tuple[tuple[str, ...], str, dict[str, Any]]:
    """Return namespace, key and value of an item; some have values in their names."""
    named = ("store", "store_vectors") if vectors else ("store",)
    # No label may have a dot, and so no address can be one.
    user = book.plain("store_namespace", *named, types=("PHONE",)) if book.random.random() < 0.3 else "user-7"
    key = (
        book.plain("store_key", *named, types=("EMAIL",))
        if book.random.random() < 0.3
        else f"item-{book.chance().serial}"
    )
    value = {
        "text": book.said("store_value", "store"),
        "contact": {"of": [book.plain("store_value", "store"), None, 3]},
        "seen": "2026-01-02T03:04:05Z",
    }
    if book.random.random() < 0.2:
        value["by_email"] = {book.plain("dict_key", "store", types=("EMAIL",)): True}
    return ("memories", user, "facts"), key, value


async def plant_store(dsn: str, book: Book, *, items: int, vectors: bool = False) -> list[Entry]:
    """Plant items in the stock store; with `vectors` (pgvector) their texts are embedded."""
    index: Any = {"dims": DIMS, "embed": _embed, "fields": ["text"]} if vectors else None
    async with AsyncPostgresStore.from_conn_string(dsn, index=index) as store:
        await store.setup()
        for _ in range(items):
            namespace, key, value = planted_item(book, vectors=vectors)
            await store.aput(namespace, key, value)
    return book.entries
