"""What a scrub did, or would do: counts only."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from discreet.scanning.report import Part, ScanReport


class TableChanges(Part):
    """What changed in a table."""

    table: str
    rows: int = 0
    """That were read."""
    changed: int = 0
    """Rows that were rewritten."""
    places: dict[str, dict[str, int]] = Field(default_factory=dict)
    """What is in the values that were rewritten, as `places` of a scan have it; `removed`: of what goes with no value in it."""
    deleted: int = 0
    """Rows that nothing needs any more: writes of steps that are over, and what --prune takes."""
    bytes_before: int = 0
    """Of the values that were rewritten or deleted."""
    bytes_after: int = 0
    changed_meanwhile: int = 0
    """Rows that somebody else changed in that moment. They stay as they are: scrub again."""
    refused: int = 0
    """Rows that the database takes no placeholder in: a constraint forbids it, or a column is too short. They stay."""
    unreadable: int = 0
    """Values that can't be taken apart, or are encrypted, and stay."""


class Advice(Part):
    """What to run, so that the old rows leave the files."""

    statement: str
    bytes: int
    """What the table takes now, with its indexes."""


class ScrubReport(Part):
    """What was done, or what would be."""

    format: Literal["discreet.scrub"] = "discreet.scrub"
    version: int = 1
    database: str
    dry_run: bool
    started_at: datetime
    finished_at: datetime
    threads: int
    open_threads: int
    """In the middle of a turn: their calls and results stay, with placeholders."""
    tables: list[TableChanges]
    pruned: int = 0
    """Checkpoints that are no thread's newest state and went, or would."""
    unpruned_threads: int = 0
    """With a `DeltaChannel`: nothing of them was pruned."""
    advice: list[Advice] = Field(default_factory=list)
    left: ScanReport | None = None
    """What a scan afterwards found."""

    @property
    def changed(self) -> int:
        """Rows that were rewritten or deleted, and checkpoints that were pruned."""
        return self.pruned + sum(table.changed + table.deleted for table in self.tables)

    @property
    def is_clean(self) -> bool:
        """Whether the scan afterwards found no value but in ids, which stay."""
        return self.left is not None and not self.left.types
