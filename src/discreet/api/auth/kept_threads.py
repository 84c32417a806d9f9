"""Threads that the server has no row of any more, and whose checkpoints are there: killed, it may lose the row, and not them.

Whoever then makes a thread of that id goes on from those checkpoints. So it has to be theirs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias
from uuid import UUID

from langgraph_sdk.auth import Auth

from discreet.access.caller import Caller
from discreet.access.user_keys import default_user_keys
from discreet.errors import StorageError
from discreet.shown_keys import shown_key
from discreet.storage.shared import process_storage

ThreadOwner: TypeAlias = Callable[[str], Awaitable[UUID | None]]
"""Whose checkpoints a thread has, by its id: the key of the user, or what stands for it, see `shown_key`; None if nobody's."""

RETRY_SECONDS = 5
"""When to ask again; a restart of PostgreSQL takes about as long."""


async def thread_owner(thread_id: str) -> UUID | None:
    """Ask the tables of this process's checkpointer. A server that holds no storage open has none."""
    return await process_storage.threads.owner(thread_id) if process_storage.is_open else None


async def is_anothers(thread_id: str, caller: Caller, owner_of: ThreadOwner) -> bool:
    """Tell whether a thread has checkpoints of somebody else.

    They are of the user for whom the thread began. Who may name users has begun some for others, and goes on with them.

    Raises:
        HTTPException: 503, the database can't be asked.
    """
    if caller.names_users:
        return False
    try:
        owner = await owner_of(thread_id)
    except StorageError as error:
        raise Auth.exceptions.HTTPException(503, str(error), {"Retry-After": str(RETRY_SECONDS)}) from None
    keys = default_user_keys()
    mine = keys.of_user(caller.identity), keys.of_thread(thread_id)
    return owner not in {None, *mine, *map(shown_key, mine)}
