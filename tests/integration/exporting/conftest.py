"""A storage with an encryption key and an audit trail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.encryption import Keyring, make_key
from discreet.storage import open_storage
from discreet.storage.audit.log import PostgresAuditLog
from discreet.testing import StubEmbeddings


@pytest.fixture
def keys():
    return Keyring([make_key()])


@pytest.fixture
async def storage(database, keys):
    async with open_storage(database, embeddings=StubEmbeddings(dims=64), keys=keys) as opened:
        yield replace(opened, audit=PostgresAuditLog(opened.pool, keys=opened.background.keys))
