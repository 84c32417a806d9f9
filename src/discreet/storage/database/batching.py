"""Serve calls that were made at the same time together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Call = TypeVar("Call")
Answer = TypeVar("Answer")


class Batcher(Generic[Call, Answer]):
    """Collects the calls of one round of the event loop and serves them by one task; rounds do not wait for each other.

    A thousand writes that are gathered become one batch, and writers of different rounds still run side by side.
    """

    def __init__(self, serve: Callable[[Sequence[Call]], Awaitable[Sequence[Answer | Exception]]]) -> None:
        """Answer with `serve`, which returns an answer or an error for each call. Must be made on the event loop."""
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Call, asyncio.Future[Answer]]] = []
        self._rounds: set[asyncio.Task[None]] = set()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that it belongs to."""
        return self._loop

    async def call(self, call: Call) -> Answer:
        """Return the answer to `call`. One that is cancelled may be served all the same."""
        answer: asyncio.Future[Answer] = self._loop.create_future()
        if not self._waiting:
            self._loop.call_soon(self._start_round)
        self._waiting.append((call, answer))
        return await answer

    def _start_round(self) -> None:
        waiting, self._waiting = self._waiting, []
        current = self._loop.create_task(self._round(waiting))
        self._rounds.add(current)  # the loop itself holds its tasks weakly
        current.add_done_callback(self._rounds.discard)

    async def _round(self, waiting: Sequence[tuple[Call, asyncio.Future[Answer]]]) -> None:
        answers: Sequence[Answer | Exception]
        try:
            answers = await self._serve([call for call, _ in waiting])
        except Exception as error:  # noqa: BLE001  # whoever waits must learn it; nobody else would
            answers = [error] * len(waiting)
        for (_, future), answer in zip(waiting, answers, strict=True):
            if future.done():  # its caller was cancelled
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
