"""Write the changes of some rows in one short transaction, and try again what is locked or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from discreet.errors import LockTimeoutError, ScanError
from discreet.scanning.databases import Row, Table
from discreet.scanning.databases.base import Refused
from discreet.scanning.databases.postgres import PostgresDatabase
from discreet.scanning.databases.sqlite import SqliteDatabase
from discreet.scanning.scrubbing.change_log import ChangeLog
from discreet.scanning.scrubbing.report import TableChanges
from discreet.scanning.scrubbing.row_changes import Changes, smaller

R = TypeVar("R")

TRIES: Final = 6
"""Of a batch that waits for a lock: two seconds each, with pauses."""


class BatchWriter:
    """Writes to one database, and notes what it does in a log."""

    def __init__(self, database: PostgresDatabase | SqliteDatabase, log: ChangeLog | None) -> None:
        self._database = database
        self._log = log

    def write(self, table: Table, changes: list[tuple[Row, Changes]], gone: list[Row], counts: TableChanges) -> None:
        """Write some rows; if the database refuses one of them, one by one, and of that one what it takes."""
        try:
            again(table, self._write, table, changes, gone, counts)
        except Refused:
            parts = changes if len(changes) > 1 or gone else smaller(*changes[0])
            if not parts:
                counts.refused += 1
                return
            for part in parts:
                self.write(table, [part], [], counts)
            again(table, self._write, table, [], gone, counts)

    def _write(self, table: Table, changes: list[tuple[Row, Changes]], gone: list[Row], counts: TableChanges) -> None:
        with self._database.batch():
            done = [change for change in changes if self._database.replace(table, change[0].key, change[1])]
            deleted = self._database.delete(table, [row.key for row in gone])
            if self._log:  # when nothing of it can be refused any more
                for row, of_row in done:
                    for column, (before, after) in of_row.items():
                        self._log.changed(table, row.key, column, before, after)
                for row in gone:
                    self._log.deleted(table, row.key)
                self._log.flush()
        counts.changed += len(done)
        counts.changed_meanwhile += len(changes) - len(done)
        counts.deleted += deleted


def again(table: Table, work: Callable[..., R], *args: Any, **options: Any) -> R:
    """Do `work` on a table, and again if a lock was not to be had in time.

    Raises:
        ScanError: It was not to be had for a while.
    """
    tries = Retrying(
        retry=retry_if_exception_type(LockTimeoutError),
        stop=stop_after_attempt(TRIES),
        wait=wait_random_exponential(max=5),
        reraise=True,
    )
    try:
        return tries(work, *args, **options)
    except LockTimeoutError:
        raise ScanError(
            f"Another session holds a lock on {table.label}. What was done is done: go on with --resume once it is free."
        ) from None
