"""Delete the rows of a table whose time is over in batches, so that no statement takes long and nobody waits for one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString
from zlib import crc32

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.leases import EXPIRY, job_lease
from discreet.storage.database.users.users import Cursor

BEGINNING: Final = "-infinity"
"""Before all times, as PostgreSQL writes it."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Expiry:
    """What is deleted of a table, and when."""

    table: LiteralString
    """In our schema."""
    key: Mapping[LiteralString, LiteralString]
    """Columns of its primary key, with the type of each; the first says whose the row is."""
    due: LiteralString
    """Column of the time that decides; one with an index."""
    may_go: LiteralString = "true"
    """What else must hold of a row `r`."""
    also_read: LiteralString = ""
    """Further columns of `r` that are read before it goes, each after a comma."""

    @property
    def lease(self) -> int:
        """Key of the lease: tables of one owner share it, as a row that goes takes others of its owner along."""
        return EXPIRY + crc32(self._first.encode())

    @property
    def is_due(self) -> LiteralString:
        """Whether a row `r` goes. What is exactly as old as `until` stays."""
        return f"r.{self.due} < %(until)s AND {self.may_go}"

    @property
    def select(self) -> LiteralString:
        """The statement that finds the next rows, those longest due first."""
        return (
            f"SELECT {self._columns}{self.also_read}, r.{self.due} AS due FROM discreet.{self.table} r "
            f"WHERE {self.is_due} AND r.{self.due} >= %(after)s::timestamptz ORDER BY r.{self.due} LIMIT %(batch)s"
        )

    @property
    def delete(self) -> LiteralString:
        """The statement that deletes these rows, but for those that were touched meanwhile."""
        columns: LiteralString = ", ".join(self.key)
        arrays: LiteralString = ", ".join(f"%({column}s)s::{kind}[]" for column, kind in self.key.items())
        return (
            f"DELETE FROM discreet.{self.table} r WHERE r.{self._first} = ANY (%({self._first}s)s) AND {self.is_due} "
            f"AND ({self._columns}) IN (SELECT {columns} FROM unnest({arrays}) AS gone ({columns}))"
        )

    @property
    def count(self) -> LiteralString:
        """The statement that says how many rows are due, and of when the oldest is."""
        return f"SELECT count(*) AS rows, min(r.{self.due}) AS oldest FROM discreet.{self.table} r WHERE {self.is_due}"

    def keys_of(self, rows: Rows) -> dict[str, list[Any]]:
        """Return what `delete` takes of the rows that `select` found."""
        return {f"{column}s": [row[column] for row in rows] for column in self.key}

    @property
    def _first(self) -> LiteralString:
        return next(iter(self.key))

    @property
    def _columns(self) -> LiteralString:
        return ", ".join(f"r.{column}" for column in self.key)


async def delete_expired(
    works: Pool,
    expiry: Expiry,
    *,
    until: datetime,
    batch: int,
    also: Callable[[Cursor, Rows], Awaitable[None]] | None = None,
) -> AsyncGenerator[int, None]:
    """Delete all rows whose time was over before `until`, at most `batch` in a transaction; yield how many went after each.

    In two steps, as a cluster can't lock or limit what it deletes on several nodes. None goes while another process is at
    it. `also` does in the transaction what is to be done beside the rows that were found.
    """
    after: object = BEGINNING
    while True:
        gone, rows = 0, []
        async with (
            works.connection() as conn,
            job_lease(conn, expiry.lease) as leased,
            conn.cursor(binary=True) as cursor,
        ):
            if not leased:
                return
            given = {"until": until, "after": after, "batch": batch}
            rows = await (await cursor.execute(expiry.select, given)).fetchall()
            if rows:
                await cursor.execute(expiry.delete, {"until": until, **expiry.keys_of(rows)})
                gone = cursor.rowcount
                if also is not None:
                    await also(cursor, rows)
        if gone:
            yield gone
        if len(rows) < batch:
            return
        after = rows[-1]["due"]
