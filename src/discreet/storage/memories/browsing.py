"""Read a user's memories without a question: one by its id, or the newest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from discreet.state.records import MemoryFilters, PageMark
from discreet.storage.memories.rows import RECORD_COLUMNS
from discreet.storage.memories.search import Search, conditions_of

_READ: LiteralString = """
SELECT {columns}
FROM discreet.memory m
WHERE m.user_key = %(user_key)s
  {conditions}
"""

_OLDER: LiteralString = """
  AND (m.created_at, m.entry_id) < (
      SELECT o.created_at, o.entry_id FROM discreet.memory o
      WHERE o.user_key = %(user_key)s AND o.entry_id = %(older_than)s
  )
"""

_OLDER_THAN_MARK: LiteralString = "\n  AND (m.created_at, m.entry_id) < (%(older_at)s, %(older_than)s)"

_NEWEST: LiteralString = "ORDER BY m.created_at DESC, m.entry_id DESC LIMIT %(limit)s"


def build_get(user_key: UUID, entry_id: UUID) -> Search:
    """Return the query for one memory, whether it holds or not."""
    statement = _READ.format(columns=RECORD_COLUMNS, conditions="AND m.entry_id = %(entry_id)s")
    return Search(statement=statement, parameters={"user_key": user_key, "entry_id": entry_id})


def build_latest(
    user_key: UUID,
    *,
    limit: int,
    filters: MemoryFilters | None,
    older_than: UUID | PageMark | None,
    held: bool = True,
) -> Search:
    """Return the query for the newest memories, after the entry `older_than` if given; superseded ones without `held`."""
    conditions, values = conditions_of(filters, held=held)
    values |= {"user_key": user_key, "limit": limit}
    if isinstance(older_than, tuple):
        conditions += _OLDER_THAN_MARK
        values["older_at"], values["older_than"] = older_than
    elif older_than is not None:
        conditions += _OLDER
        values["older_than"] = older_than
    return Search(statement=_READ.format(columns=RECORD_COLUMNS, conditions=conditions) + _NEWEST, parameters=values)


def build_superseded(user_key: UUID, ends: Sequence[datetime]) -> Search:
    """Return the query for the memories that held until one of these moments."""
    statement = _READ.format(columns=RECORD_COLUMNS, conditions="AND m.valid_to = ANY (%(ends)s)")
    return Search(statement=statement, parameters={"user_key": user_key, "ends": list(ends)})


def build_begun(user_key: UUID, moment: datetime) -> Search:
    """Return the query for the memories that hold since a moment."""
    condition: LiteralString = "AND (m.created_at = %(moment)s OR m.valid_from = %(moment)s)"
    statement = _READ.format(columns=RECORD_COLUMNS, conditions=condition)
    return Search(statement=statement, parameters={"user_key": user_key, "moment": moment})
