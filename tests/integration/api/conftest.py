"""The REST API over a real database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from discreet.api.services import Services
from discreet.redaction import Redactor
from discreet.settings import Settings
from discreet.state.memory_settings import MemorySettings
from discreet.storage import Storage, open_storage
from discreet.storage.shared import SharedStorage
from discreet.testing import StubEmbeddings, TokenAuthenticator


@pytest.fixture
def authenticator() -> TokenAuthenticator:
    return TokenAuthenticator()


@pytest.fixture
def make_services(authenticator):
    """Return what makes services over a storage."""

    def make(storage: Storage) -> Services:
        return Services(
            memories=storage.memories,
            log=storage.log,
            background=storage.background,
            delegations=storage.delegations,
            short_term=storage.short_term,
            memory_settings=SimpleNamespace(live=MemorySettings()),
            authenticator=authenticator,
            redactor=Redactor(),
            settings=Settings(_env_file=None),
        )

    return make


@contextmanager
def storage_of_a_thread(dsn: str) -> Iterator[Storage]:
    """Yield a storage whose event loop runs in a thread of its own: clients have loops of their own, one a call."""
    opened: dict[str, Storage] = {}
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()
    shared = SharedStorage(lambda: open_storage(dsn, embeddings=StubEmbeddings(dims=64)))

    async def hold() -> None:
        async with shared.lease() as storage:
            opened["storage"] = replace(storage, background=shared.background)
            ready.set()
            await over.wait()

    def run() -> None:
        try:
            loop.run_until_complete(hold())
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    try:
        yield opened["storage"]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


@pytest.fixture
def storage(database: str) -> Iterator[Storage]:
    with storage_of_a_thread(database) as opened:
        yield opened
