"""Which namespaces of the store are a user's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import UUID

from langgraph.store.base import InvalidNamespaceError

from discreet.access.identity import is_identity
from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.store.namespaces import labels_of, span_of

ROOT: Final = "users"
"""First label of what belongs to callers of a server. The second is whose it is."""

PAGE = 1_000
"""Namespaces in one answer."""

_BELOW: LiteralString = """
SELECT path FROM discreet.store_paths(%(low)s, %(high)s) AS n (path)
WHERE path COLLATE "C" > %(after)s
ORDER BY path COLLATE "C"
LIMIT %(limit)s
"""


@dataclass(frozen=True)
class Namespace:
    """One that holds items."""

    path: str
    """Its labels as one text; namespaces sort by it."""
    user_key: UUID
    """What its rows are found by."""

    @property
    def labels(self) -> tuple[str, ...]:
        """As LangGraph has it."""
        return labels_of(self.path)


def roots_of(user_id: str, named: Iterable[Sequence[str]] = ()) -> list[Sequence[str]]:
    """Return what the namespaces of a user begin with: behind a server their identity, and those that are `named`."""
    return [*([(ROOT, user_id)] if is_identity(user_id) else []), *named]


async def owned_namespaces(
    pool: Pool, user_id: str, *, keys: UserKeys, named: Iterable[Sequence[str]] = (), after: str = "", limit: int = PAGE
) -> list[Namespace]:
    """Return at most `limit` namespaces of a user whose path comes after `after`, in the order of their paths.

    Behind a server those below `users` and their identity are theirs. With the library namespaces are free: `named`
    says which are theirs, with all below each.

    Raises:
        InvalidNamespaceError: One of `named` has no label, or one that can't be one.
        StorageError: The database failed.
    """
    roots = roots_of(user_id, named)
    if not all(roots):
        raise InvalidNamespaceError(
            "The empty namespace has everybody's below it: name the labels that a user's begin with."
        )
    found: list[Namespace] = []
    with storage_errors():
        async with pool.connection() as conn, conn.cursor(binary=True) as cursor:
            for low, high in _apart(map(span_of, roots)):
                asked = {"low": max(low, after), "high": high, "after": after, "limit": limit - len(found)}
                rows = await (await cursor.execute(_BELOW, asked)).fetchall()
                found += [Namespace(row["path"], keys.of_namespace(row["path"])) for row in rows]
                if len(found) >= limit:
                    break
    return found


def _apart(spans: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the spans in their order, without those that lie within another: one namespace is told once."""
    apart: list[tuple[str, str]] = []
    for low, high in sorted(spans):
        if not apart or low >= apart[-1][1]:
            apart.append((low, high))
    return apart
