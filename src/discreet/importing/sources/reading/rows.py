"""Make a row of a source, or say why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from discreet.errors import InvalidRecordError
from discreet.importing.source import BadRow, SourceRow, StoreItem
from discreet.state.records import MemoryRecord, TurnRecord

MakeRow = Callable[[], tuple[str | None, MemoryRecord | TurnRecord | StoreItem]]
"""Returns whose the record is, and the record."""


class UnreadableRowError(ValueError):
    """A row can't be read. Its message has no text of the row."""


def made_row(mark: str, raw: bytes | None, make: MakeRow) -> SourceRow | BadRow:
    """Return the row that `make` makes, or the bad row that says why it could not."""
    try:
        user_id, record = make()
    except (UnreadableRowError, InvalidRecordError) as error:
        return BadRow(mark=mark, reason=str(error), raw=raw)
    return SourceRow(mark=mark, user_id=user_id, record=record)


def raw_of(value: Any) -> bytes:
    """Return JSON that was read before as bytes again; what is no UTF-8 is escaped."""
    return json.dumps(value, default=str).encode()
