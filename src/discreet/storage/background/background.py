"""The parts of background memory over one storage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import UUID

from discreet.access.user_keys import UserKeys
from discreet.loop_bound import bound_to_loop
from discreet.ports import AuditLog, RollingSummaries, TextRedactor
from discreet.state.ids import check_user_id
from discreet.storage.background.jobs import BatchJobs
from discreet.storage.background.proposals import Proposals
from discreet.storage.background.requests import BatchRequests
from discreet.storage.background.results import BatchResults
from discreet.storage.background.sessions import SessionQueue
from discreet.storage.background.status import Watch
from discreet.storage.conversation.summaries import PostgresRollingSummaries
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.sealing import FieldSealer
from discreet.storage.database.users.owners import OneOwner
from discreet.storage.memories.memories import PostgresMemories


@dataclass(frozen=True, kw_only=True)
class Background:
    """What a worker, the commands and the pages about it work on."""

    sessions: SessionQueue
    requests: BatchRequests
    jobs: BatchJobs
    results: BatchResults
    proposals: Proposals
    watch: Watch
    keys: UserKeys
    rolling_of: Callable[[UUID], RollingSummaries]
    """Returns the rolling summaries of a user, by their user_key."""

    @classmethod
    def over(
        cls,
        pool: Pool,
        *,
        memories: PostgresMemories,
        redactor: TextRedactor,
        sealer: FieldSealer,
        keys: UserKeys,
        audit: AuditLog,
    ) -> Background:
        """Put the parts together."""
        jobs = BatchJobs(pool)
        return cls(
            sessions=SessionQueue(pool, sealer=sealer),
            requests=BatchRequests(pool, jobs=jobs, sealer=sealer, memories=memories),
            jobs=jobs,
            results=BatchResults(memories=memories, redactor=redactor, sealer=sealer),
            proposals=Proposals(pool, memories=memories, keys=keys, sealer=sealer, audit=audit),
            watch=Watch(pool),
            keys=keys,
            rolling_of=lambda user_key: PostgresRollingSummaries(
                pool, redactor=redactor, sealer=sealer, owners=OneOwner(user_key)
            ),
        )

    def bound_to(self, loop: asyncio.AbstractEventLoop) -> Background:
        """Return the same, to be awaited from any event loop."""
        parts = {
            name: bound_to_loop(getattr(self, name), loop)
            for name in ("sessions", "requests", "jobs", "results", "proposals", "watch")
        }
        return replace(self, rolling_of=lambda user_key: bound_to_loop(self.rolling_of(user_key), loop), **parts)

    def key_of(self, user_id: str) -> UUID:
        """Return what the database knows a user by.

        Raises:
            InvalidUserError: `user_id` can't be used.
        """
        return self.keys.of_user(check_user_id(user_id))
