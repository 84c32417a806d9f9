"""Let one writer of a user in at a time, while nobody waits with a connection in hand."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from discreet.errors import UserBusyError
from discreet.storage.database.connecting.connection import StorageConnection
from discreet.storage.database.connecting.pool import Pool
from discreet.storage.database.users.epochs import began_under
from discreet.storage.database.users.users import Ahead, Counted, Cursor, lock_known_user, lock_user, make_user
from discreet.storage.database.users.waiting import WAIT_SECONDS, attempts

MAX_WAITING = 100
"""Writers of one user that may wait in this process; one more is refused at once."""

LINE_SECONDS = 30.0
"""How long a writer waits for those before it. With a hundred of them, each save may take 0.3 s."""


@dataclass(frozen=True)
class Locked:
    """Users whom nobody else writes for until the transaction ends."""

    cursor: Cursor
    """In that transaction, binary."""
    memories: Mapping[UUID, Counted]
    """How many rows each of them has, by user_key, when the transaction begins."""


class UserLocks:
    """Locks users for those who save and delete.

    Within a process writers of a user wait in line, first come, first served, before they take a connection. Those of other
    processes are noticed by the lock of a row, and looked for again on a connection taken anew.
    """

    def __init__(self, pool: Pool) -> None:
        """Use `pool`, on the running event loop."""
        self._pool = pool
        self._lines: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._present: Counter[UUID] = Counter()

    @asynccontextmanager
    async def locked(
        self,
        user_keys: Iterable[UUID],
        *,
        epoch: int | Mapping[UUID, int] | None = None,
        adds: bool = True,
        wait_seconds: float = WAIT_SECONDS,
        ahead: Ahead | None = None,
    ) -> AsyncIterator[Locked]:
        """Yield a transaction that has these users locked.

        `epoch`: under which the work began, for all of them or by user; else that of the turn which this is done in, if it is.
        Users who are new are made, unless the work `adds` nothing: of somebody who was erased that would leave a row.
        `ahead` executes what the work reads first, of one user: then the transaction is a pipeline, in which COPY and `rowcount`
        can't be used, and these statements go out with the lock.

        Raises:
            UserBusyError: `MAX_WAITING` wait for one of them already, those before took `LINE_SECONDS`, or another process
                kept one for `wait_seconds`.
            UserErasedError: One was erased after the work of `epoch` began.
        """
        in_order = sorted(set(user_keys))  # so that two batches never wait for each other
        given = epoch if isinstance(epoch, Mapping) else dict.fromkeys(in_order, epoch)
        epochs = {user_key: await began_under(self._pool, user_key, given.get(user_key)) for user_key in in_order}
        async with AsyncExitStack() as held:
            for user_key in in_order:
                await held.enter_async_context(self._line(user_key))
            async for _ in attempts(wait_seconds):
                if (locked := await self._try(held, epochs, adds=adds, ahead=ahead)) is not None:
                    break
            else:
                raise UserBusyError(max(self._present[user_key] for user_key in in_order) - 1)
            yield locked

    @asynccontextmanager
    async def _line(self, user_key: UUID) -> AsyncIterator[None]:
        """Wait in line for a user, and be the only one of this process."""
        if self._present[user_key] > MAX_WAITING:
            raise UserBusyError(MAX_WAITING)
        self._present[user_key] += 1
        line = self._lines[user_key]
        try:
            try:
                async with asyncio.timeout(LINE_SECONDS):
                    await line.acquire()
            except TimeoutError:
                raise UserBusyError(self._present[user_key] - 1) from None
            try:
                yield
            finally:
                line.release()
        finally:
            self._present[user_key] -= 1
            if not self._present[user_key]:
                del self._present[user_key], self._lines[user_key]

    async def _try(
        self, held: AsyncExitStack, epochs: Mapping[UUID, int | None], *, adds: bool, ahead: Ahead | None
    ) -> Locked | None:
        """Lock all of `epochs` in their order, in a transaction that `held` ends, those who are new once they are made.

        None, and no connection kept, if that can't be now.
        """
        lock = partial(lock_user, ahead=ahead) if adds else lock_known_user
        async with AsyncExitStack() as opened:
            conn = await opened.enter_async_context(self._pool.connection())
            cursor = await opened.enter_async_context(conn.cursor(binary=True))
            for may_be_new in (True, False) if adds else (False,):
                memories: dict[UUID, Counted] = {}
                async with AsyncExitStack() as begun:
                    if ahead is not None and isinstance(conn, StorageConnection):
                        await begun.enter_async_context(conn.pipelined())
                    else:
                        await begun.enter_async_context(conn.transaction())
                    for user_key, epoch in epochs.items():
                        if (found := await lock(cursor, user_key, epoch=epoch)) is None:
                            break
                        memories[user_key] = found
                    else:
                        await opened.enter_async_context(begun.pop_all())
                        await held.enter_async_context(opened.pop_all())
                        return Locked(cursor, memories)
                for user_key, epoch in epochs.items() if may_be_new else ():
                    if user_key not in memories:
                        await make_user(cursor, user_key, epoch=epoch)
        return None
