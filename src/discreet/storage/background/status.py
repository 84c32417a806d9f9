"""What background memory has to do, and who does it: numbers for people and metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.statements import fetch, run

ALIVE_SECONDS = 60.0
"""A worker that was not seen for so long is gone: it tells every ten."""

_JOBS: LiteralString = """
SELECT state, count(*) AS number FROM discreet.batch_jobs GROUP BY state
"""
_REQUESTS: LiteralString = """
SELECT state, count(*) AS number, min(created_at) FILTER (WHERE state IN ('pending', 'submitted')) AS oldest
FROM discreet.batch_requests GROUP BY state
"""
_FAILING: LiteralString = """
SELECT provider || ': ' || error AS what, count(*) AS number FROM discreet.batch_jobs
WHERE done_at IS NULL AND error IS NOT NULL GROUP BY 1
"""
_PROPOSALS: LiteralString = "SELECT count(*) AS number FROM discreet.memory_proposal"
_WORKERS: LiteralString = """
SELECT count(*) AS number FROM discreet.worker WHERE seen_at > now() - make_interval(secs => %(seconds)s)
"""

_SEEN: LiteralString = """
INSERT INTO discreet.worker (worker_key, started_at, seen_at) VALUES (%(worker_key)s, now(), now())
ON CONFLICT (worker_key) DO UPDATE SET seen_at = now()
"""
_GONE: LiteralString = (
    "DELETE FROM discreet.worker WHERE worker_key = %(worker_key)s OR seen_at < now() - interval '1 hour'"
)


@dataclass(frozen=True, kw_only=True)
class BackgroundStatus:
    """How much there is of what."""

    jobs: dict[str, int] = field(default_factory=dict)
    """Batches by state."""
    requests: dict[str, int] = field(default_factory=dict)
    """Prompts by state."""
    oldest_request: datetime | None = None
    """When the oldest prompt that has no result yet was made."""
    proposals: int = 0
    """Memories that wait for somebody's yes."""
    workers: int = 0
    """That are alive."""
    failing: dict[str, int] = field(default_factory=dict)
    """Batches that go on and whose provider failed last, by provider and code of the error."""


class Watch:
    """Counts, and notes who is alive.

    Raises, from every method:
        StorageError: The database failed.
    """

    def __init__(self, pool: Pool) -> None:
        """Use `pool`, whose owner closes it."""
        self._pool = pool

    async def status(self) -> BackgroundStatus:
        """Return the numbers."""
        jobs = await self.jobs()
        requests = await fetch(self._pool, _REQUESTS, {})
        [proposals], [workers] = (
            await fetch(self._pool, _PROPOSALS, {}),
            await fetch(self._pool, _WORKERS, {"seconds": ALIVE_SECONDS}),
        )
        return BackgroundStatus(
            jobs=jobs,
            requests={row["state"]: row["number"] for row in requests},
            oldest_request=min((row["oldest"] for row in requests if row["oldest"] is not None), default=None),
            proposals=proposals["number"],
            workers=workers["number"],
            failing={row["what"]: row["number"] for row in await fetch(self._pool, _FAILING, {})},
        )

    async def jobs(self) -> dict[str, int]:
        """Return how many batches there are, by state. Of prompts there are far more, and `status` counts them."""
        return {row["state"]: row["number"] for row in await fetch(self._pool, _JOBS, {})}

    async def seen(self, worker_key: UUID) -> None:
        """Note that a worker is alive."""
        await run(self._pool, _SEEN, {"worker_key": worker_key})

    async def gone(self, worker_key: UUID) -> None:
        """Note that a worker has ended."""
        await run(self._pool, _GONE, {"worker_key": worker_key})
