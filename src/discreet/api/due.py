"""How many sessions are due for background work, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from discreet.state.background import Trigger
from discreet.state.memory_settings import MemorySettings
from discreet.storage.background import Background
from discreet.storage.background.sessions import Mark
from discreet.worker.triggers import due

PAGE = 500
"""Sessions read at a time, as a worker does."""
MOST = 10_000
"""Sessions that are looked at: what waits beyond them changes nothing about what is to be done."""


@dataclass(frozen=True, kw_only=True)
class DueCounts:
    """How much waits."""

    sessions: int
    """That have turns of which nothing was made yet; with `more`, of those looked at."""
    by_trigger: dict[Trigger, int]
    """Those of them that a worker takes now, by the reason."""
    more: bool
    """Whether there are more than `MOST`, which were not looked at."""


async def due_counts(background: Background, settings: MemorySettings) -> DueCounts:
    """Return how many sessions wait, and for how many of them a trigger has fired.

    Raises:
        StorageError: The database failed.
    """
    counts: Counter[Trigger] = Counter()
    sessions = 0
    after: Mark | None = None
    while sessions < MOST:
        page = await background.sessions.pending(limit=PAGE, after=after)
        counts.update(
            trigger for each in page if (trigger := due(each, settings.triggers_of(each.app_name))) is not None
        )
        sessions += len(page)
        if len(page) < PAGE:
            return DueCounts(sessions=sessions, by_trigger=dict(counts), more=False)
        after = (page[-1].pending_since, page[-1].user_key, page[-1].thread_key)
    return DueCounts(sessions=sessions, by_trigger=dict(counts), more=True)
