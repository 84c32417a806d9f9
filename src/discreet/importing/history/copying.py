"""Copy what V1's history has into our log: all of it at first, then what is new, without reading a list twice."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from discreet.errors import ImportSourceError, StorageError, UserBusyError, UserErasedError
from discreet.importing.history.listing import Listed, listed
from discreet.importing.history.rounds import Numbering, numbered, rid_of
from discreet.importing.history.v1 import V1History
from discreet.importing.history.writing import RoundWriter
from discreet.importing.source import BadRow
from discreet.ports import TextRedactor
from discreet.redaction.configured import default_redactor
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

    def __init__(
        self,
        history: V1History,
        writer: RoundWriter,
        *,
        bad: Callable[[Sequence[BadRow]], None],
        redactor: TextRedactor | None = None,
    ) -> None:
        """Read `history`; `bad` gets what can't be read, each once. `redactor`: as the storage has it, if it was given one."""
        self._history = history
        self.writer = writer
        self._redactor = redactor or default_redactor()
        self._bad = bad
        self._seen: dict[str, int] = {}
        self._told_bad: set[int] = set()
        self.unreadable_keys: Counter[str] = Counter()
        """How many keys the last look found that can't be read, by the reason."""

    async def copy(self, *, shown: Callable[[int], AbstractContextManager[Told]] = unseen) -> Counter[str]:
        """Copy what is new since the last call; return how many rounds came to what: written, there, doubled, busy, erased, bad.

        `shown` is told how many there are to look at, and yields what hears how many are done.

        Raises:
            ImportSourceError: Redis failed, or the file of bad rows can't be written.
            StorageError: The database failed. What was copied stays.
        """
        histories = await self._history.histories()
        self.unreadable_keys = histories.unreadable
        await self._tell([each.row() for each in histories.bad])
        lengths = histories.lengths
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
        new = listed(user_id, await self._history.items(user_id, start), start=start)
        if start and await self.writer.there(user_id, [turn.request_id for turn in new.turns]):
            # Written by the application meanwhile, or with the rid of one before.
            new = await self._numbered(user_id, start)
        done: Counter[str] = Counter()
        try:
            done.update(await self._write(user_id, new.turns))
        except (UserErasedError, UserBusyError) as error:
            # They are being erased, and that goes on: what comes of these is seen when they are looked at next.
            logger.warning("history.user_left_for_later cause=%s", error.code)
            done["busy"] = len(new.turns)
            return done
        if new.doubled:
            done["doubled"] = new.doubled
        if new.bad:
            done["bad"] = len(new.bad)
            await self._tell(new.bad)
        self._seen[user_id] = start + len(new.turns) + new.doubled + len(new.bad)
        return done

    async def _write(self, user_id: str, turns: Sequence[TurnRecord]) -> Counter[str]:
        """Write turns by their ids; those with one rid by what was said, as the application may have written them in another order."""
        of_many = {rid_of(turn) for turn in turns if turn.request_id != rid_of(turn)}
        done: Counter[str] = Counter(
            await self.writer.write(user_id, [turn for turn in turns if rid_of(turn) not in of_many])
        )
        for turn in turns:
            if rid_of(turn) in of_many:
                done.update(await self.writer.add(user_id, numbered(turn, 1), self._redactor))
        return done

    async def _numbered(self, user_id: str, start: int) -> Listed:
        """Return what is new of a list, as its whole tells it apart."""
        items = await self._history.items(user_id)
        numbering = Numbering()
        listed(user_id, items[:start], numbering=numbering)
        return listed(user_id, items[start:], start=start, numbering=numbering)

    async def _tell(self, bad: Sequence[BadRow]) -> None:
        new = {key: row for row in bad if (key := hash((row.key, row.mark, row.raw))) not in self._told_bad}
        if new:
            await asyncio.to_thread(self._bad, [*new.values()])
            self._told_bad.update(new)
