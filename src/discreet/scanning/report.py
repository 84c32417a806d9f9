"""What a scan says: counts, types, sizes, times and digests of ids. No value is in it, and nothing that one can be made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.checkpoint.unnamed_channels import keeping
from discreet.state.described import describe_fields

ANYTHING: Final = "any"
"""Of `fails`: sensitive values of any type."""
MAX_ERRORS: Final = 200
"""That are told one by one."""


MAX_PLACES: Final = 500
"""Of a table that are told one by one."""
OTHER_PLACES: Final = "…"


class Part(BaseModel):
    """Base of the parts of a report."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_fields)


class TypeCount(Part):
    """How often a type of value is in a table."""

    values: int = 0
    """Places where one stands: the same value in ten versions of a conversation is ten."""
    rows: int = 0
    threads: int = 0
    """Of a table of threads."""


class TableReport(Part):
    """What a table holds."""

    schema_name: str
    table: str
    label: str
    """What it is."""
    rows: int = 0
    """That were read."""
    bytes: int = 0
    """On disk, with indexes."""
    read_bytes: int = 0
    types: dict[str, TypeCount] = Field(default_factory=dict)
    places: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Values by column and names of fields, such as `value.user.mail`, and by type. `[]` are the items of a list, `{}` the keys of a
    dict. A name that holds a value is its type (`<EMAIL>`), one that may be an id or somebody's name is `*`."""
    kinds: dict[str, int] = Field(default_factory=dict)
    """Messages and other things that are stored, see `discreet.scanning.messages`."""
    in_ids: dict[str, int] = Field(default_factory=dict)
    """Values that ids and other keys of rows hold, by type: these can't be rewritten without a row becoming another."""
    unreadable: int = 0
    """Values that are damaged, or too large or too deep. They were searched as text."""


class ErrorLine(Part):
    """A value that could not be decoded."""

    table: str
    column: str
    row: str
    """Digest of its key."""
    reason: str


class ThreadSize(Part):
    """One of the largest threads."""

    thread: str
    """Digest of its id."""
    checkpoints: int
    bytes: int


class GrowthStep(Part):
    """Threads of about the same length."""

    checkpoints: int
    """At most so many each; those of the step before have fewer."""
    threads: int
    mean_bytes: int


class Usage(Part):
    """What threads take."""

    threads: int
    checkpoints: int
    bytes: int
    """Of their rows, without indexes."""
    prunable_bytes: int
    """What would go if of each thread the newest state alone were kept."""
    open_threads: int
    """In the middle of a turn, as far as their newest checkpoint shows."""
    oldest: datetime | None
    newest: datetime | None
    largest: list[ThreadSize]
    growth: list[GrowthStep]


class ScanReport(Part):
    """What was found."""

    format: Literal["discreet.scan"] = "discreet.scan"
    version: int = 1
    database: str
    """Where: host and name, or a file's name."""
    started_at: datetime
    finished_at: datetime
    seconds: float
    """Spent reading, without interruptions."""
    sample: float
    """Which part of the threads was looked at; 1 is all."""
    tables: list[TableReport]
    not_scanned: dict[str, int]
    """Tables of which nothing is known, with about how many rows: `--all-tables` scans them too."""
    usage: Usage | None
    unkept: dict[str, int] = Field(default_factory=dict)
    """Channels of the application's state that `RedactingSaver` keeps only if its policy names them, and how many threads have a value there,
    as another saver stored it."""
    errors: list[ErrorLine]
    """The first ones; `unreadable` of the tables counts all."""

    @property
    def types(self) -> dict[str, int]:
        """Values by type, over all tables, the most first."""
        return _summed((name, count.values) for table in self.tables for name, count in table.types.items())

    @property
    def kinds(self) -> dict[str, int]:
        """Things by kind, over all tables, the most first."""
        return _summed((name, count) for table in self.tables for name, count in table.kinds.items())

    @property
    def in_ids(self) -> dict[str, int]:
        """Values in ids by type, over all tables."""
        return _summed((name, count) for table in self.tables for name, count in table.in_ids.items())

    @property
    def keeping(self) -> str | None:
        """The policy that keeps the channels of `unkept`, those whose names can be told; None of none."""
        named = [name for name in self.unkept if not name.startswith(("*", "<"))]
        return keeping(named) if named else None

    @property
    def rows(self) -> int:
        """Rows that were read."""
        return sum(table.rows for table in self.tables)

    @property
    def read_bytes(self) -> int:
        """Bytes that were read."""
        return sum(table.read_bytes for table in self.tables)

    @property
    def unreadable(self) -> int:
        """Values that could not be decoded."""
        return sum(table.unreadable for table in self.tables)

    def fails(self, conditions: Collection[str]) -> bool:
        """Return whether something is there that is named: a type, a kind of thing, `unreadable`, or `any` type at all."""
        there = {name.lower() for found in (self.types, self.kinds, self.in_ids) for name in found}
        wanted = {name.strip().lower() for name in conditions}
        values = bool(self.types or self.in_ids)
        return (
            bool(wanted & there) or (ANYTHING in wanted and values) or ("unreadable" in wanted and self.unreadable > 0)
        )


def _summed(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    summed: dict[str, int] = {}
    for name, count in counts:
        summed[name] = summed.get(name, 0) + count
    return dict(sorted(summed.items(), key=lambda item: (-item[1], item[0])))
