"""Important moments of people who were erased: kept without anything that says whose they were, and deletable one by one."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.errors import EntryExistsError
from discreet.ports import NOBODY
from discreet.state.records import MemoryFilters, MemoryRecord, PageMark
from discreet.storage.memories.memories import PostgresMemories

PAGE: Final = 100

_MOMENTS: Final = MemoryFilters(types=["important_moment"])


class Moments:
    """Moves moments to nobody, and shows what is there."""

    def __init__(self, memories: PostgresMemories, keys: UserKeys) -> None:
        """Use `memories`, on the event loop of its storage."""
        self._memories = memories
        self._keys = keys

    async def of(
        self, user_key: UUID, *, since: datetime | None = None, thread_id: str | None = None
    ) -> list[MemoryRecord]:
        """Return some moments of a user, said since then, in that thread; those under a lost key are left out."""
        filters = _MOMENTS.model_copy(update={"after": since, "thread_id": thread_id})
        return await self._memories.latest_of(user_key, limit=PAGE, filters=filters, held=False)

    async def keep(self, user_key: UUID, moments: Sequence[MemoryRecord]) -> None:
        """Keep moments of a user as nobody's, redacted once more: of when the day stays, of where they were said the application.

        The vectors are made anew. Kept twice, as after a failure half-way, each is there once.

        Raises:
            ProviderError: The embedding model failed; nothing was kept.
            StorageError: Nothing was kept.
        """
        prepared = await self._memories.prepare([self._unlinked(user_key, moment) for moment in moments])
        for place in range(len(prepared.records)):
            try:
                async with self._memories.unit_of_work(NOBODY) as unit:
                    await unit.save(prepared.only([place]), dedup=False)
            except EntryExistsError:
                continue

    async def list(self, *, limit: int, older_than: UUID | PageMark | None = None) -> list[MemoryRecord]:
        """Return at most `limit` moments that are nobody's, newest first."""
        return await self._memories.latest_of(NOBODY, limit=limit, filters=_MOMENTS, older_than=older_than, held=False)

    async def delete(self, entry_id: UUID) -> bool:
        """Delete a moment that is nobody's; False if there is none of that id."""
        return await self._memories.delete_entries(NOBODY, [entry_id]) == 1

    def _unlinked(self, user_key: UUID, moment: MemoryRecord) -> MemoryRecord:
        digest = hmac.digest(self._keys.plan_key, user_key.bytes + moment.entry_id.bytes, hashlib.sha256)
        return MemoryRecord(
            entry_id=UUID(bytes=digest[:16]),
            type="important_moment",
            text=moment.text,
            importance=moment.importance,
            confidence=moment.confidence,
            app_name=moment.app_name,
            created_at=moment.created_at.replace(hour=0, minute=0, second=0, microsecond=0),
        )
