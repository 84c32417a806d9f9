"""Run periodic maintenance beside a process's work for users: each job by name, every so often, errors logged."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

from discreet.access.actor import WORKER, acting
from discreet.errors import DiscreetError
from discreet.metrics import maintenance_failures

logger = logging.getLogger(__name__)

PERIOD_SECONDS = 60.0
"""From the end of a pass to the next. Up to a fifth more, at random, so that processes do not all come at once."""


Work = Callable[[], Awaitable[object]]


@asynccontextmanager
async def maintenance(
    works: Mapping[str, Work], *, period: float = PERIOD_SECONDS, delay: float = 0.0
) -> AsyncIterator[None]:
    """Do each of `works`, by name, after `delay` seconds and then every `period`, inside the block. Errors are logged.

    At the end of the block what is under way is cancelled and awaited. Each step of it is one transaction or none.
    """
    tasks = [asyncio.create_task(_repeat(name, work, period, delay)) for name, work in works.items()]
    try:
        yield
    finally:
        await stop(tasks)


async def stop(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel `tasks` and wait until they have ended.

    More than once: `asyncio.wait_for` of Python 3.11, which the driver waits with, can swallow a cancellation that comes
    together with the answer (CPython issue 86296).
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=1)


async def _repeat(name: str, work: Work, period: float, delay: float) -> None:
    if delay:
        await asyncio.sleep(delay)
    while True:
        try:
            with acting(WORKER):
                await work()
        except DiscreetError as error:
            maintenance_failures.labels(name, error.code).inc()
            logger.warning("memory.maintenance_failed work=%s cause=%s", name, error.code)
        except Exception as error:  # noqa: BLE001  # the edge of a task that nobody awaits: it must not end unseen
            maintenance_failures.labels(name, type(error).__name__).inc()
            logger.warning("memory.maintenance_failed work=%s cause=%s", name, type(error).__name__)
        await asyncio.sleep(period * random.uniform(1.0, 1.2))  # noqa: S311  # guards nothing


def after(seconds: float, work: Work) -> Work:
    """Return `work` as it waits `seconds` first, to keep out of the way of a process's first turn."""

    async def waited() -> None:
        await asyncio.sleep(seconds)
        await work()

    return waited
