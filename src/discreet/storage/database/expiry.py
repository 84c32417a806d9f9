"""Delete what has expired in batches, so that no statement takes long and nobody waits for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString
from zlib import crc32

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.leases import EXPIRY, job_lease


@dataclass(frozen=True, kw_only=True)
class Expiry:
    """What is deleted of a table, and when."""

    table: LiteralString
    """In our schema."""
    key: tuple[LiteralString, ...]
    """Its primary key, uuids."""
    due: LiteralString
    """Column with the time from which on a row is deleted; one with an index."""

    @property
    def lease(self) -> int:
        """Key of the lease: tables of one owner share it, as a row that goes takes others of its owner along."""
        return EXPIRY + crc32(self.key[0].encode())

    @property
    def select(self) -> LiteralString:
        """The statement that finds the next rows, those longest due first."""
        return (
            f"SELECT {', '.join(self.key)} FROM discreet.{self.table} WHERE {self.due} <= now() "  # noqa: S608  # constants
            f"ORDER BY {self.due} LIMIT %(batch)s"
        )

    @property
    def delete(self) -> LiteralString:
        """The statement that deletes these rows, but for those that were touched meanwhile."""
        arrays = ", ".join(f"%({column})s::uuid[]" for column in self.key)
        columns = ", ".join(self.key)
        return (
            f"DELETE FROM discreet.{self.table} WHERE {self.key[0]} = ANY (%({self.key[0]})s) AND {self.due} <= now() "  # noqa: S608  # constants
            f"AND ({columns}) IN (SELECT {columns} FROM unnest({arrays}) AS due ({columns}))"
        )


async def delete_expired(pool: Pool, expiry: Expiry, *, batch: int) -> int:
    """Delete all rows that are due, at most `batch` a statement; return how many went. None do while another process is at it.

    In two steps, as a cluster can't lock or limit what it deletes on several nodes.
    """
    deleted = 0
    while True:
        async with (
            pool.connection() as conn,
            job_lease(conn, expiry.lease) as leased,
            conn.cursor(binary=True) as cursor,
        ):
            if not leased:
                return deleted
            rows = await (await cursor.execute(expiry.select, {"batch": batch})).fetchall()
            if rows:
                await cursor.execute(expiry.delete, {column: [row[column] for row in rows] for column in expiry.key})
                deleted += cursor.rowcount
        if len(rows) < batch:
            return deleted
