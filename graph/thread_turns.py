"""One turn of a thread at a time, in all processes that share a short-term store."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from discreet.errors import ThreadBusyError
from discreet.nodes.background_tasks import BackgroundTasks
from discreet.nodes.run import Run
from discreet.nodes.short_term import tolerant
from discreet.ports import Claim, Running, ShortTermStore, Started, Work
from discreet.redaction.placeholder_key import keyed_digest

LEASE_SECONDS: Final = 180.0
"""As long as a recording's: after that a turn is taken for dead, and the next one begins."""
WAIT_SECONDS: Final = 20.0
"""How long a turn waits for those before it: proxies and people wait for 30."""
LOOK_SECONDS: Final = 0.1


class ThreadTurns:
    """Has turns of one thread and user wait for each other: of two that read the same state, one would be lost from it."""

    def __init__(self, short_term: ShortTermStore | None) -> None:
        """Claim threads in `short_term`; None claims nothing."""
        self._short_term = short_term
        self._holders = BackgroundTasks(limit=sys.maxsize)

    @asynccontextmanager
    async def one(self, run: Run) -> AsyncGenerator[None]:
        """Hold the thread of `run`. Without a thread, a user or a store that answers nothing is held.

        Raises:
            ThreadBusyError: Other turns had it for `WAIT_SECONDS`.
        """
        if self._short_term is None or run.thread_id is None or run.user_id is None:
            yield
            return
        ours: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        over = asyncio.Event()
        hold = partial(self._hold, self._short_term, work_of(run.user_id, run.thread_id), ours, over)
        holder = self._holders.start(object(), hold)  # a task of its own gives the thread back, however this one ends
        assert holder is not None  # as many as there are turns
        try:
            if not await ours:
                raise ThreadBusyError
            yield
        finally:
            over.set()
            await asyncio.shield(holder)

    async def _hold(
        self, short_term: ShortTermStore, work: Work, ours: asyncio.Future[bool], over: asyncio.Event
    ) -> None:
        loop = asyncio.get_running_loop()
        until, claim = loop.time() + WAIT_SECONDS, await _claim(short_term, work)
        while isinstance(claim, Running) and loop.time() < until and not over.is_set():
            await asyncio.sleep(LOOK_SECONDS)
            claim = await _claim(short_term, work)
        if not ours.done():
            ours.set_result(not isinstance(claim, Running))
        await over.wait()
        if isinstance(claim, Started):
            await tolerant("release", short_term.release(work, claim.token), otherwise=False)


def work_of(user_id: str, thread_id: str) -> Work:
    """Return what the turns of a thread are claimed as; the thread's name can't be read from it."""
    return Work(kind="call", user_id=user_id, ref=keyed_digest("discreet thread turns", {"thread": thread_id}).hex())


async def _claim(short_term: ShortTermStore, work: Work) -> Claim | None:
    return await tolerant("claim", short_term.claim(work, lease=LEASE_SECONDS), otherwise=None)
