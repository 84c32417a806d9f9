"""Move what is sealed under other keys to the current one, while everybody goes on working.

What is plain stays so unless whoever asks vouches for it: it was stored before the key, or written past Discreet, and the rows don't say which.

Nothing is noted: what is to be done is seen in the rows, so that it can be broken off anywhere and any number may be at it. Rows
are looked at in the order of their keys, time and again, until there is nothing left to move. A row that somebody changes
meanwhile, or has locked, is left to the next time. So whoever writes is never waited for and never overwritten.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, LiteralString
from uuid import UUID, uuid4

from discreet.driver_errors import storage_errors
from discreet.encryption import key_header, key_id_of, seal, unseal
from discreet.errors import EncryptionError
from discreet.ports import AuditLog, KeyProvider, NoAudit
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealed_columns import SEALED_TABLES, SealedTable
from discreet.storage.database.sealing import report_unreadable
from discreet.storage.database.statements import fetch
from discreet.storage.rekeying.plain_rows import plain_rows
from discreet.storage.rekeying.statements import SHORT_LIVED, SPILLS, count, inspect, look, read, spilled, write

LOOK_ROWS = 2_000
"""Rows looked at by one statement: of each, a few bytes of what is sealed are read."""

MOVE_ROWS = 50
"""Rows of a user moved by one transaction: some milliseconds, and values of the store may be large."""

OPEN_ROWS = 100
"""Rows read to be opened by one statement, for values of the store may be large."""

SAMPLED_ROWS = 200
"""Rows of a table that are opened to see whether some can't be."""

MAX_PASSES = 5
"""Times that all rows are looked at. If there is something to move each time, some process still seals under another key."""

REST_SECONDS = 0.2
"""Before all rows are looked at again because of some that were locked."""


@dataclass(frozen=True, kw_only=True)
class KeyCount:
    """How many values a table has under one key."""

    table: str
    key_id: str | None
    """None: under none, they are plain."""
    values: int
    is_known: bool
    """Whether there is such a key."""
    lost: int
    """Values that can't be opened: there is no such key, it has another secret, or they were changed or moved since."""


@dataclass(kw_only=True)
class Rekeyed:
    """What came of it."""

    key_id: str
    """The current key."""
    rows: dict[str, int] = field(default_factory=dict)
    """That were moved, by table."""
    lost: dict[str, int] = field(default_factory=dict)
    """Of which something can't be opened, by table: it stays as it is. The log has their ids."""
    sealed: dict[str, int] = field(default_factory=dict)
    """Of those that were moved, the ones of which something was plain, by table."""
    plain: dict[str, int] = field(default_factory=dict)
    """Of which something is plain at the end, by table: nobody reads it."""
    finished: bool = False
    """Whether there was nothing left to move at the end."""
    expiring: int = 0
    """Values of sessions, claims, running and paused turns under older keys, which nobody moves: they expire."""
    until: datetime | None = None
    """When the last of those does; then the older keys can go."""


@dataclass
class _Pass:
    moved: int = 0
    missed: int = 0
    """Rows that somebody had locked, or changed."""


