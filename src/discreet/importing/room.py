"""Know which memories a user has room for, so that nothing goes for what is imported."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from discreet.state.records import MemoryRecord
from discreet.storage.memories.eviction import KEPT, LEAST_ROOM, UNCOUNTED

_COUNTED: LiteralString = """
SELECT
    count(*) FILTER (WHERE type = ANY (%(kept)s::discreet.memory_type[])) AS kept,
    count(*) FILTER (WHERE type <> ALL (%(kept)s::discreet.memory_type[])) AS others
FROM discreet.memory
WHERE user_key = %(user_key)s AND type <> ALL (%(uncounted)s::discreet.memory_type[])
"""


@dataclass(kw_only=True)
class Room:
    """What a user has, by the rules of the limit (`eviction`), and may get."""

    limit: int
    kept: int
    others: int

    def takes(self, record: Any) -> bool:
        """Return whether a new record can be stored and nothing goes for it; it is counted then."""
        if not isinstance(record, MemoryRecord) or record.type in UNCOUNTED:
            return True
        kept, others = (self.kept + 1, self.others) if record.type in KEPT else (self.kept, self.others + 1)
        if others > max(self.limit - kept, math.ceil(self.limit * LEAST_ROOM)):
            return False
        self.kept, self.others = kept, others
        return True


async def room_of(cursor: Any, user_key: UUID, *, limit: int) -> Room:
    """Return what room a user has; for good only where the user is locked."""
    asked = {"user_key": user_key, "kept": list(KEPT), "uncounted": list(UNCOUNTED)}
    [counted] = await (await cursor.execute(_COUNTED, asked)).fetchall()
    return Room(limit=limit, kept=counted["kept"], others=counted["others"])
