"""Grants by which one user may read what is another's, until a time or until they are taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

from discreet.access.pseudonyms import pseudonym
from discreet.access.user_keys import UserKeys
from discreet.driver_errors import storage_errors
from discreet.errors import DelegationError
from discreet.ports import NoAudit
from discreet.shown_keys import shown_key
from discreet.state.ids import check_user_id
from discreet.storage.audit.log import ADDED_FOR, PostgresAuditLog
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch, run
from discreet.storage.database.users.users import OWNER, change_for_user, write_for_user

MAX_DELEGATES = 100
"""Of one user, at a time: a household and a ward, not a directory."""

MAX_ENDED = 100
"""Grants that have ended, of one user, which are still shown: the newest. The audit trail has all."""

_HOLDS: LiteralString = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(now)s)"

_OTHERS: LiteralString = f"""
SELECT count(*) AS delegates FROM discreet.delegation
WHERE user_key = %(user_key)s AND delegate_key <> %(delegate_key)s AND {_HOLDS}
"""

_WRITE_GRANT: LiteralString = f"""
WITH {OWNER},
granted AS (
    INSERT INTO discreet.delegation (user_key, delegate_key, granted_at, expires_at, granted_by, revoked_at)
    SELECT owner.user_key, %(delegate_key)s, %(now)s, %(until)s, %(granted_by)s, NULL
    FROM owner
    ON CONFLICT (user_key, delegate_key) DO UPDATE SET
        granted_at = excluded.granted_at, expires_at = excluded.expires_at, granted_by = excluded.granted_by, revoked_at = NULL
    RETURNING user_key
)
"""

_GRANTED: LiteralString = "SELECT EXISTS (SELECT FROM owner) AS is_owner"

_GRANT: LiteralString = f"{_WRITE_GRANT} {_GRANTED}"
_GRANT_AUDITED: LiteralString = f"{_WRITE_GRANT}, {ADDED_FOR.format(written='granted')} {_GRANTED}"

_WRITE_REVOCATION: LiteralString = f"""
WITH {OWNER},
revoked AS (
    UPDATE discreet.delegation d SET revoked_at = %(now)s
    FROM owner
    WHERE d.user_key = %(user_key)s AND d.user_key = owner.user_key AND d.delegate_key = %(delegate_key)s
      AND d.revoked_at IS NULL
    RETURNING d.user_key
)
"""

_REVOKED: LiteralString = """
SELECT EXISTS (SELECT FROM owner) AS is_owner, EXISTS (SELECT FROM revoked) AS is_revoked
"""

_REVOKE: LiteralString = f"{_WRITE_REVOCATION} {_REVOKED}"
_REVOKE_AUDITED: LiteralString = f"{_WRITE_REVOCATION}, {ADDED_FOR.format(written='revoked')} {_REVOKED}"

_TRIM: LiteralString = f"""
DELETE FROM discreet.delegation
WHERE user_key = %(user_key)s AND NOT ({_HOLDS}) AND delegate_key IN (
    SELECT delegate_key FROM discreet.delegation WHERE user_key = %(user_key)s AND NOT ({_HOLDS})
    ORDER BY granted_at DESC, delegate_key OFFSET {MAX_ENDED}
)
"""
"""Asks twice whether they hold: of one that is granted again meanwhile the outer condition alone is looked at anew."""

_LIST: LiteralString = """
SELECT delegate_key, granted_at, expires_at, granted_by, revoked_at FROM discreet.delegation
WHERE user_key = %(user_key)s
ORDER BY granted_at DESC, delegate_key
"""

_MAY_READ: LiteralString = f"""
SELECT FROM discreet.delegation WHERE user_key = %(user_key)s AND delegate_key = %(delegate_key)s AND {_HOLDS}
"""


@dataclass(frozen=True, kw_only=True)
class Delegation:
    """Somebody who may read what is a user's, or might."""

    delegate_key: UUID
    """What stands for their key, see `shown_key`: a user is shown it, and reads nothing of theirs by it."""
    granted_at: datetime
    expires_at: datetime | None
    """None: it holds until it is taken back."""
    granted_by: str
    """Pseudonym, as in the audit trail: of the user, or of an administrator."""
    revoked_at: datetime | None

    def holds(self, now: datetime) -> bool:
        """Tell whether they may read at this moment."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class PostgresDelegations:
    """Who may read whose memories.

    Raises, from every method:
        InvalidUserError: An id can't be used.
        StorageError: The database failed; nothing was changed.

    Example:
        >>> from discreet.storage import open_storage
        >>> async def may_carl_read(dsn: str) -> bool:
        ...     async with open_storage(dsn) as storage:
        ...         await storage.delegations.grant("ann", "carl", by="ann")
        ...         return await storage.delegations.may_read("carl", "ann") is not None
    """

    def __init__(
        self,
        pool: Pool,
        *,
        keys: UserKeys,
        audit: PostgresAuditLog | NoAudit,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Use `pool`, whose owner closes it; `clock` says what has expired."""
        self._pool = pool
        self._keys = keys
        self._audit = audit
        self._clock = clock

    async def grant(self, user_id: str, delegate_id: str, *, by: str, expires_at: datetime | None = None) -> Delegation:
        """Let a delegate read what is a user's, from now on and until `expires_at`.

        `by` is the user_id, or the identity, of who says so: a pseudonym of it is kept. A grant that is there already, or has
        ended, is replaced.

        Raises:
            DelegationError: They are one and the same, the end has come already or is no time that can be kept, or the user has
                as many delegates as one can.
        """
        now, given = self._clock(), self._pair(user_id, delegate_id)
        if shown_key(given["user_key"]) == given["delegate_key"]:
            raise DelegationError("Nobody is their own delegate: they may read what is theirs anyway.")
        until = None if expires_at is None else _in_utc(expires_at)
        if until is not None and until <= now:
            raise DelegationError(
                "A delegation can't end before it begins. Give an expires_at that is still to come, or none."
            )
        granted_by = pseudonym(by, self._keys)
        given |= {"now": now, "until": until, "granted_by": granted_by}
        with storage_errors():
            await run(self._pool, _TRIM, given)
            [others] = await fetch(self._pool, _OTHERS, given)
            if others["delegates"] >= MAX_DELEGATES:
                raise DelegationError(f"A user has {MAX_DELEGATES} delegates at most. Revoke a delegation first.")
            if isinstance(self._audit, PostgresAuditLog):
                given |= self._audit.given("delegation.grant", user_key=given["user_key"], data="delegation")
                await write_for_user(self._pool, _GRANT_AUDITED, given)
            else:
                await write_for_user(self._pool, _GRANT, given)
        return Delegation(
            delegate_key=given["delegate_key"], granted_at=now, expires_at=until, granted_by=granted_by, revoked_at=None
        )

    async def revoke(self, user_id: str, delegate: str | UUID) -> bool:
        """Take a delegate's right back, whom their id or the `delegate_key` of `list` names; False if there is none, or it was taken back."""
        given = {**self._pair(user_id, delegate), "now": self._clock()}
        with storage_errors():
            if isinstance(self._audit, PostgresAuditLog):
                given |= self._audit.given("delegation.revoke", user_key=given["user_key"], data="delegation")
                row = await change_for_user(self._pool, _REVOKE_AUDITED, given)
            else:
                row = await change_for_user(self._pool, _REVOKE, given)
        return bool(row.get("is_revoked"))

    async def list(self, user_id: str) -> Sequence[Delegation]:
        """Return a user's delegations, newest first: those that hold, and the last `MAX_ENDED` that have ended."""
        rows = await fetch(self._pool, _LIST, {"user_key": self._keys.of_user(check_user_id(user_id))})
        return [Delegation(**row) for row in rows]

    async def may_read(self, delegate_id: str, user_id: str) -> UUID | None:
        """Return the key of a delegate who may read what is a user's at this moment, for `read_as_delegate`; None if they may not."""
        given = self._pair(user_id, delegate_id)
        rows = await fetch(self._pool, _MAY_READ, {**given, "now": self._clock()})
        return self._keys.of_user(check_user_id(delegate_id)) if rows else None

    def _pair(self, user_id: str, delegate: str | UUID) -> dict[str, Any]:
        shown = delegate if isinstance(delegate, UUID) else shown_key(self._keys.of_user(check_user_id(delegate)))
        return {"user_key": self._keys.of_user(check_user_id(user_id)), "delegate_key": shown}


def _in_utc(moment: datetime) -> datetime:
    if moment.utcoffset() is not None:
        with suppress(OverflowError):
            return moment.astimezone(UTC)
    raise DelegationError(
        "The expires_at has no time zone, or is no time of the years 1 to 9999 in UTC. Give it one, as datetime.now(UTC) has."
    )
