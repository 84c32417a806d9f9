"""What an import came to, in numbers: no text of anybody's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field


class LeftOut(BaseModel):
    """Rows of a kind that is never imported."""

    rows: int = 0
    reason: str


class Report(BaseModel):
    """Counts of an import, of all its runs where it was gone on with."""

    source: str
    """Name of the source."""
    dry_run: bool = False
    """Whether nothing was stored: then `new` is what would be."""
    new: Counter[str] = Field(default_factory=Counter)
    """Rows that were stored, by the type of memory or the kind of row."""
    there: Counter[str] = Field(default_factory=Counter)
    """Rows that were there already, and stay as they are."""
    bad: Counter[str] = Field(default_factory=Counter)
    """Rows that can't be read or stored, by the reason."""
    erased: int = 0
    """Rows of users whose data was erased while the import went on: nothing more of theirs was stored."""
    left_out: dict[str, LeftOut] = Field(default_factory=dict)
    """Rows that are never imported, by kind."""
    users: int = 0
    """Users whose rows there were. Of the last run alone."""
    over_limit: int = 0
    """Users who have as many memories as one may have: more of theirs are bad rows. Of the last run alone."""

    @property
    def rows(self) -> int:
        """How many rows of the source are settled."""
        left_out = sum(each.rows for each in self.left_out.values())
        return self.new.total() + self.there.total() + self.bad.total() + self.erased + left_out

    @property
    def is_whole(self) -> bool:
        """Whether all rows that are to be imported are in."""
        return not self.bad and not self.erased

    def leave_out(self, kind: str, reason: str) -> None:
        """Count a row of a kind that is left out."""
        self.left_out.setdefault(kind, LeftOut(reason=reason)).rows += 1

    def told(self) -> Mapping[str, Any]:
        """Return it as JSON."""
        return {**self.model_dump(mode="json"), "rows": self.rows}
