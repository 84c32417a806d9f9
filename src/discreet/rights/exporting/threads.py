"""Kinds that the checkpointer has: messages of a user's threads, and where the threads stand."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.checkpoint.postgres.owned import OwnedThreads
from discreet.rights.exporting.format import ExportRecord, MessageRow, ThreadRow
from discreet.rights.exporting.source import Key, Opened, Reading, unreadable

THREADS_A_PAGE = 20
"""Values of channels may be large, and each thread is a statement."""


class Threads:
    """Where each thread stands. Key: the thread."""

    kind = "threads"
    key_types: Sequence[type] = (str,)

    async def page(self, reading: Reading, after: Key | None, limit: int) -> Opened:
        """Return what some threads stand at."""
        owned = _owned(reading)
        if not await owned.are_there():
            return [], None
        count = min(limit, THREADS_A_PAGE)
        threads = await owned.threads(reading.user_key, after=None if after is None else str(after[0]), limit=count)
        records: list[ExportRecord] = []
        for thread_id in threads:
            for head in await owned.heads(reading.user_key, thread_id):
                place = (thread_id, head.checkpoint_ns)
                records += [unreadable(self.kind, (*place, channel), "checkpoint") for channel in head.unreadable]
                records.append(
                    ThreadRow(
                        thread_id=thread_id,
                        checkpoint_ns=head.checkpoint_ns,
                        checkpoint_id=head.checkpoint_id,
                        created_at=head.created_at,
                        values=dict(head.values),
                        message_runs=[*head.runs],
                    )
                )
        return records, (threads[-1],) if len(threads) == count else None


class Messages:
    """The messages of all threads, those of branches and of what came before too. Key: the thread, and the place in it."""

    kind = "messages"
    key_types: Sequence[type] = (str, str, str, int)

    async def page(self, reading: Reading, after: Key | None, limit: int) -> Opened:
        """Return at most `limit` messages, of one thread after the other."""
        owned = _owned(reading)
        if not await owned.are_there():
            return [], None
        found: list[MessageRow] = []
        thread_id, place = None, None
        if after is not None:
            thread_id, place = str(after[0]), (str(after[1]), str(after[2]), int(after[3]))
            found += await _messages(owned, reading, thread_id, place, limit)
        while len(found) < limit:
            threads = await owned.threads(reading.user_key, after=thread_id, limit=THREADS_A_PAGE)
            if not threads:
                return found, None
            for thread_id in threads:
                found += await _messages(owned, reading, thread_id, None, limit - len(found))
                if len(found) == limit:
                    break
        last = found[-1]
        return found, (last.thread_id, last.checkpoint_ns, last.channel, last.position)


async def _messages(
    owned: OwnedThreads, reading: Reading, thread_id: str, after: tuple[str, str, int] | None, limit: int
) -> list[MessageRow]:
    return [MessageRow(**row) for row in await owned.messages(reading.user_key, thread_id, after=after, limit=limit)]


def _owned(reading: Reading) -> OwnedThreads:
    return OwnedThreads(reading.pool, schema=reading.checkpoint_schema)
