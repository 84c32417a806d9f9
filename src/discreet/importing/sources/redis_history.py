"""Read V1's history in Redis as turns, once and in an order that stays. A migration that goes on while V1 runs is `migrate-history`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from operator import itemgetter

from discreet.errors import ImportSourceError, ShortTermError
from discreet.importing.history.keys import NO_LIST, BadKey, digest_of, history_key
from discreet.importing.history.rounds import SOURCE, THREAD, Numbering, parsed, turn_of
from discreet.importing.history.v1 import V1History, open_v1
from discreet.importing.source import BadRow, Source, SourceRow
from discreet.importing.sources.reading.rows import UnreadableRowError, raw_of
from discreet.importing.sources.reading.values import checked

PAGE = 200
"""Rounds in one round trip."""


@asynccontextmanager
async def open_redis_history(location: str, *, thread_id: str = THREAD) -> AsyncIterator[Source]:
    """Yield the turns in the Redis at `location`: redis://, rediss:// (TLS, verified) or unix://; no cluster.

    `thread_id` is the conversation that all of a user's turns are put in, as V1 knew one a user.

    Raises:
        MissingDependencyError: redis-py is not installed.
        ImportSourceError: The URL can't be used.
    """
    async with open_v1(location) as history:
        yield _Histories(history, thread_id)


class _Histories:
    name = SOURCE

    def __init__(self, history: V1History, thread_id: str) -> None:
        self._history = history
        self._thread_id = thread_id

    async def count(self) -> int | None:
        """As of `Source`: the length of every list would be a look at every user, and the lists grow."""
        return None

    async def rows(self, *, after: str | None = None) -> AsyncIterator[SourceRow | BadRow]:
        """As of `Source`. Users come in the order of a digest, as SCAN has none that stays; all ids are in memory."""
        found = sorted([(_digest(each), each) async for each in self._history.users()], key=itemgetter(0))
        since, _, last = (after or "").partition(":")
        for digest, user_id in found:
            if digest < since:
                continue
            number = int(last) if digest == since and last.isdigit() else 0
            if isinstance(user_id, BadKey):
                if not number:
                    yield replace(user_id.row(), mark=_mark(digest, 1))
                continue
            with _source_errors():
                kind = await self._history.client.command("TYPE", history_key(user_id))
            if kind != b"list":
                if kind != b"none" and not number:  # b"none": it expired meanwhile
                    yield replace(BadKey(history_key(user_id).encode(), NO_LIST).row(), mark=_mark(digest, 1))
                continue
            async for row in self._list(digest, user_id, number):
                yield row

    async def _list(self, digest: str, user_id: str, after: int) -> AsyncIterator[SourceRow | BadRow]:
        """Yield a list's rows behind the first `after`, which are read all the same: rounds with one rid are told apart by them."""
        number = 0
        numbering = Numbering()
        while True:
            with _source_errors():
                page = await self._history.client.command("LRANGE", history_key(user_id), number, number + PAGE - 1)
            for stored in page:
                number += 1
                row = self._row(_mark(digest, number), user_id, stored, numbering)
                if number > after:
                    yield row
            if len(page) < PAGE:
                break

    def _row(self, mark: str, user_id: str, stored: bytes, numbering: Numbering) -> SourceRow | BadRow:
        key = history_key(user_id).encode()
        said = parsed(mark, stored)
        if isinstance(said, BadRow):
            return replace(said, key=key)
        try:
            turn = turn_of(user_id, checked(said, "round"), mark=mark)
        except UnreadableRowError as error:
            return BadRow(mark=mark, reason=str(error), raw=raw_of(said), key=key)
        if isinstance(turn, BadRow):
            return replace(turn, key=key)
        turn, _ = numbering.of(turn)  # one that V1 has twice is stored once, as it has one id
        return SourceRow(mark=mark, user_id=user_id, record=turn.model_copy(update={"thread_id": self._thread_id}))


def _digest(found: str | BadKey) -> str:
    return found.digest if isinstance(found, BadKey) else digest_of(found.encode())


def _mark(digest: str, number: int) -> str:
    return f"{digest}:{number:012}"


@contextmanager
def _source_errors() -> Iterator[None]:
    """Raise `ImportSourceError` for what Redis refuses."""
    try:
        yield
    except ShortTermError as error:
        raise ImportSourceError(f"The history in Redis can't be read. {error}") from None
