"""Erase threads, or turns of them, from the checkpoints and from the turn vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

from discreet.checkpoint.postgres.erasing import ThreadEraser
from discreet.nodes.requests import request_id_of
from discreet.redaction.thread_values import vault_key
from discreet.rights.erasure.passes import Counting
from discreet.storage import Storage
from discreet.storage.database.statements import fetch

OPEN_TURNS: Final = 5
"""Of a thread, the newest: the turn vault has what those said that are not over."""

LOG_SKEW: Final = timedelta(seconds=5)
"""How much earlier than the log says a turn may have stored its first message."""

_SESSIONS: LiteralString = (
    "SELECT thread_id FROM discreet.session_record WHERE user_key = %(user_key)s ORDER BY thread_id"
)

Messages = Sequence[Mapping[str, Any]]
"""Where a thread's messages are, of which kind and when."""


class Threads:
    """The threads of users, in this storage and in the checkpointer over its database."""

    def __init__(self, storage: Storage, *, schema: str | None) -> None:
        """Look for the checkpointer's tables in `schema`, or where they are in sight."""
        self._pool = storage.pool
        self._vault = storage.vault
        self._keys = storage.background.keys
        self._checkpoints = ThreadEraser(storage.works_pool, schema=schema)

    async def whole(self, doing: Counting) -> None:
        """Erase all threads of the user."""
        user_key = doing.job.user_key
        if await self._checkpoints.are_there():
            if not doing.is_dry:
                await self._checkpoints.mark(user_key)
            async for thread_id in self._checkpoints.threads(user_key):
                await self._whole(doing, thread_id, await self._checkpoints.messages(thread_id))
        for row in await fetch(self._pool, _SESSIONS, {"user_key": user_key}):  # those of other checkpointers
            await self._forget_values(doing, row["thread_id"], [])

    async def parts(self, doing: Counting) -> list[str]:
        """Erase the turns that are to go, and the thread if one is; return the threads that they are of."""
        plan, user_key = doing.job.plan, doing.job.user_key
        touched = plan.threads
        if not await self._checkpoints.are_there():
            return touched
        for thread_id in plan.threads:
            if await self._checkpoints.belongs(thread_id, user_key):
                messages = await self._checkpoints.messages(thread_id)
                if thread_id == plan.scope.thread_id:
                    await self._whole(doing, thread_id, messages)
                else:
                    await self._part(
                        doing, thread_id, messages, min(turn.began_at for turn in plan.turns_of(thread_id))
                    )
        if (since := plan.scope.since) is not None:  # turns that are in no log: paused ones, and those that failed
            async for thread_id in self._checkpoints.threads(user_key):
                messages = [] if thread_id in plan.threads else await self._checkpoints.messages(thread_id)
                if any(row["created_at"] >= since for row in messages):
                    await self._part(doing, thread_id, messages, since)
                    touched.append(thread_id)
        return touched

    async def _whole(self, doing: Counting, thread_id: str, messages: Messages) -> None:
        await self._forget_values(doing, thread_id, [row["message_id"] for row in _said(messages)])
        gone = await (self._checkpoints.count(thread_id) if doing.is_dry else self._checkpoints.erase(thread_id))
        await doing.note("checkpoints", gone)

    async def _part(self, doing: Counting, thread_id: str, messages: Messages, first: datetime) -> None:
        """Take turns out of a thread, none of which began before `first`."""
        plan = doing.job.plan
        since = plan.scope.since
        turns = {turn.request_id: turn for turn in plan.turns_of(thread_id)}

        def request_of(message: Mapping[str, Any]) -> str:
            return request_id_of(plan.user_id, thread_id, message["message_id"])

        unknown = [turns[each] for each in turns.keys() - map(request_of, _said(messages))]
        """Of messages that have no id of their own."""

        def is_gone(message: Mapping[str, Any]) -> bool:
            said_at = message["created_at"]
            return (
                request_of(message) in turns
                or any(turn.began_at - LOG_SKEW <= said_at <= turn.ended_at for turn in unknown)
                or (since is not None and said_at >= since)
            )

        said = [message["message_id"] for message in _said(messages) if is_gone(message)]
        await self._forget_values(doing, thread_id, said)
        if doing.is_dry:
            await doing.note("checkpoints", {"turns": len(said)})
            return
        await doing.note("checkpoints", await self._checkpoints.erase_turns(thread_id, is_gone, first))

    async def _forget_values(self, doing: Counting, thread_id: str, said: Sequence[str | None]) -> None:
        """Forget what the turn vault has of a thread, and of those of its turns that may not be over."""
        names = [vault_key(thread_id), *(vault_key(thread_id, message_id) for message_id in said[-OPEN_TURNS:])]
        doing.job.threads.add(self._keys.of_thread(thread_id))
        doing.job.turns.update(names)
        for name in () if doing.is_dry else names:
            await self._vault.adrop(name)


def _said(messages: Messages) -> Messages:
    """Return the user's messages."""
    return [message for message in messages if message["kind"] == "human"]
