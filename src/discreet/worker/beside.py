"""A worker over an open storage, as commands and servers run it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from discreet.ports import LiveSettings
from discreet.redaction.configured import default_redactor
from discreet.settings import Settings
from discreet.storage.background.background import Background
from discreet.worker.providers import BatchProviders
from discreet.worker.rolling import RollingDrain
from discreet.worker.worker import Worker


class Stores(Protocol):
    """What a worker works on: a storage, or what stands for one that is opened later."""

    @property
    def background(self) -> Background:
        """Sessions, batches, results."""
        ...

    @property
    def memory_settings(self) -> LiveSettings:
        """Who extracts, and when."""
        ...


@asynccontextmanager
async def make_worker(storage: Stores, settings: Settings) -> AsyncIterator[Worker]:
    """Yield a worker over `storage`, on its event loop; the connections of its providers are closed at the end."""
    providers = BatchProviders(settings)
    try:
        yield Worker(
            storage.background,
            memory_settings=storage.memory_settings,
            providers=providers,
            redactor=default_redactor(),
            rolling=RollingDrain(storage.background, settings=settings, redactor=default_redactor()),
        )
    finally:
        await providers.aclose()


@asynccontextmanager
async def worker_beside(storage: Stores, settings: Settings) -> AsyncIterator[None]:
    """Run a worker inside the block; what is under way at its end has a turn's grace."""
    stopping = asyncio.Event()
    async with make_worker(storage, settings) as worker:
        running = asyncio.create_task(worker.run(stopping))
        try:
            yield
        finally:
            stopping.set()
            await running