class Rekeying:
    """Looks at all tables with sealed columns of a database."""

    def __init__(self, works: Pool, *, keys: KeyProvider, audit: AuditLog | None = None) -> None:
        """Use `works`, whose role sees the rows of all users."""
        self._works = works
        self._keys = keys
        self._audit = audit or NoAudit()

    async def left(self, *, seal_plain: bool = False) -> dict[str, int]:
        """Return how many rows have something that `run` would move, by table.

        Raises:
            StorageError: The database failed.
        """
        given = {"header": key_header(self._keys.current().id), "seal_plain": seal_plain}
        found = {table.name: await fetch(self._works, count(table), given) for table in SEALED_TABLES}
        return {name: rows[0]["rows"] for name, rows in found.items()}

    async def counts(self, done: Callable[[int], None] = lambda _: None) -> list[KeyCount]:
        """Open every value, and return how many are under which key; `done` is told how many rows were read, time and again.

        An id is a free name: only what opens is under the key that is known by it.

        Raises:
            StorageError: The database failed.
        """
        found: list[KeyCount] = []
        read_rows = 0
        for table in SEALED_TABLES:
            values, lost = Counter[str | None](), Counter[str | None]()
            async for rows in self._pages(table, inspect(table), {"limit": OPEN_ROWS}):
                for key_id, opens in await asyncio.to_thread(self._opened, table, rows):
                    values[key_id] += 1
                    lost[key_id] += not opens
                read_rows += len(rows)
                done(read_rows)
            found += [
                KeyCount(
                    table=table.name, key_id=key_id, values=number, is_known=self._knows(key_id), lost=lost[key_id]
                )
                for key_id, number in values.items()
            ]
        return found

    async def sampled(self, rows: int = SAMPLED_ROWS) -> tuple[int, dict[str, int]]:
        """Open the values of at most `rows` rows of each table, from any place of it on; return how many, and those that don't open by table.

        Raises:
            StorageError: The database failed.
        """
        opened, lost = 0, Counter[str]()
        for table in SEALED_TABLES:
            first, statement = uuid4(), inspect(table)
            given: dict[str, Any] = {"after_key": UUID(int=0) if table.key_type == "uuid" else "", "limit": rows}
            found = await fetch(self._works, statement, {**given, "after_user": first})
            if len(found) < rows:
                before = await fetch(self._works, statement, {**given, "after_user": UUID(int=0)})
                found += [row for row in before if row["user_key"] <= first]
            values = await asyncio.to_thread(self._opened, table, found[:rows])
            opened += len(values)
            lost[table.name] += sum(not opens for _, opens in values)
        return opened, dict(+lost)

    async def run(self, done: Callable[[int], None] = lambda _: None, *, seal_plain: bool = False) -> Rekeyed:
        """Move everything that is sealed and can be moved; `done` is told how many rows were, time and again.

        `seal_plain`: seal what is plain, too. Whoever asks for it vouches for these rows, which are read from then on as if we had
        written them: ask for it once, when keys are turned on.

        Raises:
            StorageError: The database failed. What was moved stays so; run it again.
        """
        none = dict.fromkeys((table.name for table in SEALED_TABLES), 0)
        came = Rekeyed(key_id=self._keys.current().id, rows=dict(none), sealed=dict(none))
        given = {"header": key_header(came.key_id), "seal_plain": seal_plain}
        for number in range(MAX_PASSES):
            passed = _Pass()
            came.lost = dict(none)
            for table in SEALED_TABLES:
                await self._pass(table, given, came, passed, done, tell=number == 0)
            if not passed.moved and not passed.missed:
                came.finished = True
                break
            if not passed.moved:
                await asyncio.sleep(REST_SECONDS)
        came.expiring, came.until = await self._expiring()
        came.plain = {**none, **await plain_rows(self._works)}
        counts = {name: sum(getattr(came, name).values()) for name in ("rows", "lost", "sealed", "plain")}
        await self._audit.record("key.rotate", user_key=None, data="key", success=not counts["lost"], counts=counts)
        return came

    async def _pass(
        self,
        table: SealedTable,
        given: Mapping[str, Any],
        came: Rekeyed,
        passed: _Pass,
        done: Callable[[int], None],
        *,
        tell: bool,
    ) -> None:
        """Look at all rows of a table once; `tell` says whether the log is to name what is lost."""
        async for rows in self._pages(table, look(table), {**given, "limit": LOOK_ROWS}):
            for user_key, keys in _chunks(rows):
                moved, sealed, lost, missed = await self._move(table, user_key, keys, given)
                came.rows[table.name] += moved
                came.sealed[table.name] += sealed
                came.lost[table.name] += len(lost)
                passed.moved += moved
                passed.missed += missed
                if tell:
                    report_unreadable(table.name, lost)
            done(sum(came.rows.values()))

    async def _pages(
        self, table: SealedTable, statement: LiteralString, given: Mapping[str, Any]
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield all rows of a table by `statement`, which reads the next ones by key."""
        after: dict[str, Any] = {
            "after_user": UUID(int=0),
            "after_key": UUID(int=0) if table.key_type == "uuid" else "",
        }
        while rows := await fetch(self._works, statement, {**given, **after}):
            after = {"after_user": rows[-1]["user_key"], "after_key": rows[-1]["row_key"]}
            yield rows

    async def _move(
        self, table: SealedTable, user_key: UUID, keys: Sequence[Any], given: Mapping[str, Any]
    ) -> tuple[int, int, list[Any], int]:
        """Move some of a user's rows; return how many were, how many of these had something plain, the keys of those with something lost, and how many were missed."""
        rows = await fetch(self._works, read(table), {"user_key": user_key, "row_keys": keys})
        moving, lost = await asyncio.to_thread(self._resealed, table, user_key, rows, given)
        moved: dict[bool, int] = {}
        if moving:
            with storage_errors():
                async with self._works.connection() as conn, conn.cursor() as cursor:
                    for was_plain, some in groupby(moving, lambda row: row["was_plain"]):
                        await cursor.executemany(write(table), list(some))
                        moved[was_plain] = cursor.rowcount
        return sum(moved.values()), moved.get(True, 0), lost, len(moving) - sum(moved.values())

    async def _expiring(self) -> tuple[int, datetime | None]:
        """Return how many values that expire are under other keys, and when the last of them does."""
        given = {"header": key_header(self._keys.current().id)}
        found = await fetch(self._works, SHORT_LIVED, given)
        for row in await fetch(self._works, SPILLS):
            found += await fetch(self._works, spilled(row["schema"]), given)
        return sum(row["number"] for row in found), max((row["until"] for row in found if row["until"]), default=None)

    def _resealed(
        self, table: SealedTable, user_key: UUID, rows: Sequence[Mapping[str, Any]], given: Mapping[str, Any]
    ) -> tuple[list[dict[str, Any]], list[Any]]:
        """Return the parameters of `write` for the rows of which something can be moved, those with something plain last, and the keys of those with something lost."""
        moving, lost = [], []
        for row in rows:
            new, is_lost = self._new(table, user_key, row, given)
            if is_lost:
                lost.append(row["row_key"])
            if any(new.values()):
                was_plain = any(new[f"new_{n}"] and row[f"sealed_{n}"] is None for n in range(len(table.columns)))
                moving.append({**row, **new, "user_key": user_key, "was_plain": was_plain})
        return sorted(moving, key=lambda row: row["was_plain"]), lost

    def _new(
        self, table: SealedTable, user_key: UUID, row: Mapping[str, Any], given: Mapping[str, Any]
    ) -> tuple[dict[str, bytes | None], bool]:
        """Return the new values of a row, None for what stays, and whether one can't be opened."""
        new: dict[str, bytes | None] = {}
        is_lost = False
        for n, column in enumerate(table.columns):
            plain, sealed = row[f"plain_{n}"], row[f"sealed_{n}"]
            aad = column.of(*column.at((user_key, row["row_key"]), row))
            new[f"new_{n}"] = None
            if sealed is None and plain != column.empty and given["seal_plain"]:
                new[f"new_{n}"] = seal(plain.encode(), aad, self._keys)
            elif sealed is not None and not sealed.startswith(given["header"]):
                try:
                    new[f"new_{n}"] = seal(unseal(sealed, aad, self._keys), aad, self._keys)
                except EncryptionError:
                    is_lost = True
        return new, is_lost

    def _opened(self, table: SealedTable, rows: Sequence[Mapping[str, Any]]) -> list[tuple[str | None, bool]]:
        """Return of each value the id of the key that it is under, None if it is plain, and whether it opens."""
        opened: list[tuple[str | None, bool]] = []
        for row in rows:
            for n, column in enumerate(table.columns):
                sealed = row[f"sealed_{n}"]
                if sealed is not None:
                    aad = column.of(*column.at((row["user_key"], row["row_key"]), row))
                    opened.append(
                        (key_id_of(sealed[: 2 + sealed[1]] if len(sealed) > 1 else sealed), self._opens(sealed, aad))
                    )
                elif row[f"is_plain_{n}"]:
                    opened.append((None, True))
        return opened

    def _opens(self, sealed: bytes, aad: bytes) -> bool:
        try:
            unseal(sealed, aad, self._keys)
        except EncryptionError:
            return False
        return True

    def _knows(self, key_id: str | None) -> bool:
        return key_id is None or self._keys.find(key_id) is not None


def _chunks(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[UUID, list[Any]]]:
    """Yield the users of rows that have something to be moved, each with the keys of some of them."""
    pending = (row for row in rows if row["is_pending"])
    for user_key, of_user in groupby(pending, lambda row: row["user_key"]):
        keys = [row["row_key"] for row in of_user]
        for start in range(0, len(keys), MOVE_ROWS):
            yield user_key, keys[start : start + MOVE_ROWS]
