"""Put threads into the checkpointer's tables: the newest state of each, redacted by the saver itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint

from discreet.checkpoint import REDACT, CheckpointPolicy, RedactingSaver
from discreet.checkpoint.messages import made
from discreet.checkpoint.policy import node_path
from discreet.errors import StorageError
from discreet.importing.source import ThreadState
from discreet.ports import TextRedactor
from discreet.rights.exporting.format import MessageRow
from discreet.storage.wiring import Storage

_FORMAT: Final = 4
"""Of checkpoints, as LangGraph writes them since 1.0: what a step sends is a channel."""


class ThreadWriter:
    """Writes to the checkpointer's tables in the database of a storage, which are made if need be."""

    def __init__(self, storage: Storage, *, redactor: TextRedactor) -> None:
        """Use `storage`, whose owner closes it."""
        self._storage = storage
        self._redactor = redactor
        self._is_set_up = False

    async def put(self, user_id: str, states: Sequence[ThreadState], *, dry_run: bool) -> list[bool]:
        """Store threads that are not there; return of each whether it was there. A `dry_run` only looks.

        Raises:
            UserErasedError: The user was erased since the work began; nothing more was stored.
            StorageError: The database failed. What was stored stays.
        """
        if not self._is_set_up and not dry_run:
            await RedactingSaver.from_pool(self._storage.pool).setup()
            self._is_set_up = True
        return [await self._put(user_id, state, dry_run=dry_run) for state in states]

    async def _put(self, user_id: str, state: ThreadState, *, dry_run: bool) -> bool:
        saver = RedactingSaver.from_pool(self._storage.pool, self._policy(state), restore=False)
        place: RunnableConfig = {
            "configurable": {
                "thread_id": state.thread_id,
                "checkpoint_ns": state.checkpoint_ns,
                "user_id": user_id,
            }
        }
        if await self._is_there(saver, place):
            return True
        if dry_run:
            return False
        version = saver.get_next_version(None, None)
        values = {**state.values, **{channel: [*map(_message, rows)] for channel, rows in state.messages.items()}}
        checkpoint = Checkpoint(
            v=_FORMAT,
            id=state.checkpoint_id,
            ts=state.created_at,
            channel_values=values,
            channel_versions=dict.fromkeys(values, version),
            versions_seen={},
            updated_channels=None,
        )
        await saver.aput(
            place, checkpoint, {"source": "update", "step": 0, "parents": {}}, checkpoint["channel_versions"]
        )
        return False

    async def _is_there(self, saver: RedactingSaver, place: RunnableConfig) -> bool:
        try:
            return await saver.aget_tuple(place) is not None
        except StorageError:
            if self._is_set_up:
                raise
            return False  # of a dry run, before there are tables

    def _policy(self, state: ThreadState) -> CheckpointPolicy:
        """Return a policy that stores what the export has, which was stored under one."""
        return CheckpointPolicy(
            messages=tuple(state.messages) or ("messages",),
            channels={channel: REDACT for channel in state.values if channel not in state.messages},
            tools=dict.fromkeys(_tools(state), REDACT),
            subgraphs=() if state.checkpoint_ns == "" else (node_path(state.checkpoint_ns),),
            redactor=self._redactor,
        )


def _message(row: MessageRow) -> BaseMessage:
    form = row.type if row.tool is None else f"{row.type}:{json.dumps(row.tool)}"
    return made(form, row.message_id, row.content)


def _tools(state: ThreadState) -> set[str]:
    """Return the names of the tools whose calls and results a thread has."""
    told = [row.tool for rows in state.messages.values() for row in rows if row.tool is not None]
    return {str(each["name"]) for tool in told for each in ([tool] if isinstance(tool, dict) else tool)}
