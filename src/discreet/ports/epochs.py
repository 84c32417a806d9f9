"""Work that is under way while somebody's data is erased."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class BeginsWork(Protocol):
    """A storage that refuses what work stores for a user whose data was erased since that work began.

    `storage.log` and `storage.memories` are such. A turn's nodes ask for themselves; who imports says it:

    Example:
        >>> from discreet.access.epochs import begun
        >>> from discreet.storage import open_storage
        >>> async def bring(dsn: str, parts: list) -> None:
        ...     async with open_storage(dsn) as storage:
        ...         with begun(await storage.memories.begin("ann")):
        ...             for records in parts:
        ...                 await storage.memories.save("ann", records)
    """

    async def begin(self, user_id: str | None, thread_id: str = "") -> str:
        """Return what work that begins now is known by, for a user or for whoever speaks in a thread without one.

        Raises:
            InvalidUserError: `user_id` can't be used.
            StorageError: The database failed.
        """
        ...

    async def check_run(self, user_id: str | None, thread_id: str, began_after: datetime) -> None:
        """See that no erasure of a user was asked for after a time before which a run of theirs had not begun.

        Raises:
            UserErasedError: One was.
            StorageError: The database failed.
        """
        ...
