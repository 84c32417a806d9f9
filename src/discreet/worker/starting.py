"""Have a user's turns worked on because somebody asks for it, whatever the triggers say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from discreet.state.background import RequestKind
from discreet.state.memory_settings import MemorySettings
from discreet.storage.background.background import Background


async def start(
    background: Background,
    user_key: UUID,
    live: MemorySettings,
    *,
    after: datetime | None = None,
    again: bool = False,
) -> int:
    """Take a user's turns that were not taken, those from `after` on if given; return how many prompts that makes.

    With `again` those are taken too that were worked on before. A worker hands them in.

    Raises:
        StorageError: The database failed. What was taken before stays so.
    """
    kinds: Sequence[RequestKind] = ("extraction", "summary") if live.memory_session_summaries else ("extraction",)
    made = 0
    for thread_key in await background.sessions.threads_of(user_key, after=after):
        made += len(
            await background.sessions.take(user_key, thread_key, "manual", kinds=kinds, after=after, again=again)
        )
    return made
