"""An open storage with an embedding that takes microseconds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from discreet.storage import Storage, open_storage
from discreet.testing import StubEmbeddings


@pytest.fixture
async def storage(database: str) -> AsyncIterator[Storage]:
    """Return a storage over a database without rows."""
    async with open_storage(database, embeddings=StubEmbeddings(dims=256)) as opened:
        yield opened


@pytest.fixture
def memories(storage):
    """Return the memories of `storage`."""
    return storage.memories
