"""Seal the heads of chains together, so that no chain can lose its end unseen, and mark the last seal, so that no seal can."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor

from discreet.driver_errors import storage_errors
from discreet.errors import AuditAnchorError
from discreet.ports import NOBODY
from discreet.storage.audit.digests import AFTER_BREAK, AuditKey, digest_of_heads, seconds
from discreet.storage.audit.marks import READ_MARK, WRITE_MARK, mark_of, place_of_next
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.leases import AUDIT_SEALS, job_lease
from discreet.storage.database.statements import fetch

logger = logging.getLogger(__name__)

HEADS = 500
"""That one seal covers at most. More that have changed get the next seal at once."""

_UNSEALED: LiteralString = """
SELECT user_key, last_number, last_hash FROM discreet.audit_chain
WHERE NOT is_sealed AND user_key >= %(first)s
ORDER BY user_key
LIMIT %(limit)s
"""

_LAST: LiteralString = """
SELECT seal_number, at, heads, hash FROM discreet.audit_seal ORDER BY seal_number DESC LIMIT 1
"""

_SEAL: LiteralString = """
INSERT INTO discreet.audit_seal (seal_number, at, heads, previous_hash, hash)
VALUES (%(seal_number)s, %(at)s, %(heads)s, %(previous_hash)s, %(hash)s)
"""

_COVER: LiteralString = """
INSERT INTO discreet.audit_sealed_head (user_key, seal_number, number, hash)
SELECT h.user_key, %(seal_number)s, h.number, h.hash
FROM unnest(%(keys)s::uuid[], %(numbers)s::bigint[], %(hashes)s::bytea[]) AS h (user_key, number, hash)
"""

_MARK: LiteralString = """
UPDATE discreet.audit_chain c SET is_sealed = true
FROM (
    SELECT user_key FROM discreet.audit_chain
    WHERE user_key = %(user_key)s AND last_number = %(last_number)s
    FOR NO KEY UPDATE SKIP LOCKED
) AS free
WHERE c.user_key = %(user_key)s AND c.user_key = free.user_key
"""
"""One by one, each a transaction: whoever adds an entry waits for a fraction of a millisecond, and two never for each other. A head
that somebody is at, or that was not marked when a process ended, is sealed once more."""


@dataclass(frozen=True, kw_only=True)
class Seal:
    """The last of the seals: what an anchor keeps outside of the database."""

    number: int
    at: datetime
    heads: int
    """How many it covers; seals before it cover others."""
    hash: bytes
    """Of these and of all seals before."""


Anchor = Callable[[Seal], Awaitable[None]]
"""Keeps a seal where whoever has the database can't reach it. Raises `AuditAnchorError`."""


class AuditSealer:
    """Seals what has changed. Of all processes one does at a time."""

    def __init__(
        self,
        works: Pool,
        *,
        key: bytes,
        anchors: Sequence[Anchor] = (),
        heads: int = HEADS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Use `works`, whose role sees all chains and whose owner closes it, and the `audit_key` of `UserKeys`."""
        self._works = works
        self._key = AuditKey(key)
        self._anchors = anchors
        self._heads = heads
        self._clock = clock
        self._anchored: dict[Anchor, int] = {}

    async def keep(self) -> None:
        """Seal what has changed, and anchor the last seal; for `maintenance`.

        Raises:
            StorageError: The database failed.
        """
        await self.seal()
        if self._anchors and (last := await self.last()) is not None:
            await self._anchor(last)

    async def seal(self) -> int:
        """Seal all heads that have changed since they were sealed; return how many. None are while another process is at it.

        Raises:
            StorageError: The database failed. What was sealed before stays so.
        """
        sealed, first = 0, NOBODY
        while True:
            with storage_errors():
                heads = await self._seal_some(first)
                async with self._works.connection() as conn, conn.cursor(binary=True) as cursor:
                    for head in heads:
                        await cursor.execute(_MARK, head)
            sealed += len(heads)
            if len(heads) < self._heads:
                return sealed
            first = UUID(int=heads[-1]["user_key"].int + 1)  # who is always busy must not be sealed for ever

    async def last(self) -> Seal | None:
        """Return the last seal, if there is one.

        Raises:
            StorageError: The database failed.
        """
        found = await fetch(self._works, _LAST)
        return Seal(number=found[0].pop("seal_number"), **found[0]) if found else None

    async def _seal_some(self, first: UUID) -> list[dict[str, Any]]:
        """Make one seal; return the heads that it covers, from the key `first` on."""
        async with (
            self._works.connection() as conn,
            job_lease(conn, AUDIT_SEALS) as leased,
            conn.cursor(binary=True) as cursor,
        ):
            if not leased:
                return []
            heads = await (await cursor.execute(_UNSEALED, {"first": first, "limit": self._heads})).fetchall()
            if heads:
                await self._write(cursor, heads)
            return heads

    async def _write(self, cursor: AsyncCursor[dict[str, Any]], heads: Sequence[dict[str, Any]]) -> None:
        last = await (await cursor.execute(_LAST)).fetchone()
        [mark] = await (await cursor.execute(READ_MARK)).fetchall()
        number, previous = place_of_next(mark, last, self._key)
        if previous == AFTER_BREAK:
            logger.error("audit.seals_missing seal=%d", number)  # `discreet audit verify` says so too, from now on
        keys, numbers, hashes = zip(*((h["user_key"], h["last_number"], h["last_hash"]) for h in heads), strict=True)
        at = self._clock()
        covered = digest_of_heads(zip(keys, numbers, hashes, strict=True))
        seal: dict[str, Any] = {
            "seal_number": number,
            "at": at,
            "heads": len(heads),
            "previous_hash": previous,
            "hash": self._key.of_seal(number, seconds(at), len(heads), covered, previous),
        }
        await cursor.execute(_SEAL, seal)
        rows = {"seal_number": number, "keys": list(keys), "numbers": list(numbers), "hashes": list(hashes)}
        await cursor.execute(_COVER, rows)
        await cursor.execute(WRITE_MARK, mark_of(self._key, number, seal["hash"]))

    async def _anchor(self, seal: Seal) -> None:
        """Hand the seal to every anchor that does not have it; one that fails gets the next, which tells of this one too."""
        for anchor in self._anchors:
            if self._anchored.get(anchor) == seal.number:
                continue
            try:
                await anchor(seal)
            except AuditAnchorError as error:
                logger.warning("audit.not_anchored seal=%d cause=%s", seal.number, error.code)
            else:
                self._anchored[anchor] = seal.number
