"""A part of an export that is as large as its reader takes, and no larger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from discreet.access.actor import acting
from discreet.rights.exporting.exporter import ACTION, Export, Mark, read_page

ROWS: Final = 20
"""Read at a time, until they don't fit; then one by one."""


@dataclass(frozen=True, kw_only=True)
class Portion:
    """Some records, in the order of an export."""

    records: Sequence[tuple[str, str]]
    """Kind and JSON of each."""
    omitted: Counter[str]
    """Records, by kind, that are larger than a portion: a stream or a folder has them."""
    after: Mark | None
    """Where the next portion begins; None: this was the last."""


async def read_portion(export: Export, *, max_chars: int) -> Portion:
    """Return as many records from the beginning of `export` on as have at most `max_chars` of JSON together.

    The audit trail tells of each portion before it is handed out.

    Raises:
        StorageError: The database failed, or the audit trail can't be written.
    """
    records: list[tuple[str, str]] = []
    omitted: Counter[str] = Counter()
    mark: Mark | None = export.begins
    room, rows = max_chars, ROWS
    while mark is not None:
        page = await read_page(export.reading, mark, rows)
        found = [(kind, data.decode()) for kind, data in page.encoded()]
        size = sum(len(data) for _, data in found)
        if size > max_chars and rows == 1:
            omitted.update(kind for kind, _ in found)
        elif size > room:
            if rows == 1:
                break
            rows = 1
            continue
        else:
            records += found
            room -= size
        mark = page.after
    with acting(export.actor):
        counts = Counter(kind for kind, _ in records)
        await export.audit.record(ACTION, user_key=export.user, data="all", success=True, counts=dict(counts))
    return Portion(records=records, omitted=omitted, after=mark)
