"""An open storage with an embedding that takes microseconds; Redis as one server and as a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from testkit.redis_clusters import Cluster, redis_cluster
from testkit.redis_servers import Users

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


@pytest.fixture(scope="session")
def redis_cluster_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a cluster of three servers with the ACL file that we deliver, for the whole session."""
    folder = tmp_path_factory.mktemp("cluster")
    with redis_cluster(folder, users=Users.in_folder(folder)) as cluster:
        yield cluster
