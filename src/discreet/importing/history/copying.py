"""Copy what V1's history has into our log: all of it at first, then what is new, without reading a list twice."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from discreet.errors import ImportSourceError, StorageError
from discreet.importing.history.rounds import parsed, turn_of
from discreet.importing.history.v1 import V1History, mark_of
from discreet.importing.history.writing import RoundWriter
from discreet.importing.source import BadRow
from discreet.state.records import TurnRecord

logger = logging.getLogger(__name__)

SIDE_BY_SIDE: Final = 4
"""Users whose rounds are written at a time: fewer than a process has connections."""
POLL_SECONDS: Final = 2.0
"""From the end of one look at Redis to the next; at least `REST` times as long as the look took."""
REST: Final = 4.0
REREAD_SECONDS: Final = 300.0
"""After so long all lists are read anew: one that expired and grew again, or is trimmed, may be as long as it was before. V1's
are kept for five minutes after their last round, at least."""


Told = Callable[[int], None]


@contextmanager
def unseen(_total: int) -> Iterator[Told]:
    """Show nobody how far it is."""
    yield lambda _done: None


class Copier:
    """Copies rounds. What is there already is left alone, so it may be stopped, killed and begun anew at any moment."""

    def __init__(self, history: V1History, writer: RoundWriter, *, bad: Callable[[Sequence[BadRow]], None]) -> None:
        """Read `history`; `bad` gets items that can't be read, each once."""
        self._history = history
        self._writer = writer
        self._bad = bad
        self._seen: dict[str, int] = {}
        self._told_bad: set[int] = set()

    async def copy(self, *, shown: Callable[[int], AbstractContextManager[Told]] = unseen) -> Counter[str]:
        """Copy what is new since the last call; return how many rounds came to what: written, there, erased, bad.

        `shown` is told how many there are to look at, and yields what hears how many are done.

        Raises:
            ImportSourceError: Redis failed, or the file of bad rows can't be written.
            StorageError: The database failed. What was copied stays.
        """
        lengths = await self._history.histories()
        for gone in self._seen.keys() - lengths.keys():
            del self._seen[gone]
        starts = {user_id: self._start(user_id, length) for user_id, length in lengths.items()}
        new = [user_id for user_id, length in lengths.items() if starts[user_id] < length]
        done: Counter[str] = Counter()
        line = asyncio.Semaphore(SIDE_BY_SIDE)

        async def copy_one(user_id: str, told: Told) -> None:
            async with line:
                done.update(await self._copy_user(user_id, starts[user_id]))
                told(done.total())

        with shown(sum(lengths[user_id] - starts[user_id] for user_id in new)) as told:
            try:
                async with asyncio.TaskGroup() as group:
                    for user_id in new:
                        group.create_task(copy_one(user_id, told))
            except BaseExceptionGroup as failed:  # the first is what ended the others
                raise failed.exceptions[0] from None
        return done

    async def follow(self, stopping: asyncio.Event, *, told: Callable[[Counter[str]], None] | None = None) -> None:
        """Go on copying what is new until `stopping` is set. A failure is logged, and passes."""
        reread = time.monotonic() + REREAD_SECONDS
        while not stopping.is_set():
            began = time.monotonic()
            if began >= reread:
                self._seen.clear()
                reread = began + REREAD_SECONDS
            try:
                done = await self.copy()
            except (ImportSourceError, StorageError) as error:
                logger.warning("history.follow_failed cause=%s", error.code)
            else:
                if told is not None and (done["written"] or done["erased"] or done["bad"]):
                    told(done)
            rest = max(POLL_SECONDS, REST * (time.monotonic() - began))
            try:
                await asyncio.wait_for(stopping.wait(), rest)
            except TimeoutError:
                continue

    def _start(self, user_id: str, length: int) -> int:
        """Return from which item on a list is new: from the first, if it is shorter than it was, since then it expired."""
        seen = self._seen.get(user_id, 0)
        return seen if seen <= length else 0

    async def _copy_user(self, user_id: str, start: int) -> Counter[str]:
        items = await self._history.items(user_id, start)
        turns: list[TurnRecord] = []
        bad: list[BadRow] = []
        for number, item in enumerate(items, start):
            said = parsed(mark_of(number), item)
            turn = said if isinstance(said, BadRow) else turn_of(user_id, said, mark=mark_of(number))
            if isinstance(turn, BadRow):
                bad.append(turn)
            else:
                turns.append(turn)
        done: Counter[str] = Counter(await self._writer.write(user_id, turns))
        if bad:
            done["bad"] = len(bad)
            new = [row for row in bad if self._is_new(user_id, row)]
            await asyncio.to_thread(self._bad, new)
        self._seen[user_id] = start + len(items)
        return done

    def _is_new(self, user_id: str, row: BadRow) -> bool:
        key = hash((user_id, row.raw))
        is_new = key not in self._told_bad
        self._told_bad.add(key)
        return is_new
