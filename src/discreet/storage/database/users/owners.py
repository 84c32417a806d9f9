"""Whose rows a conversation's are: a user's, or, where no user is known, those of the thread's own key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.ports import LiveSettings
from discreet.state.text import storable
from discreet.storage.database.keys import digest


@dataclass(frozen=True)
class Owners:
    """Finds the owner of a thread's rows."""

    keys: UserKeys
    memory_settings: LiveSettings
    """How long what was said without a user is kept."""

    def of(self, user_id: str | None, thread_id: str, *, stores: bool = False) -> dict[str, Any]:
        """Return user_key, thread_key and thread_id, and as expires_at until when an owner who is new is kept; None: without end.

        Raises:
            InvalidUserError: `user_id` can't be used.
            SensitiveIdError: Something is to be stored, and an id can't be.
        """
        if user_id is not None:
            user_id = self.keys.ids.user_id(user_id, stores=stores)
        thread_id = self.keys.ids.thread_id(thread_id, stores=stores)
        days = self.memory_settings.live.retention_anonymous_days
        expires_at = datetime.now(UTC) + timedelta(days=days) if user_id is None and days else None
        return {
            "user_key": self.keys.of(user_id, thread_id),
            "thread_key": digest(thread_id),
            "thread_id": storable(thread_id),
            "expires_at": expires_at,
        }


@dataclass(frozen=True)
class OneOwner:
    """Stands for `Owners` where whose rows they are is known by key alone."""

    user_key: UUID

    def of(self, user_id: str | None, thread_id: str, *, stores: bool = False) -> dict[str, Any]:
        """Return the keys, whatever user is named. The thread is one that is stored."""
        thread_id = storable(thread_id)
        return {"user_key": self.user_key, "thread_key": digest(thread_id), "thread_id": thread_id, "expires_at": None}
