"""Let go of entries and seals that were kept as long as they are kept, so that what is left can still be verified."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from operator import itemgetter
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.driver_errors import storage_errors
from discreet.ports import NOBODY, AuditLog, NoAudit
from discreet.storage.audit.chains import ENTRY_COLUMNS, HEAD_COLUMNS, ChainWalk
from discreet.storage.audit.digests import AuditKey
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch

logger = logging.getLogger(__name__)

TRIM: Final = "audit.trim"
FIRST_SEAL: Final = "first_seal"
"""Count of such an entry: the number of the first seal that is left."""

CHAINS = 100
"""Looked for at a time."""

SEALS_LONGER = timedelta(days=1)
"""That seals are kept longer than entries: a seal's clock may be slow beside that of an entry it covers."""

_DUE: LiteralString = """
SELECT user_key, first_at FROM discreet.audit_chain
WHERE first_at < %(before)s AND isfinite(first_at) AND (first_at, user_key) > (%(after)s, %(after_key)s)
ORDER BY first_at, user_key
LIMIT %(limit)s
"""

_LOCK: LiteralString = """
SELECT first_number FROM discreet.audit_chain WHERE user_key = %(user_key)s FOR NO KEY UPDATE
"""

_FIRST: LiteralString = f"""
SELECT {ENTRY_COLUMNS}, {HEAD_COLUMNS}, e.at < %(before)s AS is_due
FROM discreet.audit_entry e
JOIN discreet.audit_chain c ON c.user_key = e.user_key
WHERE e.user_key = %(user_key)s AND c.user_key = %(user_key)s
ORDER BY e.number
LIMIT %(limit)s
"""

_LET_GO: LiteralString = "SELECT set_config('discreet_audit.trimming', 'on', true)"

_DELETE: LiteralString = """
DELETE FROM discreet.audit_entry WHERE user_key = %(user_key)s AND number < %(first_number)s
"""

_BEGIN: LiteralString = """
UPDATE discreet.audit_chain
SET first_number = %(first_number)s, hash_before = %(hash_before)s, beginning = %(beginning)s, first_at = (
    SELECT at FROM discreet.audit_entry WHERE user_key = %(user_key)s AND number = %(first_number)s
)
WHERE user_key = %(user_key)s
"""

_FIRST_SEAL: LiteralString = """
SELECT coalesce(
    (SELECT min(seal_number) FROM discreet.audit_seal WHERE at >= %(seals_before)s),
    (SELECT max(seal_number) FROM discreet.audit_seal),
    1
) AS first_seal
"""
"""The last one stays: the next is made of it."""

_DELETE_HEADS: LiteralString = "DELETE FROM discreet.audit_sealed_head WHERE seal_number < %(first_seal)s"
_DELETE_SEALS: LiteralString = "DELETE FROM discreet.audit_seal WHERE seal_number < %(first_seal)s"


@dataclass(frozen=True, kw_only=True)
class Trimmed:
    """What went."""

    chains: int = 0
    """That begin later now."""
    entries: int = 0
    seals: int = 0
    broken: int = 0
    """Chains that stay as they are, with all seals: they have been tampered with, which must not be swept away."""


class AuditTrimmer:
    """Trims chains at their beginning, one in a transaction."""

    def __init__(self, works: Pool, *, key: bytes, audit: AuditLog) -> None:
        """Use `works`, whose role may delete entries, and the `audit_key` of `UserKeys`."""
        self._works = works
        self._key = AuditKey(key)
        self._audit = audit

    async def trim(self, before: datetime, batch: int = 1_000) -> Trimmed:
        """Let go of what is from before that time, at most `batch` entries in a transaction. The trail tells of it.

        Raises:
            StorageError: The database failed. What went before is recorded in the chains, and the next trim goes on.
        """
        chains = entries = broken = 0
        asked = {"before": before, "limit": CHAINS}
        after, after_key = datetime.min.replace(tzinfo=UTC), NOBODY
        with storage_errors():
            while due := await fetch(self._works, _DUE, {**asked, "after": after, "after_key": after_key}):
                for row in due:
                    went = await self._trim_chain(row["user_key"], before, batch)
                    chains += bool(went)
                    entries += went or 0
                    broken += went is None
                after, after_key = due[-1]["first_at"], due[-1]["user_key"]
            if broken:
                logger.error("audit.broken_chains chains=%d", broken)  # `discreet audit verify` says where
            keep = bool(broken) or isinstance(self._audit, NoAudit)  # which could not tell that seals went
            seals = await self._trim_seals(before, chains=chains, entries=entries, keep=keep)
        return Trimmed(chains=chains, entries=entries, seals=seals, broken=broken)

    async def _trim_chain(self, user_key: UUID, before: datetime, batch: int) -> int | None:
        """Return how many entries went; None if one of them has been tampered with."""
        gone = 0
        while True:
            async with self._works.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
                went = await self._trim_some(cursor, user_key, before, batch)
            if went is None:
                return None
            gone += went
            if went < batch:
                return gone

    async def _trim_some(
        self, cursor: AsyncCursor[dict[str, Any]], user_key: UUID, before: datetime, batch: int
    ) -> int | None:
        await cursor.execute(_LOCK, {"user_key": user_key})
        asked = {"user_key": user_key, "before": before, "limit": batch}
        due = list(takewhile(itemgetter("is_due"), await (await cursor.execute(_FIRST, asked)).fetchall()))
        walk = ChainWalk(self._key)
        if any(finding for row in due for finding in walk.step(row)):
            return None
        if due:
            number, hash_before = due[-1]["number"] + 1, due[-1]["hash"]
            beginning = {
                "user_key": user_key,
                "first_number": number,
                "hash_before": hash_before,
                "beginning": self._key.of_beginning(user_key, number, hash_before),
            }
            await cursor.execute(_LET_GO)
            await cursor.execute(_DELETE, beginning)
            await cursor.execute(_BEGIN, beginning)
        return len(due)

    async def _trim_seals(self, before: datetime, *, chains: int, entries: int, keep: bool) -> int:
        """Let go of seals, unless they are to be kept, and tell of all that went; return how many seals did."""
        async with self._works.connection() as conn, conn.transaction(), conn.cursor(binary=True) as cursor:
            asked = {"seals_before": datetime.min.replace(tzinfo=UTC) if keep else before - SEALS_LONGER}
            [first] = await (await cursor.execute(_FIRST_SEAL, asked)).fetchall()
            await cursor.execute(_LET_GO)
            await cursor.execute(_DELETE_HEADS, first)
            seals = (await cursor.execute(_DELETE_SEALS, first)).rowcount
            if chains or seals:
                counts = {"chains": chains, "entries": entries, "seals": seals, FIRST_SEAL: first["first_seal"]}
                await self._audit.record_in(cursor, TRIM, user_key=None, data="audit", counts=counts)
        return seals
