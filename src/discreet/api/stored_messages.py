"""What a thread has, for whoever has to know before a run is made."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from discreet.access.user_keys import default_user_keys
from discreet.checkpoint import RedactingSaver
from discreet.errors import CheckpointError, StorageError
from discreet.graph.streams import messages_in
from discreet.shown_keys import shown_key
from discreet.storage.shared import process_storage


async def stored_messages(user_id: str, thread_id: str, key: str) -> Sequence[BaseMessage]:
    """Return the messages of a user's thread as they are stored, under `key` of its state.

    None where the thread is another user's, or the database can't be asked: the run that is made then tells.
    """
    keys = default_user_keys()
    mine = keys.of_user(user_id), keys.of_thread(thread_id)
    try:
        if not process_storage.is_open or await process_storage.threads.owner(thread_id) not in {
            *mine,
            *map(shown_key, mine),
        }:
            return ()
        saver = RedactingSaver.from_pool(process_storage.current.pool, restore=False)
        found = await saver.aget_tuple({"configurable": {"thread_id": thread_id}})
    except (StorageError, CheckpointError):
        return ()
    return messages_in(found.checkpoint["channel_values"], key) if found is not None else ()
