"""An audit trail in RAM, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Unpack
from uuid import UUID

from discreet.access.actor import current_actor
from discreet.access.identity import Identities
from discreet.access.pseudonyms import is_own, pseudonym_of
from discreet.access.user_keys import UserKeys
from discreet.ports import NOBODY, AuditEntry
from discreet.ports.audit import EntryDetails


class InMemoryAuditLog:
    """The port `AuditLog` without a database: `entries` are what was recorded, in order.

    Example:
        >>> import asyncio
        >>> audit = InMemoryAuditLog()
        >>> asyncio.run(audit.record("user.export", user_key="ann", data="all"))
        >>> audit.entries[0].action, audit.entries[0].actor_kind
        ('user.export', 'user')
    """

    def __init__(self, keys: UserKeys | None = None) -> None:
        """Make keys of user_ids by `keys`; by a key of zeros unless given."""
        self._keys = keys or UserKeys(Identities(bytes(32)))
        self.entries: list[AuditEntry] = []

    async def record(
        self,
        action: str,
        *,
        user_key: UUID | str | None,
        data: str,
        success: bool = True,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Add an entry."""
        actor, key = current_actor(), self._key(user_key)
        self.entries.append(
            AuditEntry(
                user_key=key,
                number=1 + sum(entry.user_key == key for entry in self.entries),
                at=datetime.now(UTC),
                actor_kind=actor.kind,
                actor=pseudonym_of(actor, self._keys),
                action=action,
                success=success,
                data=data,
                counts=dict(counts or {}),
                request_id=actor.request_id,
                ip_address=actor.ip_address,
                user_agent=actor.user_agent,
            )
        )

    async def record_in(self, cursor: Any, action: str, **details: Unpack[EntryDetails]) -> None:
        """Add an entry, whatever becomes of the transaction."""
        await self.record(action, **details)

    async def record_reading(
        self, action: str, *, user_key: UUID | str, data: str, counts: Mapping[str, int] | None = None
    ) -> None:
        """Add an entry if somebody else reads."""
        if not is_own(current_actor(), self._key(user_key), self._keys):
            await self.record(action, user_key=user_key, data=data, counts=counts)

    def _key(self, user_key: UUID | str | None) -> UUID:
        return self._keys.of_user(user_key) if isinstance(user_key, str) else user_key or NOBODY
