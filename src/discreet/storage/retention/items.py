"""Items of the LangGraph store that have a time to live."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from discreet.access.user_keys import UserKeys
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.locks import UserLocks
from discreet.storage.retention.sweeper import At, Due, Gone, due_of
from discreet.storage.store.sweeping import COUNT_EXPIRED, delete_expired_items


@dataclass(frozen=True, kw_only=True)
class ItemSweeper:
    """Sweeps them, a namespace in a transaction."""

    works: Pool
    locks: UserLocks
    """Over the same pool."""
    keys: UserKeys
    kinds: tuple[str, ...] = ("items",)

    async def sweep(self, at: At, *, batch: int) -> AsyncGenerator[Gone, None]:
        """Delete what is due."""
        async for items in delete_expired_items(self.works, self.locks, self.keys, until=at.now, batch=batch):
            yield {"items": items}

    async def due(self, at: At) -> list[Due]:
        """Return how many are."""
        return [await due_of("items", self.works, (COUNT_EXPIRED, at.now))]
