"""Learn of erasures, by whichever process, so that what this one holds in memory goes too."""

from __future__ import annotations

import asyncio
from typing import Any, LiteralString
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.erased import Erased, tell
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch

_NEWS: LiteralString = """
SELECT now() AS now, e.*
FROM (VALUES (1)) AS one
LEFT JOIN discreet.erasures_since(coalesce(%(since)s::timestamptz, now()) - interval '1 minute') e ON true
"""
"""A minute back each time: what is committed late has an earlier time."""


class ErasureWatch:
    """Looks every few seconds which erasures have begun or ended, and tells all that listen."""

    def __init__(self, pool: Pool, keys: UserKeys) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool
        self._keys = keys
        self._since: Any = None
        self._told: frozenset[tuple[UUID, Any]] = frozenset()
        self._in_turn = asyncio.Lock()

    async def look(self) -> None:
        """Look once.

        Raises:
            StorageError: The database failed.
        """
        async with self._in_turn:
            rows = await fetch(self._pool, _NEWS, {"since": self._since})
            self._since = rows[0]["now"]
            found = {(row["erasure_key"], row["done_at"]): row for row in rows if row["erasure_key"] is not None}
            for each in found.keys() - self._told:
                row = found[each]
                threads, turns = frozenset(row["threads"]), frozenset(row["turns"])
                await tell(Erased(person=row["person"], threads=threads, turns=turns, key_of=self._keys.of_thread))
            self._told = frozenset(found)
