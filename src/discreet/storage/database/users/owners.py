"""Whose rows a conversation's are: a user's, or, where no user is known, those of the thread's own key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.state.context import check_user_id
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.expiry import Expiry, delete_expired
from discreet.storage.database.keys import digest

BATCH = 100
"""Users deleted by one statement, with all that is theirs."""

EXPIRED = Expiry(table="users", key=("user_key",), due="expires_at")


@dataclass(frozen=True)
class Owners:
    """Finds the owner of a thread's rows."""

    keys: UserKeys
    anonymous_days: int
    """How long what was said without a user is kept."""

    def of(self, user_id: str | None, thread_id: str) -> dict[str, Any]:
        """Return user_key and thread_key, and as expires_at until when an owner who is new is kept.

        Raises:
            InvalidUserError: `user_id` can't be used.
        """
        if user_id is not None:
            check_user_id(user_id)
        expires_at = None if user_id is not None else datetime.now(UTC) + timedelta(days=self.anonymous_days)
        return {
            "user_key": self.keys.of(user_id, thread_id),
            "thread_key": digest(thread_id),
            "expires_at": expires_at,
        }


@dataclass(frozen=True)
class OneOwner:
    """Stands for `Owners` where whose rows they are is known by key alone."""

    user_key: UUID

    def of(self, user_id: str | None, thread_id: str) -> dict[str, Any]:  # noqa: ARG002  # as `Owners`
        """Return the keys, whatever user is named."""
        return {"user_key": self.user_key, "thread_key": digest(thread_id), "expires_at": None}


async def delete_expired_users(pool: Pool) -> int:
    """Delete all that is kept of those who spoke without a user_id and whose time is over; return how many.

    Raises:
        StorageError: The database failed. What was deleted before stays so.
    """
    with storage_errors():
        return await delete_expired(pool, EXPIRED, batch=BATCH)
