"""Tables, rows and what can be asked of them, the same of PostgreSQL, SQLite and files of pickles."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from discreet.scanning.profiles import Profile

PAGE_ROWS: Final = 200
INLINE_BYTES: Final = 256 * 1024
"""Values up to here come with their page; larger ones are read one by one, so that a page takes 50 MB at most."""

Form = Literal["text", "json", "bytes", "number"]
Key = tuple[str, ...]
"""Of a row: the values of its key columns as text."""


@dataclass(frozen=True)
class Column:
    """A column that can hold a text."""

    name: str
    form: Form
    type: str = ""
    """As SQLite has it declared."""


@dataclass(frozen=True)
class Table:
    """A table, or a file that is read as one."""

    schema: str
    name: str
    columns: tuple[Column, ...]
    """Those that are looked through."""
    key: tuple[Column, ...]
    """Those that tell its rows apart, in the order of its pages."""
    profile: Profile
    bytes: int = 0
    """With indexes and what is stored beside it."""
    rows: int = 0
    """About."""
    is_view: bool = False
    """Whether its rows are made of others (a materialized view), so that they can't be rewritten."""

    @property
    def label(self) -> str:
        """Its name, with its schema where that is not the usual one."""
        return self.name if self.schema in ("", "public") else f"{self.schema}.{self.name}"

    def is_called(self, names: Collection[str]) -> bool:
        """Return whether it is among those that somebody names, with the schema or without."""
        return bool({self.label, self.name, f"{self.schema}.{self.name}"} & set(names))


@dataclass(slots=True)
class Row:
    """A row of a page."""

    key: Key
    values: dict[str, str | bytes | None]
    """By column; a value that is too large for its page is missing."""
    large: dict[str, int] = field(default_factory=dict)
    """Columns of such values, with their sizes in bytes."""


@dataclass(frozen=True)
class Catalog:
    """What there is."""

    tables: Sequence[Table]
    others: Sequence[tuple[str, int]] = ()
    """Tables that are not looked through, with their rows, about."""


class Refused(Exception):  # noqa: N818  # no error of a user's: a row that stays, which a scrub counts
    """The database takes no such value in a row: a constraint forbids it, or its column is too short."""


class Database(Protocol):
    """A database of rows."""

    name: str
    """What it is called in a report: no password, no user."""

    def catalog(self, *, every: bool, only: Collection[str] = ()) -> Catalog:
        """Return its tables: those that are known, `every` one, or those of these names."""
        ...

    def page(
        self, table: Table, after: Key | None, *, sample: float = 1.0, thread: str | None = None
    ) -> tuple[list[Row], Key | None]:
        """Return rows of a table after a key, and where the next page begins; None with the last one.

        With a `sample` below 1, that part of the threads, or of the rows where there are none. With a `thread`, its rows.
        """
        ...

    def value(self, table: Table, key: Key, column: Column) -> str | bytes | None:
        """Return one value, of any size up to `MAX_VALUE_BYTES` and a bit."""
        ...

    def replace(
        self, table: Table, key: Key, changes: Mapping[str, tuple[str | bytes | None, str | bytes | None]]
    ) -> bool:
        """Replace values of a row, given as what they were and what they become; False if the row is no longer so.

        Raises:
            Refused: They can't be in this row.
        """
        ...

    def threads(self, tables: Sequence[Table], after: str | None) -> list[str]:
        """Return the next thread ids that any of these tables has, in the database's order, at most `PAGE_ROWS`."""
        ...

    def delete(self, table: Table, keys: Sequence[Key]) -> int:
        """Delete rows; return how many there were."""
        ...

    def batch(self) -> AbstractContextManager[None]:
        """Make the changes within it one transaction."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...
