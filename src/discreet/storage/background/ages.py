"""How long things wait that somebody is to work on, in seconds: for metrics. By indexes, however much there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString

from discreet.storage.background.status import ALIVE_SECONDS
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch

_WORK: LiteralString = """
SELECT
    (SELECT count(*) FROM discreet.batch_jobs WHERE done_at IS NULL AND lease_until > now()) AS leases,
    (SELECT count(*) FROM discreet.worker WHERE seen_at > now() - make_interval(secs => %(seconds)s)) AS workers,
    coalesce(extract(epoch FROM now() - (
        SELECT min(due_at) FROM discreet.batch_jobs
        WHERE done_at IS NULL AND due_at <= now() AND (lease_until IS NULL OR lease_until < now())
    )), 0)::float8 AS due_job,
    coalesce(extract(epoch FROM now() - (
        SELECT min(asked_at) FROM discreet.erasure WHERE done_at IS NULL
    )), 0)::float8 AS erasure
"""
_SESSION: LiteralString = """
SELECT coalesce(extract(epoch FROM now() - min(pending_since)), 0)::float8 AS pending_session
FROM discreet.session_record WHERE pending_since IS NOT NULL
"""
"""Apart: on a cluster these rows are spread, and those above are not."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """What waits, and who is at it. Ages are in seconds, 0 where nothing waits."""

    leases: int
    """Batches that a worker is at."""
    workers: int
    """That are alive."""
    due_job: float
    """Of the batch that is due longest and that nobody is at."""
    erasure: float
    """Of the oldest erasure that is not done."""
    pending_session: float
    """Of the oldest turns that nobody has extracted from, due or not."""


class Ages:
    """Reads them of all users: its role has to see them."""

    def __init__(self, pool: Pool) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool

    async def read(self) -> Waiting:
        """Return how long what waits.

        Raises:
            StorageError: The database failed.
        """
        [work] = await fetch(self._pool, _WORK, {"seconds": ALIVE_SECONDS})
        [session] = await fetch(self._pool, _SESSION)
        return Waiting(**work, **session)
