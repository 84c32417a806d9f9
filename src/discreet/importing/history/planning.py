"""Look at V1's history and at what our log has of it, and change nothing."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from statistics import median
from typing import Final

from pydantic import BaseModel, ConfigDict

from discreet.importing.history.listing import listed
from discreet.importing.history.v1 import PAGE, V1History
from discreet.importing.history.writing import RoundWriter
from discreet.state.described import describe_fields
from discreet.state.memory_settings import HistoryMigration

STEPS: Final = (
    ("plan", "look, and change nothing"),
    ("dual-write", "write both: the application by DualWriter, or `--follow`; copy what there is"),
    ("validate", "compare a sample"),
    ("switch", "read ours"),
    ("rollback", "read V1's again, if need be"),
    ("finish", "write no longer to V1's"),
)


class Plan(BaseModel):
    """What there is, in numbers."""

    model_config = ConfigDict(frozen=True, json_schema_extra=describe_fields)

    phase: HistoryMigration
    """How far the migration is."""
    users: int
    rounds: int
    """Items of all lists, those that can't be read too."""
    bytes: int
    """Of these items."""
    oldest: datetime | None
    newest: datetime | None
    seconds_left_least: float | None
    """Until the first history is gone from Redis, if nobody speaks; None: none ever is."""
    seconds_left_median: float | None
    kept_forever: int
    """Histories without a time to live."""
    there: int
    """Rounds that our log has already."""
    erased: int
    """Rounds of users who had theirs erased afterwards: they are not copied."""
    doubled: int
    """Items that V1 has twice, which are copied once."""
    unreadable_keys: dict[str, int]
    """Keys whose rounds can't be copied, by the reason: none of their users and rounds is counted above."""
    unreadable: dict[str, int]
    """Items that can't be copied, by the reason."""


async def plan(history: V1History, writer: RoundWriter) -> Plan:
    """Look through all of V1's history.

    Raises:
        ImportSourceError: Redis failed.
        StorageError: The database failed.
    """
    histories = await history.histories()
    user_ids = [*histories.lengths]
    left = [each / 1000 for each in await history.milliseconds_left(user_ids) if each >= 0]
    unreadable: Counter[str] = Counter()
    rounds = size = there = erased = doubled = 0
    oldest: datetime | None = None
    newest: datetime | None = None
    for user_id in user_ids:
        items = await history.items(user_id)
        rounds += len(items)
        size += sum(map(len, items))
        found = listed(user_id, items)
        turns = found.turns
        unreadable.update(row.reason for row in found.bad)
        doubled += found.doubled
        until = await writer.erased_until(user_id)
        kept = [turn for turn in turns if until is None or turn.started_at > until]
        erased += len(turns) - len(kept)
        for first in range(0, len(kept), PAGE):
            there += len(await writer.there(user_id, [turn.request_id for turn in kept[first : first + PAGE]]))
        times = [turn.started_at for turn in turns]
        oldest = min([*times, *([oldest] if oldest else [])], default=None)
        newest = max([*times, *([newest] if newest else [])], default=None)
    return Plan(
        phase=(await writer.storage.memory_settings.read()).history_migration,
        users=len(user_ids),
        rounds=rounds,
        bytes=size,
        oldest=oldest,
        newest=newest,
        seconds_left_least=min(left, default=None),
        seconds_left_median=median(left) if left else None,
        kept_forever=len(user_ids) - len(left),
        there=there,
        erased=erased,
        doubled=doubled,
        unreadable_keys=dict(histories.unreadable),
        unreadable=dict(unreadable),
    )
