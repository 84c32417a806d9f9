"""Whose rows a conversation's are: a user's, or, where no user is known, those of the thread's own key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.ports import LiveSettings
from discreet.state.context import check_user_id
from discreet.storage.database.keys import digest


@dataclass(frozen=True)
class Owners:
    """Finds the owner of a thread's rows."""

    keys: UserKeys
    memory_settings: LiveSettings
    """How long what was said without a user is kept."""

    def of(self, user_id: str | None, thread_id: str) -> dict[str, Any]:
        """Return user_key and thread_key, and as expires_at until when an owner who is new is kept.

        Raises:
            InvalidUserError: `user_id` can't be used.
        """
        if user_id is not None:
            check_user_id(user_id)
        days = self.memory_settings.live.retention_anonymous_days
        expires_at = None if user_id is not None else datetime.now(UTC) + timedelta(days=days)
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
