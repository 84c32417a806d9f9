"""Add entries to the trail, each to the chain of whom it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, LiteralString, Unpack
from uuid import UUID

from psycopg import AsyncCursor

from discreet.access.actor import beside_reading, current_actor
from discreet.access.pseudonyms import is_own, pseudonym_of
from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.ports import NOBODY
from discreet.ports.audit import EntryDetails
from discreet.state.text import storable
from discreet.storage.audit.digests import BEFORE_FIRST, AuditKey, next_hash, seconds, written
from discreet.storage.database.connecting.connection import StorageConnection
from discreet.storage.database.connecting.pool import Pool

MAX_CHARS = 200
"""Kept of what a client says of itself and its request."""

_COUNT_UP: LiteralString = """
ON CONFLICT (user_key) DO UPDATE SET
    last_number = c.last_number + 1,
    last_hash = sha256(c.last_hash || int8send(c.last_number + 1) || %(audit_digest)s),
    first_at = coalesce(c.first_at, excluded.first_at),
    is_sealed = false
"""

_FIRST: LiteralString = "1, %(audit_first_hash)s, 1, %(audit_before_first)s, %(audit_at)s::timestamptz"

_HEAD_COLUMNS: LiteralString = "user_key, last_number, last_hash, first_number, hash_before, first_at"

_SAID: LiteralString = """
    %(audit_at)s::timestamptz, %(audit_actor_kind)s, %(audit_actor)s, %(audit_action)s, %(audit_success)s::boolean,
    %(audit_data)s, %(audit_counts)s::jsonb, %(audit_request_id)s, %(audit_ip_address)s, %(audit_user_agent)s
"""

_COLUMNS: LiteralString = """
    user_key, number, hash, at, actor_kind, actor, action, success, data, counts, request_id, ip_address, user_agent
"""

_HEAD: LiteralString = f"""
INSERT INTO discreet.audit_chain AS c ({_HEAD_COLUMNS}) VALUES (%(user_key)s, {_FIRST}) {_COUNT_UP}
"""

_ENTRY: LiteralString = f"""
INSERT INTO discreet.audit_entry ({_COLUMNS})
SELECT c.user_key, c.last_number, c.last_hash, {_SAID} FROM discreet.audit_chain c WHERE c.user_key = %(user_key)s
"""
"""The head is this transaction's since the statement before. Two statements for a Citus cluster, which sends each of them to the
person's node."""

_HEAD_AND_ENTRY: LiteralString = f"""
WITH audit_head AS ({_HEAD} RETURNING c.user_key, c.last_number, c.last_hash)
INSERT INTO discreet.audit_entry ({_COLUMNS}) SELECT user_key, last_number, last_hash, {_SAID} FROM audit_head
"""
"""The same in one statement, elsewhere: as a pipeline the two take the client three times as long."""

ADDED_FOR: LiteralString = f"""
audit_head AS (
    INSERT INTO discreet.audit_chain AS c ({_HEAD_COLUMNS}) SELECT user_key, {_FIRST} FROM {{written}} {_COUNT_UP}
    RETURNING c.user_key, c.last_number, c.last_hash
),
audit_added AS (
    INSERT INTO discreet.audit_entry ({_COLUMNS}) SELECT user_key, last_number, last_hash, {_SAID} FROM audit_head
    RETURNING number
)
"""
"""Common table expressions that add an entry in the statement itself that writes something: `written` is one that returns user_key, or
no row if nothing was written. For what is a transaction of its own: one would take three more round trips. An INSERT of rows of a query that returns nothing is made a
COPY on a Citus cluster, which row-level security refuses: hence RETURNING."""


class PostgresAuditLog:
    """The port `AuditLog` over PostgreSQL.

    A person's chain has one head, whose row is locked from an entry to the end of its transaction: entries about different people
    never wait for each other.
    """

    def __init__(
        self, pool: Pool, *, keys: UserKeys, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """Use `pool`, whose owner closes it; `clock` says when something is done."""
        self._pool = pool
        self._keys = keys
        self._key = AuditKey(keys.audit_key)
        self._clock = clock

    async def record(self, action: str, **details: Unpack[EntryDetails]) -> None:
        """Add an entry, in a transaction of its own.

        Raises:
            StorageError: It could not be written.
        """
        with storage_errors(), beside_reading():
            async with self._pool.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                await self.record_in(cursor, action, **details)

    async def record_in(
        self,
        cursor: AsyncCursor[Any],
        action: str,
        *,
        user_key: UUID | str | None,
        data: str,
        success: bool = True,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Add an entry within the transaction of `cursor`, in one round trip. It comes last, see the port.

        Raises:
            psycopg.Error: It could not be written.
        """
        key = self._key_of(user_key)
        given = {"user_key": key, **self.given(action, user_key=key, data=data, success=success, counts=counts)}
        connection = cursor.connection
        if not (isinstance(connection, StorageConnection) and connection.is_cluster):
            await cursor.execute(_HEAD_AND_ENTRY, given)
            return
        async with connection.pipeline():
            await cursor.execute(_HEAD, given)
            await cursor.execute(_ENTRY, given)

    def given(
        self, action: str, *, user_key: UUID, data: str, success: bool = True, counts: Mapping[str, int] | None = None
    ) -> dict[str, Any]:
        """Return the parameters of `ADDED_FOR`, for an entry as `record` takes it."""
        actor = current_actor()
        said = {
            "actor_kind": actor.kind,
            "actor": pseudonym_of(actor, self._keys),
            "action": action,
            "success": success,
            "data": data,
            "counts": written(counts or {}),
            "request_id": _short(actor.request_id),
            "ip_address": _short(actor.ip_address),
            "user_agent": _short(actor.user_agent),
        }
        at = self._clock()
        digest = self._key.of_entry({**said, "user_key": user_key, "at": seconds(at)})
        first = {"before_first": BEFORE_FIRST, "first_hash": next_hash(BEFORE_FIRST, 1, digest)}
        return {f"audit_{name}": value for name, value in {**said, **first, "at": at, "digest": digest}.items()}

    async def record_reading(
        self, action: str, *, user_key: UUID | str, data: str, counts: Mapping[str, int] | None = None
    ) -> None:
        """Add an entry if somebody else reads what is this person's.

        Raises:
            StorageError: It could not be written.
        """
        if not is_own(current_actor(), self._key_of(user_key), self._keys):
            await self.record(action, user_key=user_key, data=data, counts=counts)

    def _key_of(self, user_key: UUID | str | None) -> UUID:
        if user_key is None:
            return NOBODY
        return self._keys.of_user(user_key) if isinstance(user_key, str) else user_key


def _short(text: str | None) -> str | None:
    """Return the beginning of what a client says, on one line."""
    return None if text is None else " ".join(storable(text).split())[:MAX_CHARS]
